"""Markdown as lines, for text that grows: finished blocks are frozen, only the last one is parsed
again.

A long list, table or paragraph is drawn in pieces, so that it can be frozen piece by piece too: one
of 20,000 lines costs the same per line as a short one.

The parser is markdown-it's; HTML and images are off, links show their target, and all text is
sanitized after entities were decoded. The same text gives the same lines whether it arrived at once
or in pieces.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from rich.text import Text

from app.text.sanitize import sanitize
from app.widgets.transcript.highlight import has_grammar, highlighted_lines
from app.widgets.transcript.lines import Line, Page
from app.widgets.transcript.markdown_blocks import (
    BlockWriter,
    has_reference_definitions,
    language_of,
    top_blocks,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A last line that could still become a heading underline, a list, a fence or a rule is
# held back, so that nothing flickers while it arrives.
_AMBIGUOUS = re.compile(r"\s*(?:[-=*_+`~#|>:\s]+|\d{1,9}[.)]?)")


_FENCE = re.compile(r"(`{3,}|~{3,})[^`\n]*\n")

FREEZE_LINES = 5
"""Lines of an open code block that are frozen at once."""

RECOLORED_LINES = 12
"""Lines of a code block that has ended that are drawn again at once."""

PIECE_LINES = {
    "paragraph_open": 10,
    "bullet_list_open": 10,
    "ordered_list_open": 10,
    "table_open": 25,
}
"""Lines at least of the pieces in which a block is drawn, and of the rest after them."""

HEADER_LINES = 2
"""Lines of a table before its first row, which each piece of it repeats."""


@cache
def _parser() -> "MarkdownIt":
    # Loaded with the first shown text, not at start.
    from markdown_it import MarkdownIt  # see above

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 12})
    return parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline"])


class MarkdownView:
    """The lines of one Markdown text that can still grow. *tone* is the color of plain text."""

    def __init__(self, page: Page, *, tone: str = "text", indent: int | None = None) -> None:
        self._page = page
        self._tone = tone
        self._indent = page.left if indent is None else indent
        self._source = ""
        self._start: int = 0
        """The offset of the text that is not frozen."""
        self._frozen: int = 0
        self._fence = ""
        """The opening line of a code block that is still open while its first lines are frozen."""
        self._fence_at: tuple[int, int] = (0, 0)
        self._kind = ""
        """The first token of a block whose first pieces are frozen while it grows."""
        self._header = ""
        """The lines that are put before the rest of that block."""
        self._block_at: tuple[int, int] = (0, 0)
        self._final = False
        self._uncolored: tuple[str, int, int] | None = None
        """The language of the first code that is drawn without colors, and where that begins."""
        self._recolored: tuple[Iterator[Text], int] | None = None
        """The lines of a code block that was frozen in pieces, to be drawn again since their colors
        can depend on earlier ones, and the index of the next one."""
        self.lines: list[Line] = []

    @property
    def unfinished(self) -> bool:
        """Return whether lines are to be drawn again by the next ``update``."""
        return self._recolored is not None

    @property
    def length(self) -> int:
        """The length of the text."""
        return len(self._source)

    def update(self, source: str, *, final: bool) -> int:
        """Show *source* and return the index of the first line that may have changed.

        *final* means that the text is complete. Text that does not extend the previous text is laid
        out again from the start.
        """
        if not source.startswith(self._source) or (final and has_reference_definitions(source)):
            self._return_to(0, 0)
        self._source, self._final = source, final
        if self._uncolored and (final or has_grammar(self._uncolored[0])):
            self._return_to(*self._uncolored[1:])
        if self._fence and final:
            self._return_to(*self._fence_at)
        recolored = self._recolor()
        return min(recolored, self._draw(source, final=final))

    def _return_to(self, start: int, frozen: int) -> None:
        """Draw again what is at the offset *start* and later, which is on the lines from *frozen*
        on."""
        self._start, self._frozen = start, frozen
        self._fence = self._kind = self._header = ""
        self._uncolored = self._recolored = None

    def _draw(self, source: str, *, final: bool) -> int:
        """Draw what is not frozen; return the index of the first line that may have changed."""
        first = self._frozen
        before = self.lines[first:]
        del self.lines[first:]
        if not final:
            self._freeze_code()
        tail = sanitize(self._fence + self._header + source[self._start :])
        shown = tail if final else _without_ambiguous_end(tail)
        tokens = _parser().parse(shown)
        if self._kind and not (tokens and tokens[0].type == self._kind):
            # It became another block, such as a heading by its underline.
            self._start, self._frozen = self._block_at
            self._kind = self._header = ""
            return min(self._draw(source, final=final), first)
        starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
        kept = 0 if final else _first_open_line(starts, tail)
        cut = next((i for i, t in enumerate(tokens) if _starts_at(t, kept)), 0) if kept else 0
        whole = final and has_reference_definitions(source)  # only one parse knows the targets
        lines = None if whole else [f"{line}\n" for line in shown.split("\n")]
        if kept:
            self._write(tokens[:cut], lines)
            self._frozen = len(self.lines)
            repeated = (self._fence + self._header).count("\n")
            self._start += _offset(source[self._start :], kept - repeated)
            if self._fence:
                self._begin_recoloring(tokens[0].info)
            self._fence = self._kind = self._header = ""
        if final:
            self._write(tokens, lines)
        else:
            self._write_open(tokens[cut:], lines or [])
        return self._keep(before, first)

    def _begin_recoloring(self, info: str) -> None:
        """Have the code block that has ended drawn again, some lines with each update."""
        start, row = self._fence_at
        code = _parser().parse(sanitize(self._source[start : self._start]))[0].content
        colors = highlighted_lines(
            code.removesuffix("\n"),
            self._page.palette,
            language=language_of(info),
            on="panel",
        )
        self._recolored = (colors, row + (row > 0))  # a blank line is before it

    def _recolor(self) -> int:
        """Draw some lines again; return the index of the first one."""
        if self._recolored is None:
            return len(self.lines)
        colors, row = self._recolored
        texts = list(colors if self._final else islice(colors, RECOLORED_LINES))
        writer = BlockWriter(self._page, self._tone, self._indent)
        writer.code_lines(texts)
        end = row + len(writer.lines)
        self.lines[row:end] = writer.lines
        self._recolored = (colors, end) if texts and not self._final else None
        return row

    def _keep(self, before: list[Line], first: int) -> int:
        """Put back lines of *before* that are drawn alike from *first* on, with what is cached for
        them; return the index of the first one that is not."""
        for line in before:
            if first == len(self.lines) or self.lines[first] != line:
                break
            self.lines[first] = line
            first += 1
        return first

    def _freeze_code(self) -> None:
        """Freeze the first lines of a long code block that is still open."""
        tail = self._source[self._start :]
        opened = None if self._fence else _FENCE.match(tail)
        opening = self._fence or (opened.group() if opened else "")
        body = tail if self._fence else tail[len(opening) :]
        count = body.count("\n") // FREEZE_LINES * FREEZE_LINES - FREEZE_LINES
        if not opening or count < FREEZE_LINES or _closes(opening, body):
            return
        end = _offset(body, count)
        self._write(_parser().parse(sanitize(opening + body[:end]) + _marker(opening)))
        if not self._fence:
            self._fence_at = (self._start, self._frozen)
            self._start += len(opening)
            self._fence = opening
        self._start += end
        self._frozen = len(self.lines)

    def _write(self, tokens: "list[Token]", lines: list[str] | None = None) -> None:
        """Write blocks; long ones in pieces, by the *lines* that they were parsed from."""
        continues = self._continues()
        for block in top_blocks(tokens):
            pieces = _pieces(block, lines) if lines else []
            for piece in pieces[:-1]:
                self._append(_parser().parse(piece), continues=continues)
                continues = not piece.endswith("\n\n")  # else items with space between them
            rest = _parser().parse(pieces[-1]) if len(pieces) > 1 else block
            self._append(rest, continues=continues)
            continues = False

    def _write_open(self, tokens: "list[Token]", lines: list[str]) -> None:
        """Write what can still change: a block, of which all pieces but the last are frozen, and
        perhaps the next one's first characters."""
        block, *following = top_blocks(tokens) or [[]]
        pieces = _pieces(block, lines) if not self._fence else []
        for piece in pieces[:-1]:
            self._append(_parser().parse(piece), continues=self._continues())
            if not self._kind:
                self._block_at, self._kind = (self._start, self._frozen), tokens[0].type
            old, self._header = self._header, _header(tokens[0], lines)
            self._start += _offset(self._source[self._start :], piece.count("\n") - old.count("\n"))
            self._frozen = len(self.lines)
        rest = _parser().parse(pieces[-1]) if len(pieces) > 1 else block
        self._append(rest, continues=self._continues())
        for each in following:
            self._append(each, continues=False)

    def _continues(self) -> bool:
        """Return whether what is not frozen belongs to the last frozen line, without a blank one
        between."""
        spaced = self._source[max(0, self._start - 2) : self._start] == "\n\n"
        return bool(self._fence or (self._kind and not spaced))

    def _append(self, tokens: "list[Token]", *, continues: bool) -> None:
        writer = BlockWriter(self._page, self._tone, self._indent, waits=self._final)
        if self.lines and not continues:
            writer.blank()
        writer.blocks(tokens)
        self.lines += writer.lines
        if writer.uncolored and self._uncolored is None:
            here = (self._start, self._frozen)
            begins = self._fence_at if self._fence else self._block_at if self._kind else here
            self._uncolored = (writer.uncolored, *begins)


def _header(token: "Token", lines: list[str]) -> str:
    """Return the lines that each piece of a block repeats."""
    first = token.map[0] if token.map else 0
    return "".join(lines[first : first + HEADER_LINES]) if token.type == "table_open" else ""


def _pieces(block: "list[Token]", lines: list[str]) -> list[str]:
    """Return the text of a long *block* in pieces that are drawn one by one; else at most one.

    Where they begin depends on the lines before only, so a growing block has the same pieces.
    """
    size = PIECE_LINES.get(block[0].type, 0) if block else 0
    span = block[0].map if block else None
    if not size or span is None or span[1] - span[0] < 2 * size:
        return []
    first, end = span
    while end > first and not lines[end - 1].strip():
        end -= 1
    header = _header(block[0], lines)
    begins = first + header.count("\n")
    pieces: list[str] = []
    for line in _piece_starts(block, lines, first, end):
        if line - begins >= size and end - line >= size:
            pieces.append(header + "".join(lines[begins:line]))
            begins = line
    pieces.append(header + "".join(lines[begins : span[1]]))
    return pieces


def _piece_starts(block: "list[Token]", lines: list[str], first: int, end: int) -> Iterable[int]:
    """Return the lines of *block* where a piece can begin."""
    match block[0].type:
        case "paragraph_open":  # the line must not begin another block by itself
            return (n for n in range(first, end) if lines[n][0].isalpha())
        case "table_open":
            return range(first + HEADER_LINES, end)
        case _:
            items = (t for t in block if t.type == "list_item_open" and t.level == 1)
            return (t.map[0] for t in items if t.map)


def _marker(opening: str) -> str:
    """Return the characters that open a code block."""
    return opening[: len(opening) - len(opening.lstrip(opening[0]))]


def _closes(opening: str, body: str) -> bool:
    """Return whether a finished line of *body* closes the code block that *opening* began."""
    marker = _marker(opening)
    closing = rf"^ {{0,3}}{re.escape(marker)}{re.escape(marker[0])}*[ \t\r]*$"
    return re.search(closing, body[: body.rfind("\n") + 1], re.MULTILINE) is not None


def _starts_at(token: "Token", line: int) -> bool:
    return token.level == 0 and token.map is not None and token.map[0] == line


def _without_ambiguous_end(tail: str) -> str:
    """Return *tail* without a last line that is incomplete and ambiguous."""
    head, feed, last = tail.rpartition("\n")
    return head + feed if _AMBIGUOUS.fullmatch(last) else tail


def _first_open_line(starts: list[int], tail: str) -> int:
    """Return the line where blocks that can still change begin, which is the last block that began
    on a finished line; 0 if nothing can be frozen yet."""
    open_line = tail.count("\n")
    finished = [start for start in starts if start < open_line]
    return finished[-1] if finished else 0


def _offset(source: str, lines: int) -> int:
    """Return the offset in *source* after *lines* line feeds."""
    position = 0
    for _ in range(lines):
        position = source.index("\n", position) + 1
    return position
