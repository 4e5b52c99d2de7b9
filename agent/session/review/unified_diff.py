"""Parsing of unified diffs, as ``git diff`` and ``gh pr diff`` print them."""

import re
from collections.abc import Iterator
from typing import Literal

from agent.records.blocks import DiffBlock, DiffLine, Hunk
from agent.records.frozen import frozen
from agent.tools.files.diffs import Change

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_KINDS: dict[str, Literal["context", "add", "remove"]] = {
    " ": "context",
    "+": "add",
    "-": "remove",
}


@frozen
class ParsedFile:
    """One file of a diff. *old* and *new* are the lines of its hunks on each side, with their
    endings: the whole file if the diff was made with unlimited context."""

    block: DiffBlock
    old: str
    new: str
    binary: bool = False


def parse_unified_diff(text: str) -> tuple[ParsedFile, ...]:
    """Return the files of a diff, in its order."""
    return tuple(_parse_file(lines) for lines in _files(text))


def _files(text: str) -> Iterator[list[str]]:
    """Yield the lines of each file. Only LF ends a line: a lone CR is a part of it."""
    current: list[str] = []
    for line in text.split("\n"):
        if line.startswith("diff --git ") and current:
            yield current
            current = []
        if current or line.startswith("diff --git "):
            current.append(line)
    if current:
        yield current


def _parse_file(lines: list[str]) -> ParsedFile:
    change: Change = "modify"
    old_path = new_path = moved_from = ""
    binary = False
    position = 1
    while position < len(lines) and not lines[position].startswith("@@ "):
        word, _, rest = lines[position].partition(" ")
        if word == "new":
            change = "create"
        elif word == "deleted":
            change = "delete"
        elif word == "rename" and rest.startswith("from "):
            change, moved_from = "move", _path(rest.removeprefix("from "))
        elif word == "rename":
            new_path = _path(rest.removeprefix("to "))
        elif word == "---":
            old_path = _path(rest, "a/")
        elif word == "+++":
            new_path = _path(rest, "b/")
        elif word in {"Binary", "GIT"}:
            binary = True
        position += 1
    path = old_path if change == "delete" else new_path
    hunks, sides = _parse_hunks(lines[position:])
    every = [line.kind for hunk in hunks for line in hunk.lines]
    block = DiffBlock(
        path or _header_path(lines[0]),
        hunks,
        every.count("add"),
        every.count("remove"),
        change,
        moved_from or None,
    )
    return ParsedFile(block, *sides, binary)


def _parse_hunks(lines: list[str]) -> tuple[tuple[Hunk, ...], tuple[str, str]]:
    """Return the hunks, and the text of both sides."""
    hunks: list[list[DiffLine]] = []
    sides: tuple[list[str], list[str]] = ([], [])
    old = new = 0
    mark = " "
    for line in lines:
        if start := _HUNK.match(line):
            hunks.append([])
            old, new = int(start[1]), int(start[3])
        elif line == _NO_NEWLINE:
            for side, other in zip(sides, "+-", strict=True):
                if mark != other and side:
                    side[-1] = side[-1].removesuffix("\n")
        elif hunks and line[:1] in _KINDS:
            mark, text = line[0], line[1:]
            numbers = (None if mark == "+" else old, None if mark == "-" else new)
            hunks[-1].append(DiffLine(_KINDS[mark], *numbers, text.removesuffix("\r")))
            if mark != "+":
                sides[0].append(f"{text}\n")
                old += 1
            if mark != "-":
                sides[1].append(f"{text}\n")
                new += 1
    found = tuple(Hunk(index, tuple(each)) for index, each in enumerate(hunks))
    return found, ("".join(sides[0]), "".join(sides[1]))


def _header_path(line: str) -> str:
    """Return the path of a file without a text diff, from the line ``diff --git a/P b/P``."""
    paths = line.removeprefix("diff --git ")
    if paths.startswith('"'):
        return _path(paths[: paths.index('" ') + 1], "a/") if '" ' in paths else paths
    return paths[len(paths) // 2 + 1 :].removeprefix("b/")


def _path(text: str, prefix: str = "") -> str:
    """Return a path as git writes it, without quotes, prefix and the tab after a name with
    spaces; "" for ``/dev/null``."""
    text = text.rstrip("\r").removesuffix("\t")
    if text.startswith('"') and text.endswith('"'):
        raw = text[1:-1].encode("latin-1", "replace").decode("unicode_escape")
        text = raw.encode("latin-1", "replace").decode("utf-8", "replace")
    return "" if text == "/dev/null" else text.removeprefix(prefix)
