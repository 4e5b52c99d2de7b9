"""Convert HTML to Markdown in a child process, because a hostile page can exhaust the parser.

Scripts and styles are dropped while the page is parsed; nesting is followed to a limited depth.
Layout can be lost, text never. markdownify takes three times as long (0.84 s instead of 0.23 for a
page of 1.5 MB), ends with a ``RecursionError`` on deep nesting, and needs more code for relative
links and omitted end tags.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

MAX_PREFIXES = 12
"""The maximum depth of nested lists and quotes that is indented."""

MAX_LINK = 500

_DROPPED = frozenset({
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas",
    "select", "datalist", "audio", "video", "map",
})  # fmt: skip
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
})  # fmt: skip
_BLOCKS = frozenset({
    "address", "article", "aside", "body", "center", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "html", "legend",
    "main", "menu", "nav", "p", "section", "summary", "table", "tbody", "tfoot", "thead", "caption",
})  # fmt: skip
_MARKS = {
    "b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~", "strike": "~~",
    "code": "`", "kbd": "`", "samp": "`", "tt": "`",
}  # fmt: skip
_CONTAINERS = frozenset({"ul", "ol", "li", "blockquote"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")


@dataclass(slots=True)
class _List:
    """*number* of the next item, None for a list without numbers. *open*: in an item."""

    number: int | None = None
    open: bool = False


class _Lines:
    """The lines so far, and the lists and quotes around the next one."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._prefixes: list[str] = []
        self._marker = ""
        self._lists: list[_List] = []

    def emit(self, text: str) -> None:
        prefixes = self._prefixes[:MAX_PREFIXES]
        if self._marker and prefixes:
            prefixes[-1] = self._marker
            self._marker = ""
        self._lines.append(f"{''.join(prefixes)}{text}".rstrip())

    def blank(self) -> None:
        """Add an empty line, unless there is one or a list item has just begun."""
        if not self._lines or self._marker:
            return
        blank = "".join(self._prefixes[:MAX_PREFIXES]).rstrip()
        if self._lines[-1].strip("> "):
            self._lines.append(blank)
        else:
            self._lines[-1] = min(blank, self._lines[-1], key=len)

    def open_list(self, start: str | None) -> None:
        """*start* is the first number of a list that has numbers."""
        if not self._lists:
            self.blank()
        number: int | None = None
        if start is not None:
            number = int(start) if start.isdecimal() and len(start) < 9 else 1
        self._lists.append(_List(number))

    def open_item(self) -> None:
        if not self._lists:
            self._lists.append(_List())
        self.end_item()  # its end tag is optional
        current = self._lists[-1]
        current.open = True
        self._marker = "- " if current.number is None else f"{current.number}. "
        if current.number is not None:
            current.number += 1
        self._prefixes.append(" " * len(self._marker))

    def end_item(self) -> None:
        if not self._lists or not self._lists[-1].open:
            return
        self._lists[-1].open = False
        self._marker = ""
        if self._prefixes and not self._prefixes[-1].strip():
            self._prefixes.pop()

    def end_list(self) -> None:
        self.end_item()
        if self._lists:
            self._lists.pop()
        if not self._lists:
            while self._prefixes and not self._prefixes[-1].strip():
                self._prefixes.pop()
            self.blank()

    def open_quote(self) -> None:
        self.blank()
        self._prefixes.append("> ")

    def end_quote(self) -> None:
        while self._prefixes:
            if self._prefixes.pop() == "> ":
                break
        self.blank()

    def text(self) -> str:
        return "\n".join(self._lines).strip("\n")


class Converter(HTMLParser):
    """Converts a page that is fed to it; ``finish`` returns the result. *base* is the URL of the
    page; without *markup* the result is plain text."""

    def __init__(self, base: str, *, markup: bool = True) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._markup = markup
        self.title = ""
        self._lines = _Lines()
        self._text: list[str] = []
        self._links: list[tuple[str, int]] = []
        self._dropping = 0
        self._titling = False
        self._pre: list[str] | None = None
        self._rows: list[list[str]] | None = None
        self._tables = 0
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropping or tag in _DROPPED:
            self._dropping += tag in _DROPPED
            return
        given = {name: value or "" for name, value in attrs}
        if tag in _BLOCKS or tag in _HEADINGS:
            self._open_block(tag)
        elif tag in _MARKS:
            self._mark(tag)
        else:
            self._open_other(tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED:
            return
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            self._dropping -= tag in _DROPPED
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._close_block(tag)
        elif tag in _MARKS:
            self._mark(tag)
        elif tag == "title":
            self._titling = False
        elif tag in self._enders:
            if tag in _CONTAINERS:
                self._flush()
            self._enders[tag]()

    def handle_data(self, data: str) -> None:
        if self._dropping:
            return
        if self._titling:
            self.title += data
        elif self._pre is not None:
            self._pre.append(data)
        else:
            self._text.append(data)

    @property
    def _enders(self) -> dict[str, Callable[[], None]]:
        return {
            "a": self._end_link,
            "pre": self._end_pre,
            "ul": self._lines.end_list,
            "ol": self._lines.end_list,
            "li": self._lines.end_item,
            "blockquote": self._lines.end_quote,
            "tr": self._end_cell,
            "td": self._end_cell,
            "th": self._end_cell,
        }

    def _open_block(self, tag: str) -> None:
        if tag == "table":
            self._tables += 1
            if self._tables == 1:
                self._flush()
                self._rows = []
            return
        self._flush()
        if tag in _HEADINGS and self._rows is None:
            self._blank()
            self._text.append(f"{_HEADINGS[tag]} " if self._markup else "")
        elif tag in {"p", "dl"}:
            self._blank()

    def _close_block(self, tag: str) -> None:
        if tag == "table":
            if self._tables == 1:
                self._flush()
                self._end_table()
            self._tables = max(0, self._tables - 1)
            return
        self._flush()
        if tag in _HEADINGS or tag in {"p", "dl", "figure"}:
            self._blank()

    def _open_other(self, tag: str, given: dict[str, str]) -> None:
        match tag:
            case "br":
                self._flush()
            case "hr":
                self._flush()
                self._lines.emit("---")
            case "a":
                self._end_link()  # links do not nest
                self._links.append((given.get("href", ""), len(self._text)))
            case "img":
                self._image(given)
            case "pre" if self._pre is None:
                self._flush()
                self._pre = []
            case "ul" | "ol":
                self._flush()
                self._lines.open_list(given.get("start", "1") if tag == "ol" else None)
            case "li":
                self._flush()
                self._lines.open_item()
            case "blockquote":
                self._flush()
                self._lines.open_quote()
            case "tr" | "td" | "th" if self._rows is not None and self._tables == 1:
                self._end_cell()
                if tag == "tr" or not self._rows:
                    self._rows.append([])
                self._in_cell = tag != "tr"
            case "title" if not self.title:
                self._titling = True
            case _:
                pass

    def _mark(self, tag: str) -> None:
        if not self._markup:
            return
        if self._pre is None:
            self._text.append(_MARKS[tag])

    def _image(self, given: dict[str, str]) -> None:
        text = _SPACE.sub(" ", given.get("alt", "")).strip()
        if not text or self._pre is not None:
            return
        where = _address(self._base, given.get("src", ""))
        self._text.append(f"![{text}]({where})" if self._markup and where else text)

    def _end_link(self) -> None:
        if not self._links:
            return
        href, start = self._links.pop()
        where = _address(self._base, href)
        if self._pre is not None or not where or not self._markup:
            return
        text = _SPACE.sub(" ", "".join(self._text[start:])).strip()
        if text:
            lead = " " if "".join(self._text[start:])[:1].isspace() else ""
            self._text[start:] = [f"{lead}[{text}]({where})"]

    def _end_pre(self) -> None:
        if self._pre is None:
            return
        code = "".join(self._pre).strip("\r\n")
        self._pre = None
        if self._rows is not None:
            self._text.append(code)
            return
        longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
        fence = "`" * max(3, longest + 1) if self._markup else ""
        self._blank()
        for line in (*([fence] if fence else []), *code.splitlines(), *([fence] if fence else [])):
            self._lines.emit(line)
        self._blank()

    def _end_cell(self) -> None:
        """End the open cell, if any: its end tag is optional."""
        if self._rows and self._tables == 1 and self._in_cell:
            self._in_cell = False
            text = _SPACE.sub(" ", "".join(self._text)).strip()
            self._rows[-1].append(text.replace("|", "\\|"))
            self._text.clear()
            self._links.clear()
        else:
            self._text.append(" ")

    def _end_table(self) -> None:
        self._end_cell()
        rows = [row for row in self._rows or [] if any(row)]
        self._rows = None
        if not rows:
            return
        width = max(len(row) for row in rows)
        self._blank()
        for number, row in enumerate(rows):
            filled = [*row, *[""] * (width - len(row))]
            if not self._markup or width == 1:
                self._lines.emit("  ".join(cell for cell in filled if cell))
                continue
            self._lines.emit(f"| {' | '.join(filled)} |")
            if number == 0:
                self._lines.emit(f"|{' --- |' * width}")
        self._blank()

    def _flush(self) -> None:
        """End the current line of text."""
        if self._rows is not None:
            self._text.append(" ")
            return
        text = _SPACE.sub(" ", "".join(self._text)).strip()
        if not text.strip("*~`# "):
            self._text.clear()
            self._links = [(href, 0) for href, _ in self._links]
            return
        if self._links and self._markup:
            # A link around several lines is put on the first one.
            where = _address(self._base, self._links[0][0])
            lead = re.match(r"#* ?", text)
            at = lead.end() if lead else 0
            text = f"{text[:at]}[{text[at:]}]({where})" if where else text
        self._text.clear()
        self._links.clear()
        self._lines.emit(text)

    def _blank(self) -> None:
        if self._rows is None:
            self._lines.blank()

    def finish(self) -> str:
        """Return the converted page."""
        self.close()
        self._end_pre()
        if self._rows is not None:
            self._flush()
            self._end_table()
        self._flush()
        return self._lines.text()


def _address(base: str, href: str) -> str:
    """Return the absolute URL of *href*, "" for other schemes and links within the page."""
    try:
        where = urljoin(base, href.strip())
        scheme = urlsplit(where).scheme
    except ValueError:
        return ""
    if scheme not in {"http", "https"} or len(where) > MAX_LINK or href.startswith("#"):
        return ""
    return re.sub(r"[\s<>()]", lambda match: f"%{ord(match[0]):02X}", where)


def convert(html: str, base: str, *, markup: bool = True) -> str:
    """Return *html* as Markdown or plain text, its title first."""
    converter = Converter(base, markup=markup)
    converter.feed(html)
    text = converter.finish()
    title = _SPACE.sub(" ", converter.title).strip()
    if title and not text.lstrip("# ").startswith(title):
        mark = "# " if markup else ""
        text = f"{mark}{title}\n\n{text}"
    return text


def main() -> int:
    """Convert the page on stdin; the first two lines are its URL and the format."""
    base = sys.stdin.buffer.readline().decode().strip()
    markup = sys.stdin.buffer.readline().strip() == b"markdown"
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(convert(html, base, markup=markup).encode("utf-8", "replace"))
    return 0
