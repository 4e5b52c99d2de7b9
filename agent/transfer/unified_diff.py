"""Unified diffs as blocks."""

import re
from collections.abc import Iterator

from agent.records.blocks import DiffBlock, DiffLine, Hunk

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_KINDS = {"+": "add", "-": "remove"}


def diff_blocks(text: str, path: str = "") -> tuple[DiffBlock, ...]:
    """Return one block per file of the diff *text*; *path* names a file without a header. The hunks
    are counted over all files, as in a permission request."""
    found: list[DiffBlock] = []
    hunks: list[Hunk] = []
    lines = iter(text.split("\n"))
    before, after, count = path, path, 0

    def end() -> None:
        if hunks:
            found.append(_block(before, after, tuple(hunks)))
            hunks.clear()

    for line in lines:
        if line.startswith("--- "):
            end()
            before = _name(line, "a/") or path
        elif line.startswith("+++ "):
            after = _name(line, "b/") or path
        elif match := _HUNK.match(line):
            hunks.append(Hunk(count, tuple(_lines(match, lines))))
            count += 1
    end()
    return tuple(found)


def _lines(match: re.Match[str], lines: Iterator[str]) -> Iterator[DiffLine]:
    """Yield the lines of a hunk, as many as its head *match* announces."""
    old, new = int(match[1]), int(match[3])
    last_old, last_new = old + int(match[2] or 1), new + int(match[4] or 1)
    while old < last_old or new < last_new:
        line = next(lines, None)
        if line is None:
            return
        if line.startswith("\\"):  # no newline at the end of the file
            continue
        match _KINDS.get(line[:1]):
            case "add":
                yield DiffLine("add", None, new, line[1:])
                new += 1
            case "remove":
                yield DiffLine("remove", old, None, line[1:])
                old += 1
            case _:
                yield DiffLine("context", old, new, line[1:])
                old, new = old + 1, new + 1


def _block(before: str, after: str, hunks: tuple[Hunk, ...]) -> DiffBlock:
    lines = [line for hunk in hunks for line in hunk.lines]
    added = sum(line.kind == "add" for line in lines)
    removed = sum(line.kind == "remove" for line in lines)
    only_added, only_removed = added == len(lines), removed == len(lines)
    block = DiffBlock(after or before, hunks, added, removed)
    if before == "/dev/null" or (only_added and lines[0].new == 1):
        return DiffBlock(after, hunks, added, removed, "create")
    if after == "/dev/null" or (only_removed and lines[0].old == 1):
        return DiffBlock(before, hunks, added, removed, "delete")
    if before != after:
        return DiffBlock(after, hunks, added, removed, "move", before)
    return block


def _name(line: str, prefix: str) -> str:
    """Return the path in a header, without the time that can follow it."""
    return line[4:].partition("\t")[0].removeprefix(prefix).strip()
