"""The worktrees that sub-agents work in, as the sessions need them."""

from typing import Protocol

from agent.records.frozen import frozen
from agent.records.messages import Session


@frozen
class WorkPlace:
    """The folders of a session in a worktree."""

    directory: str
    project: str
    branch: str
    notices: tuple[str, ...] = ()
    """Sentences on what the worktree lacks."""


@frozen
class KeptWorktree:
    """A worktree with changes."""

    name: str
    folder: str
    branch: str
    files: tuple[str, ...]
    """The changed files, committed or not."""


class SubagentWorktrees(Protocol):
    """Makes and removes the worktrees of sub-agents."""

    async def enter(self, caller: Session, name: str) -> WorkPlace:
        """Make a worktree *name* of the project that *caller* works in. Raises ``WorktreeError``;
        then nothing is left."""
        ...

    async def enter_again(self, caller: Session, child: Session) -> None:
        """Make the worktree of *child* again if it was removed. Raises ``WorktreeError``."""
        ...

    async def leave(self, child: Session) -> KeptWorktree | None:
        """Remove the worktree of *child* if nothing in it was changed, else return it; None also
        for a child without one."""
        ...
