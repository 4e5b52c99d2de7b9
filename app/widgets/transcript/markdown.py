"""Markdown as lines, for text that grows: finished blocks are frozen, only the last one is parsed
again.

The parser is markdown-it's; HTML and images are off, links show their target, and all text is
sanitized after entities were decoded. The same text gives the same lines whether it arrived at once
or in pieces.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from app.text.sanitize import sanitize
from app.widgets.transcript.lines import Line, Page
from app.widgets.transcript.markdown_blocks import BlockWriter, has_reference_definitions

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A last line that could still become a heading underline, a list, a fence or a rule is
# held back, so that nothing flickers while it arrives.
_AMBIGUOUS = re.compile(r"\s*(?:[-=*_+`~#|>:\s]+|\d{1,9}[.)]?)")


_FENCE = re.compile(r"(`{3,}|~{3,})[^`\n]*\n")

FREEZE_LINES = 40
"""Lines of an open code block that are frozen at once."""


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
        self.lines: list[Line] = []

    def update(self, source: str, *, final: bool) -> int:
        """Show *source* and return the index of the first line that may have changed.

        *final* means that the text is complete. Text that does not extend the previous text is laid
        out again from the start.
        """
        if not source.startswith(self._source) or (final and has_reference_definitions(source)):
            self._start = self._frozen = 0
            self._fence = ""
        self._source = source
        if self._fence and (final or _closes(self._fence, source[self._start :])):
            # Its highlighting can depend on the frozen lines, so it is drawn again as a whole.
            self._start, self._frozen = self._fence_at
            self._fence = ""
        first = self._frozen
        del self.lines[first:]
        if not final:
            self._freeze_code()
        tail = sanitize(self._fence + source[self._start :])
        shown = tail if final else _without_ambiguous_end(tail)
        tokens = _parser().parse(shown)
        starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
        kept = 0 if final else _first_open_line(starts, tail)
        cut = next((i for i, t in enumerate(tokens) if _starts_at(t, kept)), 0) if kept else 0
        if kept:
            self._write(tokens[:cut])
            self._frozen = len(self.lines)
            self._start += _offset(source[self._start :], kept)
        self._write(tokens[cut:])
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

    def _write(self, tokens: "list[Token]") -> None:
        writer = BlockWriter(self._page, self._tone, self._indent)
        if self.lines and not self._fence:
            writer.blank()
        writer.blocks(tokens)
        self.lines += writer.lines


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
