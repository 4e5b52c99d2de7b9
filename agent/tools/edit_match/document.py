"""A file's text with LF line endings and in lines, and the replacements in its own endings."""

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property

from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.tools.edit_match.lines import LineKeys, match_lines, split_text


class EditRefused(ToolError):
    """No edit was made. *hint* quotes the file, so it is not shown where reading is not allowed."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.reason = message
        self.hint = hint


@frozen
class Replacement:
    """``text[start:end]`` of the file becomes *text* (offsets in characters)."""

    start: int
    end: int
    text: str


@frozen
class Splice:
    """Lines *first* to *stop* (exclusive, from 0) of the file become *lines*, without endings."""

    first: int
    stop: int
    lines: tuple[str, ...]


@frozen
class Edit:
    """The result of an edit."""

    text: str
    """The new text of the file."""

    replacements: tuple[Replacement, ...]
    count: int = 1
    """The places that were changed."""

    notes: tuple[str, ...] = ()
    """The differences that were tolerated, as notes for the model."""


def rebuild(text: str, replacements: Iterable[Replacement]) -> str:
    """Return *text* with *replacements* made, which are in order and do not overlap."""
    pieces: list[str] = []
    position = 0
    for replacement in replacements:
        pieces.append(text[position : replacement.start])
        pieces.append(replacement.text)
        position = replacement.end
    pieces.append(text[position:])
    return "".join(pieces)


def to_lf(text: str) -> str:
    """Return *text* with CRLF as LF."""
    return text.replace("\r\n", "\n")


class Document:
    """A file's *text* without BOM. Lines are counted from 0 and end at LF, CRLF or a lone CR."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lone_cr = "\n" not in text and "\r" in text
        self.lf = text.replace("\r", "\n") if self.lone_cr else to_lf(text)
        self._crlf: list[int] = []  # offsets in LF text of the breaks that are CRLF in the file
        if len(self.lf) != len(text):
            position = text.find("\r\n")
            while position >= 0:
                self._crlf.append(position - len(self._crlf))
                position = text.find("\r\n", position + 2)

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their endings; a final line break opens no further line."""
        return split_text(self.lf)

    @cached_property
    def keys(self) -> LineKeys:
        """The keys of the lines, by which blocks are found although whitespace differs."""
        return LineKeys(self.lines)

    @cached_property
    def _starts(self) -> list[int]:
        starts: list[int] = []
        position = 0
        for line in self.lines:
            starts.append(position)
            position += len(line) + 1
        starts.append(min(position, len(self.lf)))
        return starts

    def line_at(self, position: int) -> int:
        """Return the number (from 1) of the line at *position* of the LF text."""
        return self.lf.count("\n", 0, position) + 1

    def replace_exact(self, place: int, old: str, new: str) -> list[Replacement]:
        """Return the replacements of *old* at *place* of the LF text by *new*.

        The text that both share is left out, so that its lines keep their endings.
        """
        breaks = old.count("\n")
        here = bisect_left(self._crlf, place)
        there = bisect_left(self._crlf, place + len(old))
        if breaks < 2 or there - here in (0, breaks):
            return [self._replace_piece(place, old, new)]
        # Line endings are mixed within the block: each unchanged line keeps its own.
        before, after = _split_with_breaks(old), _split_with_breaks(new)
        found: list[Replacement] = []
        i = j = 0
        for a, b in [*match_lines(before, after), (len(before), len(after))]:
            was, becomes = "".join(before[i:a]), "".join(after[j:b])
            if was != becomes:
                found.append(self._replace_piece(place, was, becomes))
            place += len(was) + (len(before[a]) if a < len(before) else 0)
            i, j = a + 1, b + 1
        return found

    def _replace_piece(self, place: int, old: str, new: str) -> Replacement:
        head = 0
        shorter = min(len(old), len(new))
        while head < shorter and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        start, end = place + head, place + len(old) - tail
        body = new[head : len(new) - tail]
        if "\n" in body:
            body = body.replace("\n", self._ending_after(start))
        return Replacement(self._offset(start), self._offset(end), body)

    def to_replacement(self, splice: Splice) -> Replacement:
        """Return the replacement of *splice*, with the line endings around it; the end of the file
        keeps or lacks its line break."""
        first, stop = splice.first, splice.stop
        start, end = self._starts[first], self._starts[stop]
        last = max(first, stop - 1)
        body = "".join(
            line + self._ending(min(first + n, last)) for n, line in enumerate(splice.lines)
        )
        if self.lines and stop == len(self.lines) and not self.lf.endswith("\n"):
            # The last line has no break, so the one that will be the last gets none either.
            ending = self._ending(last)
            if splice.lines:
                body = body.removesuffix(ending)
            if first == stop:
                body = ending + body
            elif not splice.lines and start > 0:
                start -= 1
        return Replacement(self._offset(start), self._offset(end), body)

    def _ending(self, line: int) -> str:
        """Return the ending of *line*, or of the line before if it has none."""
        line = min(line, len(self.lines) - 1)
        return self._ending_after(self._starts[line]) if line >= 0 else "\n"

    def _ending_after(self, position: int) -> str:
        if self.lone_cr:
            return "\r"
        if not self._crlf:
            return "\n"
        # The ending of the changed line; the last line of a file can have none.
        here = self.lf.find("\n", position)
        if here < 0:
            here = self.lf.rfind("\n")
        index = bisect_left(self._crlf, here)
        return "\r\n" if index < len(self._crlf) and self._crlf[index] == here else "\n"

    def _offset(self, position: int) -> int:
        return position + bisect_left(self._crlf, position)


def _split_with_breaks(text: str) -> list[str]:
    """Return lines with their breaks, so that a last line without one equals no other."""
    pieces = text.split("\n")
    last = pieces.pop()
    return [piece + "\n" for piece in pieces] + ([last] if last else [])
