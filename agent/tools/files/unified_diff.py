"""Parsing of unified diffs, as git, ``gh`` and other agents print them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agent.records.blocks import DiffBlock, DiffLine, Hunk
from agent.records.frozen import frozen
from agent.tools.files.diffs import Change, sides_without_newline

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOWHERE = "/dev/null"


@frozen
class ParsedFile:
    """One file of a diff. *old* and *new* are the lines of its hunks on each side, with their
    endings: the whole file if the diff was made with unlimited context."""

    block: DiffBlock
    old: str
    new: str
    binary: bool = False


def parse_unified_diff(text: str, path: str = "") -> tuple[ParsedFile, ...]:
    """Return the files of a diff, in its order; *path* names a file without a header. The hunks
    are counted over all files, as in a permission request."""
    files: list[_File] = []
    hunks = 0
    lines = iter(text.split("\n"))  # only LF ends a line: a lone CR is a part of it
    for line in lines:
        if line.startswith("diff --git "):
            files.append(_File(line))
        elif line.startswith("--- ") and (not files or files[-1].hunks or not files[-1].header):
            files.append(_File("", before=_header_path(line[4:], "a/")))
        elif match := _HUNK.match(line):
            if not files:
                files.append(_File("", path, path))
            files[-1].hunks.append(Hunk(hunks, tuple(files[-1].read(match, lines))))
            hunks += 1
        elif files:
            files[-1].read_header(line)
    return tuple(file.parsed(path) for file in files if file.header or file.hunks)


@dataclass(slots=True, eq=False)
class _File:
    """One file while it is read. *header* is its ``diff --git`` line, "" without one."""

    header: str
    before: str = ""
    after: str = ""
    change: Change | None = None
    binary: bool = False
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    last: str = " "
    """The sign of the line read last."""

    def read_header(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if line.startswith("\\"):  # no newline at the end of the file
            for side, other in ((self.old, "+"), (self.new, "-")):
                if self.last != other and side:
                    side[-1] = side[-1].removesuffix("\n")
        elif word == "---":
            self.before = _header_path(rest, "a/")
        elif word == "+++":
            self.after = _header_path(rest, "b/")
        elif word == "rename" and rest.startswith("from "):
            self.change, self.before = "move", _header_path(rest.removeprefix("from "))
        elif word == "rename":
            self.after = _header_path(rest.removeprefix("to "))
        elif word == "new" and self.header:
            self.change = "create"
        elif word == "deleted":
            self.change = "delete"
        elif word in {"Binary", "GIT"}:
            self.binary = True

    def read(self, match: re.Match[str], lines: Iterator[str]) -> Iterator[DiffLine]:
        """Yield the lines of a hunk, as many as its head *match* announces."""
        old, new = int(match[1]), int(match[3])
        last_old, last_new = old + int(match[2] or 1), new + int(match[4] or 1)
        while old < last_old or new < last_new:
            line = next(lines, None)
            if line is None:
                return
            if line.startswith("\\"):
                self.read_header(line)
                continue
            self.last = line[:1] if line[:1] in {"+", "-"} else " "
            text = line[1:]
            shown = text.removesuffix("\r")
            if self.last != "+":
                self.old.append(f"{text}\n")
            if self.last != "-":
                self.new.append(f"{text}\n")
            if self.last == "+":
                yield DiffLine("add", None, new, shown)
            elif self.last == "-":
                yield DiffLine("remove", old, None, shown)
            else:
                yield DiffLine("context", old, new, shown)
            old, new = old + (self.last != "+"), new + (self.last != "-")

    def parsed(self, path: str) -> ParsedFile:
        kinds = [line.kind for hunk in self.hunks for line in hunk.lines]
        change = self.change or self._change(kinds)
        after = self.after if self.after not in {"", _NOWHERE} else path
        before = self.before if self.before not in {"", _NOWHERE} else path
        if self.hunks:
            self.hunks[-1] = replace(
                self.hunks[-1], missing_newline=sides_without_newline(self.old, self.new)
            )
        block = DiffBlock(
            (before if change == "delete" else after or before) or _path_of(self.header),
            tuple(self.hunks),
            kinds.count("add"),
            kinds.count("remove"),
            change,
            before if change == "move" else None,
        )
        return ParsedFile(block, "".join(self.old), "".join(self.new), self.binary)

    def _change(self, kinds: list[str]) -> Change:
        """Return the kind of change of a diff that does not name it."""
        if self.before == _NOWHERE or (not self.header and self._begins(kinds, "add")):
            return "create"
        if self.after == _NOWHERE or (not self.header and self._begins(kinds, "remove")):
            return "delete"
        return "move" if self.before and self.after not in {"", self.before} else "modify"

    def _begins(self, kinds: list[str], kind: str) -> bool:
        """Return whether all lines are of one *kind*, from the first line of the file on."""
        if set(kinds) != {kind}:
            return False
        first = self.hunks[0].lines[0]
        return 1 in {first.old, first.new}


def _path_of(header: str) -> str:
    """Return the path of a file without a text diff, from the line ``diff --git a/P b/P``."""
    paths = header.removeprefix("diff --git ")
    if paths.startswith('"'):
        return _header_path(paths[: paths.find('" ') + 1], "a/")
    return paths[len(paths) // 2 + 1 :].removeprefix("b/")


def _header_path(text: str, prefix: str = "") -> str:
    """Return a path as a header has it, without quotes, prefix, and the tab with a time or nothing
    that follows a name."""
    text = text.rstrip("\r").partition("\t")[0].strip()
    if text.startswith('"') and text.endswith('"'):
        raw = text[1:-1].encode("latin-1", "replace").decode("unicode_escape")
        text = raw.encode("latin-1", "replace").decode("utf-8", "replace")
    return text.removeprefix(prefix)
