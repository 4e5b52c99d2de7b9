"""Writes files with some hunks of a reviewed change reverted."""

import asyncio
from pathlib import Path

from agent.files import FileTracker
from agent.files.disk import load, replace_file
from agent.files.text import decode
from agent.records.errors import NothingToDo
from agent.session.review.reviewed_file import ReviewedFile

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
