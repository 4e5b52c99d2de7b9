"""Parse the text of a patch for ``apply_patch``.

    *** Begin Patch
    *** Add File: <path>            then lines that start with "+"
    *** Delete File: <path>
    *** Update File: <path>
    *** Move to: <path>             optional
    @@ <a line above the place>     optional, can be repeated to narrow it down
     kept line
    -removed line
    +added line
    *** End of File                 optional: the place is at the end
    *** End Patch

Wrappers that models add are removed: a here-document, a code fence, numbers after ``@@``.
"""

import re
from typing import Literal, TypeAlias

from agent.records.errors import ToolError
from agent.records.frozen import frozen

Mark = Literal[" ", "+", "-"]

_BEGIN, _END, _AT_END = "*** Begin Patch", "*** End Patch", "*** End of File"
_ADD, _DELETE, _UPDATE, _MOVE = (
    "*** Add File:",
    "*** Delete File:",
    "*** Update File:",
    "*** Move to:",
)
_HEREDOC = re.compile(r"(?:(?:apply_patch|cat)\s+)?<<-?\s*(['\"]?)(\w+)\1$")
_NUMBERS = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)?(?: @@ ?|$)")


@frozen
class Chunk:
    """One changed place of an update."""

    anchors: tuple[str, ...]
    """Lines above the place."""

    lines: tuple[tuple[Mark, str], ...]
    at_end: bool
    """The place is at the end of the file."""

    number: int
    """Its first line in the patch, from 1."""

    @property
    def old(self) -> tuple[str, ...]:
        """Return the lines of the file before the change."""
        return tuple(text for mark, text in self.lines if mark != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """Return the lines of the file after the change."""
        return tuple(text for mark, text in self.lines if mark != "-")


@frozen
class AddFile:
    path: str
    text: str


@frozen
class DeleteFile:
    path: str


@frozen
class UpdateFile:
    path: str
    chunks: tuple[Chunk, ...]
    move_to: str | None = None


Section: TypeAlias = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> tuple[Section, ...]:
    """Return the sections of the patch in *text*. Raises ``ToolError``, which names the line."""
    reader = _Reader(_unwrapped(text))
    sections: list[Section] = []
    while not reader.done:  # some models send several patches in one
        reader.expect_begin()
        while not reader.at(_END):
            sections.append(_section(reader))
            reader.skip_blank()
        reader.take()
    if not sections:
        raise ToolError("The patch is empty: it names no file. Nothing was changed.")
    return tuple(sections)


def _unwrapped(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").strip().split("\n")
    if lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    heredoc = _HEREDOC.match(lines[0].strip()) if lines else None
    if heredoc and lines[-1].strip() == heredoc[2]:
        lines = lines[1:-1]
    return lines


class _Reader:
    """The lines of a patch and the read position."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._next = 0

    @property
    def number(self) -> int:
        return self._next + 1

    @property
    def line(self) -> str:
        """Return the next line. Raises ``ToolError`` after the last one."""
        if self._next >= len(self._lines):
            raise ToolError(
                f"The patch has no {_END!r} line, so it may have been cut off. Nothing was "
                "changed. Send the whole patch again."
            )
        return self._lines[self._next]

    def take(self) -> str:
        line = self.line
        self._next += 1
        return line

    def at(self, mark: str) -> bool:
        return self.line.strip() == mark

    def at_header(self) -> bool:
        return self.line.startswith("*** ")

    def skip_blank(self) -> None:
        while not self.line.strip():
            self._next += 1

    @property
    def done(self) -> bool:
        """Return whether lines have been read and only blank ones follow."""
        return self._next > 0 and not any(line.strip() for line in self._lines[self._next :])

    def expect_begin(self) -> None:
        while self._next < len(self._lines) and not self.line.strip():
            self._next += 1
        if self._next >= len(self._lines) or not self.at(_BEGIN):
            raise ToolError(
                f"A patch starts with the line {_BEGIN!r} and ends with {_END!r}. "
                "Nothing was changed."
            )
        self._next += 1
        self.skip_blank()

    def path_after(self, header: str) -> str | None:
        """Read the line if it is a *header*, and return its path."""
        if not self.line.startswith(header):
            return None
        path = self.line[len(header) :].strip()
        if not path:
            raise self.error(f"{header!r} names no file")
        self._next += 1
        return path

    def error(self, why: str) -> ToolError:
        """Return the error for the next line."""
        return ToolError(f"Line {self.number} of the patch: {why}. Nothing was changed.")


def _section(reader: _Reader) -> Section:
    if (path := reader.path_after(_ADD)) is not None:
        return AddFile(path, _added(reader))
    if (path := reader.path_after(_DELETE)) is not None:
        return DeleteFile(path)
    if (path := reader.path_after(_UPDATE)) is not None:
        move_to = reader.path_after(_MOVE)
        chunks = _chunks(reader)
        if not chunks and move_to is None:
            raise reader.error(f"the update of {path} changes nothing")
        return UpdateFile(path, chunks, move_to)
    raise reader.error(
        f"{reader.line.strip()[:80]!r} is not a header. The headers are {_ADD!r}, {_DELETE!r} "
        f"and {_UPDATE!r}, and lines of a file start with '+', '-' or a space"
    )


def _added(reader: _Reader) -> str:
    text, bare = "", ""
    while not reader.at_header():
        line = reader.line
        if not line:
            bare += "\n"  # a blank line of the text if more of it follows
        elif line.startswith("+"):
            text += bare + line[1:] + "\n"
            bare = ""
        else:
            raise reader.error("each line of an added file starts with '+'")
        reader.take()
    return text


def _chunks(reader: _Reader) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    while not reader.at_header() or reader.at(_AT_END):
        if not reader.line.strip():
            reader.take()
            continue
        chunks.append(_chunk(reader))
    return tuple(chunks)


def _chunk(reader: _Reader) -> Chunk:
    number = reader.number
    anchors: list[str] = []
    while reader.line.startswith("@@"):
        anchor = _NUMBERS.sub("", reader.take()[2:].strip()).removesuffix("@@").strip()
        if anchor:
            anchors.append(anchor)
    lines: list[tuple[Mark, str]] = []
    bare = 0  # unmarked lines at the end: separators or blank lines
    while not reader.at_header() and not reader.line.startswith("@@"):
        line = reader.line
        match line[:1]:
            case "+" | "-" | " " as mark:
                lines.append((mark, line[1:]))
                bare = 0
            case "":
                lines.append((" ", ""))
                bare += 1
            case "\\":
                pass  # "\ No newline at end of file": the file's end stays as it is
            case _:
                raise reader.error(
                    f"{line[:80]!r} does not start with '+', '-' or a space. Put a space before "
                    "each line that stays"
                )
        reader.take()
    at_end = reader.at(_AT_END)
    if at_end:
        reader.take()
    lines = lines[: len(lines) - bare]
    if not lines:
        raise reader.error("a chunk has no lines")
    return Chunk(tuple(anchors), tuple(lines), at_end, number)
