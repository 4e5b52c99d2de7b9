"""The change of one file, whose hunks can be reverted where both sides are known in full."""

from agent.records.blocks import DiffBlock
from agent.records.frozen import frozen
from agent.tools.files.diffs import FileDiff, apply_hunks, make_diff


@frozen
class ReviewedFile:
    """The change of one file. *diff*, *old* and *new* are None where only the hunks are known;
    *old* is also None for a new file and *new* for a deleted one."""

    block: DiffBlock
    diff: FileDiff | None = None
    old: str | None = None
    new: str | None = None

    @property
    def can_revert(self) -> bool:
        return self.diff is not None and bool(self.block.hunks) and not self.block.omitted

    @property
    def all_hunks(self) -> frozenset[int]:
        return frozenset(hunk.index for hunk in self.block.hunks)

    def text(self, kept: frozenset[int]) -> str | None:
        """Return the file with only the hunks *kept*, None if it does not exist then."""
        if self.diff is None or (self.old is None and not kept):
            return None
        if self.new is None and kept == self.all_hunks:
            return None
        return apply_hunks(self.old or "", self.new or "", self.diff, kept)


def reviewed_file(path: str, old: str | None, new: str | None) -> ReviewedFile:
    """Return the change of *path* from *old* to *new*; None where it does not exist."""
    change = "create" if old is None else "delete" if new is None else "modify"
    diff = make_diff(path, old or "", new or "", change)
    return ReviewedFile(diff.block, diff, old, new)
