"""The changes that the argument of ``/review`` names, for every front end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.records.errors import NothingToDo
from agent.records.messages import AssistantMessage, MessageWithParts, Session

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.runtime import Runtime
    from agent.session.review.changes import ReviewedChanges

NOTHING_CHANGED = "Nothing has changed: neither in the working tree nor in this session."


async def named_changes(
    runtime: "Runtime", session: Session | None, argument: str
) -> "ReviewedChanges | None":
    """Return the changes that *argument* names, None if it names none."""
    word, _, rest = argument.strip().partition(" ")
    match word.lower().lstrip("#"), rest.strip():
        case "", "":
            return await _first_changes(runtime, session)
        case "tree", "":
            return await runtime.changes.working_tree()
        case "turn", "":
            return await _session_changes(runtime, session, last_turn=True)
        case "session", "":
            return await _session_changes(runtime, session, last_turn=False)
        case "branch", base if " " not in base:
            return await runtime.changes.branch(base)
        case "pr", number if number.lstrip("#").isdigit():
            return await _pull_request(runtime, number.lstrip("#"))
        case number, "" if number.isdigit():
            return await _pull_request(runtime, number)
        case _:
            return None


async def _pull_request(runtime: "Runtime", number: str) -> "ReviewedChanges":
    if not runtime.trust.trusted and runtime.trust.status != "nothing":
        # gh asks git about the repository, whose configuration can name programs.
        raise NothingToDo("gh reads this repository's settings: trust the folder first (/trust).")
    return await runtime.changes.pull_request(number)


async def _first_changes(runtime: "Runtime", session: Session | None) -> "ReviewedChanges":
    """Return the changes of the working tree, or without a repository or changes those of the
    session."""
    try:
        found = await runtime.changes.working_tree()
    except NothingToDo:
        if session is None:
            raise
    else:
        if found.files or session is None:
            return found
    found = await _session_changes(runtime, session, last_turn=False)
    if not found.files:
        raise NothingToDo(NOTHING_CHANGED)
    return found


async def _session_changes(
    runtime: "Runtime", session: Session | None, *, last_turn: bool
) -> "ReviewedChanges":
    from agent.session.review.changes import ReviewedChanges  # only for a review

    if session is None:
        raise NothingToDo("No session is open.")
    messages = await runtime.store.messages(session.id)
    if last_turn:
        messages = messages[_start_of_last_turn(messages) :]
    files = await runtime.sessions.undo.changes.files(messages)
    title = "the last turn" if last_turn else "this session"
    return ReviewedChanges(title, files, session_id=session.id)


def _start_of_last_turn(messages: Sequence[MessageWithParts]) -> int:
    last = next(
        (m.message.turn_id for m in reversed(messages) if isinstance(m.message, AssistantMessage)),
        None,
    )
    return next(
        (
            index
            for index, item in enumerate(messages)
            if isinstance(item.message, AssistantMessage) and item.message.turn_id == last
        ),
        len(messages),
    )
