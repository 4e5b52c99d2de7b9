"""The change of one file, whose hunks can be reverted where both sides are known in full."""

import asyncio
from pathlib import Path

from agent.files import FileTracker
from agent.files.disk import load, replace_file
from agent.files.text import decode
from agent.records.blocks import DiffBlock
from agent.records.errors import NothingToDo
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


# Writes files with some hunks of a reviewed change reverted.

MAX_BYTES = 4_000_000
"""Bytes of a file up to which it is changed."""


class HunkWriter:
    """Writes files with some of their hunks reverted. Files below *root* only."""

    def __init__(self, root: Path, tracker: FileTracker) -> None:
        self._root = root
        self._tracker = tracker

    async def write(
        self, file: ReviewedFile, before: frozenset[int], after: frozenset[int]
    ) -> None:
        """Change a file that has the hunks *before* so that it has the hunks *after*.

        Raises ``NothingToDo`` where it has changed since, or cannot be written; then it is left
        as it was.
        """
        path = self._root / file.block.path
        real = path.resolve()
        if path.is_symlink() or not real.is_relative_to(self._root.resolve()):
            raise NothingToDo(f"{file.block.path} is outside the project or is a link.")
        async with self._tracker.lock(str(real)):
            try:
                await asyncio.to_thread(_write, real, file, before, after)
            except OSError as error:
                why = error.strerror or error
                raise NothingToDo(f"{file.block.path} cannot be written: {why}.") from error


def _write(path: Path, file: ReviewedFile, before: frozenset[int], after: frozenset[int]) -> None:
    expected, wanted = file.text(before), file.text(after)
    changed = NothingToDo(
        f"{file.block.path} has changed since the review was opened. Close it and open it again."
    )
    if not path.exists():
        if expected is not None or wanted is None:
            raise changed
        replace_file(str(path), wanted.encode("utf-8", "surrogateescape"), create=True)
        return
    now = decode(load(str(path), MAX_BYTES + 1).data)
    # Git shows the line endings that it stores, which can differ from those on disk.
    same = now.text == expected
    if expected is None or not (same or now.text == now.with_newlines(expected)):
        raise changed
    if wanted is None:
        path.unlink()
    else:
        replace_file(str(path), now.encode(wanted if same else now.with_newlines(wanted)))
