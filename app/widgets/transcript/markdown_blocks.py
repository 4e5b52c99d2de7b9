"""Markdown tokens as lines: paragraphs, headings, lists, quotes, code, tables, text."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.text import Text

from app.text.sanitize import sanitize, sanitize_line
from app.theme.themes import Palette
from app.widgets.transcript.highlight import has_grammar, highlight
from app.widgets.transcript.lines import Line, Page, add_links, fold, gutter, make_line, wrap
from app.widgets.transcript.tables import Align, Table, table_rows

if TYPE_CHECKING:
    from markdown_it.token import Token


_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:", re.MULTILINE)

_ATTRIBUTES = {
    "strong_open": "bold",
    "em_open": "italic",
    "s_open": "strike",
}


def has_reference_definitions(source: str) -> bool:
    """Return whether *source* can define link targets that earlier text uses."""
    return _DEFINITION.search(source) is not None


def inline_text(
    tokens: "list[Token]", page: Page, *, tone: str = "text", bold: bool = False
) -> Text:
    """Return inline tokens as plain styled text; line breaks become line feeds."""
    palette = page.palette
    attributes: list[str] = ["bold"] if bold else []
    targets: list[tuple[str, int]] = []
    text = Text(style=palette.style(tone))
    code = "accent" if tone == "text" else "muted"
    for token in tokens:
        kind = token.type
        if kind in _ATTRIBUTES:
            attributes.append(_ATTRIBUTES[kind])
        elif kind in {"strong_close", "em_close", "s_close"}:
            attributes.pop()
        elif kind in {"softbreak", "hardbreak"}:
            text.append("\n")
        elif kind == "code_inline":
            style = palette.style(code, attributes=" ".join(attributes))
            text.append(sanitize_line(token.content), style)
        elif kind == "link_open":
            targets.append((sanitize_line(str(token.attrGet("href") or "")), len(text)))
            attributes.append("underline")
        elif kind == "link_close":
            attributes.pop()
            _append_target(text, *targets.pop(), palette)
        elif kind == "image":
            alt, target = (
                sanitize_line(token.content),
                sanitize_line(str(token.attrGet("src") or "")),
            )
            text.append(f"{alt} " if alt else "", palette.style(tone))
            text.append(f"({target})", palette.style("faint"))
        else:
            text.append(
                sanitize(token.content), palette.style(tone, attributes=" ".join(attributes))
            )
    return add_links(text, page.files)


def _append_target(text: Text, target: str, start: int, palette: Palette) -> None:
    """Append the target of a link unless its text is the same."""
    shown = text.plain[start:]
    if target and target.removeprefix("mailto:") != shown:
        text.append(f" ({target})", palette.style("faint"))


RULE_WIDTH = 40
MIN_ITEM_WIDTH = 8
"""Cells that the text of a list item gets at least, if the page has them."""
BULLETS = ("•", "◦", "▪")


def language_of(info: str) -> str:
    """Return the language that the opening line of a code block names, in lower case."""
    return info.split(maxsplit=1)[0].lower() if info.strip() else ""


class BlockWriter:
    """Writes tokens of markdown-it as lines that start at column *indent*.

    With *waits*, grammars for the colors of code are loaded first; else code is written without
    colors until they are, and ``uncolored`` is its language.
    """

    def __init__(self, page: Page, tone: str, indent: int, *, waits: bool = True) -> None:
        self.lines: list[Line] = []
        self.uncolored = ""
        self._waits = waits
        self._page = page
        self._palette = page.palette
        self._tone = tone
        self._rest: tuple[Segment, ...] = gutter(page, indent)
        self._first: tuple[Segment, ...] | None = None
        self._gap: tuple[Segment, ...] | None = None
        self._cells = indent
        self._lists = 0

    def blank(self) -> None:
        """Add a blank line before the next block, if there is one."""
        if self._gap is None:
            self._gap = self._rest

    def blocks(self, tokens: "list[Token]", *, tight: bool = False) -> None:
        """Write sibling blocks with a blank line between them, unless *tight*."""
        index, before = 0, len(self.lines)
        while index < len(tokens):
            if not tight and len(self.lines) > before:
                self.blank()
            end = _end(tokens, index)
            self._block(tokens[index], tokens[index + 1 : end - 1], tight=tight)
            index = end

    def _block(self, token: "Token", inner: "list[Token]", *, tight: bool) -> None:
        match token.type:
            case "heading_open":
                self._heading(token, inner)
            case "paragraph_open":
                self._paragraph(inner)
            case "bullet_list_open" | "ordered_list_open":
                self._list(token, inner)
            case "blockquote_open":
                self._quote(inner)
            case "fence" | "code_block":
                self._code(token)
            case "table_open":
                self._table(inner)
            case "hr":
                width = min(RULE_WIDTH, self._width)
                self._emit([Segment("─" * width, self._palette.style("rule"))])
            case _:
                if token.content:
                    self._prose(
                        Text(sanitize(token.content), style=self._palette.style(self._tone))
                    )

    @property
    def _width(self) -> int:
        return self._page.columns(self._cells)

    def _emit(self, content: list[Segment], join: str = "\n", fill: str | None = None) -> None:
        if self._gap is not None:
            self.lines.append(make_line((), prefix=self._gap))
            self._gap = None
        prefix, skip = self._rest, None
        if self._first is not None:
            # A bullet is copied, the margin before it is not.
            prefix, self._first = self._first, None
            skip = max(0, sum(len(part.text) for part in prefix) - len(prefix[-1].text))
        ground = (self._page.right, self._palette.style("text", fill)) if fill else None
        self.lines.append(make_line(content, prefix=prefix, skip=skip, join=join, fill=ground))

    def _prose(self, text: Text) -> None:
        width = min(self._page.prose(self._cells), self._width)
        for paragraph in text.split("\n", allow_blank=True):
            for row, join in wrap(paragraph, width):
                self._emit(row, join)

    def _paragraph(self, inner: "list[Token]") -> None:
        self._prose(self._inline(inner, self._tone))

    def _inline(self, inner: "list[Token]", tone: str, *, bold: bool = False) -> Text:
        children = inner[0].children if inner else None
        return inline_text(children or [], self._page, tone=tone, bold=bold)

    def _heading(self, token: "Token", inner: "list[Token]") -> None:
        tone = "accent" if token.tag in {"h1", "h2"} and self._tone == "text" else self._tone
        self._prose(self._inline(inner, tone, bold=True))

    def _list(self, token: "Token", inner: "list[Token]") -> None:
        number = int(token.attrGet("start") or 1) if token.tag == "ol" else None
        items = top_blocks(inner)
        tight = all(
            child.hidden
            for item in items
            for child in item
            if child.level == token.level + 2 and child.type == "paragraph_open"
        )
        bullet = BULLETS[min(self._lists, len(BULLETS) - 1)]
        width = len(str(number + len(items))) + 2 if number is not None else 2
        self._lists += 1
        for index, item in enumerate(items):
            if index and not tight:
                self.blank()
            mark = bullet if number is None else f"{number + index}."
            self._item(item[1:-1], f"{mark:<{width}}", tight=tight)
        self._lists -= 1

    def _item(self, inner: "list[Token]", mark: str, *, tight: bool) -> None:
        mark, inner = _task(mark, inner)
        outer, cells = self._rest, self._cells
        before = outer if self._first is None else self._first
        if self._width - len(mark) < MIN_ITEM_WIDTH:
            # Too deep for the width: readable text matters more than the nesting.
            before = self._rest = gutter(self._page, self._page.left)
            self._cells = self._page.left
        self._rest = (*self._rest, Segment(" " * len(mark), self._palette.style()))
        self._first = (*before, Segment(mark, self._palette.style("faint")))
        self._cells += len(mark)
        written = len(self.lines)
        self.blocks(inner, tight=tight)
        if len(self.lines) == written:
            self._emit([])
        self._rest, self._cells = outer, cells

    def _quote(self, inner: "list[Token]") -> None:
        outer, cells, tone = self._rest, self._cells, self._tone
        bar = Segment("▎ ", self._palette.style("faint"))
        self._rest, self._cells = (*outer, bar), cells + 2
        self._first = (*self._first, bar) if self._first is not None else None
        self._tone = "muted" if tone == "text" else tone
        self.blocks(inner)
        self._rest, self._cells, self._tone = outer, cells, tone

    def _code(self, token: "Token") -> None:
        code = sanitize(token.content).removesuffix("\n")
        language = language_of(token.info)
        if language and not self._waits and not has_grammar(language):
            self.uncolored, language = language, ""
        self.code_lines(highlight(code, self._palette, language=language, on="panel"))

    def code_lines(self, texts: Iterable[Text]) -> None:
        """Write highlighted lines of code."""
        pad = Segment(" ", self._palette.style("text", "panel"))
        outer = self._rest
        if self._first is not None:
            self._emit([])
        self._rest = (*outer, pad)
        for text in texts:
            for row, join in fold(text, max(1, self._width - 2)):
                self._emit(row, join, fill="panel")
        self._rest = outer

    def _table(self, inner: "list[Token]") -> None:
        header: list[Text] = []
        rows: list[list[Text]] = []
        align: list[Align] = []
        for token, following in pairwise(inner):
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                header.append(self._inline([following], self._tone, bold=True))
                align.append(_align(token))
            elif token.type == "td_open":
                rows[-1].append(self._inline([following], self._tone))
        body = tuple(tuple(row) for row in rows if row)
        for row in table_rows(Table(tuple(header), body, tuple(align)), self._page, self._width):
            self._emit(row)


def _align(token: "Token") -> Align:
    style = str(token.attrGet("style") or "")
    return "right" if "right" in style else "center" if "center" in style else "left"


def _end(tokens: "list[Token]", index: int) -> int:
    """Return the index after the block that starts at *index*."""
    if tokens[index].nesting != 1:
        return index + 1
    level = tokens[index].level
    index += 1
    while tokens[index].level != level or tokens[index].nesting != -1:
        index += 1
    return index + 1


def top_blocks(tokens: "list[Token]") -> "list[list[Token]]":
    """Return sibling blocks, each with everything in it."""
    found: list[list[Token]] = []
    index = 0
    while index < len(tokens):
        end = _end(tokens, index)
        found.append(tokens[index:end])
        index = end
    return found


def _task(mark: str, inner: "list[Token]") -> "tuple[str, list[Token]]":
    """Return the mark and content of a list item, whose mark is a box for ``[ ]``, ``[x]``."""
    children = inner[1].children if len(inner) > 1 else None
    if not children or children[0].content[:4] not in {"[ ] ", "[x] ", "[X] "}:
        return mark, inner
    box = "☐" if children[0].content[1] == " " else "☑"
    children[0].content = children[0].content[4:]
    return f"{box:<{len(mark)}}", inner
