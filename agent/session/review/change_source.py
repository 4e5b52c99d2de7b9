"""The changes of a project that no session has to know: its working tree, branch, pull requests."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.records.frozen import frozen

if TYPE_CHECKING:
    from agent.session.review.changes import ReviewedChanges


class ChangeSource(Protocol):
    """Finds the changes to review. Each method raises ``NothingToDo`` where there are none to
    find."""

    async def working_tree(self) -> "ReviewedChanges":
        """Return what differs from the last commit."""
        ...

    async def branch(self, base: str) -> "ReviewedChanges":
        """Return what the branch changed since it left *base* ("" for the main branch)."""
        ...

    async def pull_request(self, number: str) -> "ReviewedChanges":
        """Return the changes of a pull request."""
        ...


@frozen
class LocalChanges:
    """The changes of a project on this machine."""

    project: Path

    async def working_tree(self) -> "ReviewedChanges":
        from agent.session.review.changes import working_tree_changes  # only for a review

        return await working_tree_changes(self.project)

    async def branch(self, base: str) -> "ReviewedChanges":
        from agent.session.review.changes import branch_changes  # only for a review

        return await branch_changes(self.project, base)

    async def pull_request(self, number: str) -> "ReviewedChanges":
        from agent.session.review.changes import pull_request_changes  # only for a review

        return await pull_request_changes(self.project, number)
