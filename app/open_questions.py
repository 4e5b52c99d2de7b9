"""Permissions and questions that wait for the user, as a view holds them: oldest first. What stays
as it was is the same tuple."""

from typing import TypeVar

from agent.records.requests import PermissionRequest, Question

Asked = TypeVar("Asked", PermissionRequest, Question)


def without(held: tuple[Asked, ...], asked_id: str) -> tuple[Asked, ...]:
    """*held* but for the one of that id."""
    left = tuple(asked for asked in held if asked.id != asked_id)
    return left if len(left) < len(held) else held


def with_new(held: tuple[Asked, ...], asked: Asked, session_id: str) -> tuple[Asked, ...]:
    """*held* and *asked*, once, where that is of the tree of the session."""
    ours = session_id in {asked.session_id, asked.root_id}
    return (*held, asked) if ours and all(known.id != asked.id for known in held) else held
