"""The search without ripgrep: a process of its own, so that it can be stopped at any time.

It reads one JSON object on stdin (see ``SearchRequest``) and writes what ripgrep would: paths
that end in NUL; or ``path NUL line:column:text LF`` for matches, the column being that of the first
byte that matches (no column if matches can span lines), and ``path NUL line-text LF`` for their
context. Exit code 2 and a sentence on stderr report a pattern that Python's ``re`` does not handle
like ripgrep.
"""

import codecs
import io
import json
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import accumulate
from os import fsencode
from pathlib import Path
from typing import BinaryIO

from agent.records.frozen import frozen
from agent.tools.search.globs import fits_type, matcher
from agent.tools.search.tree import walk

_UNSUPPORTED = (
    (r"\(\?(?:[=!>(&R|]|<[=!]|P[=>])", "look-around, recursion and conditions"),
    (r"\\[1-9]|\\[kg][<{']", "back-references"),
    (r"\\[pPXCRKGhHz]", "Unicode classes and other escapes that Python lacks"),
    (r"[*+?}]\+", "possessive repetition"),
)


@frozen
class SearchRequest:
    """A request to list the files below *root* that match *include*, or to search *pattern* in
    them.

    *folder* is *root*, or its folder if *root* is a file.
    """

    root: str
    folder: str
    hidden: bool
    ignored: bool
    pattern: str | None = None
    include: str | None = None
    types: tuple[str, ...] = ()
    """Globs of names, of which a file has to fit one."""
    max_count: int | None = 100
    """The maximum number of matches in one file."""
    before: int = 0
    after: int = 0
    """The lines of context before and after each match."""
    ignore_case: bool = False
    multiline: bool = False
    """Matches can span lines, also by ``.``."""
    texts: bool = True
    """Return the texts of the lines; False if only their number is of interest."""

    @property
    def spans_lines(self) -> bool:
        """Return whether a match can span lines."""
        pattern = self.pattern or ""
        return self.multiline or "\n" in pattern or "\\n" in pattern.replace("\\\\", "")


def encode_request(order: SearchRequest) -> bytes:
    return json.dumps(asdict(order)).encode()


def unsupported_syntax(pattern: str) -> str:
    """Return the syntax of *pattern* that the engines handle differently, "" without any."""
    if re.search(r"\[[^\]]*(?:\[|&&|~~|--)", re.sub(r"\\.", "", pattern)):
        return "classes within classes"
    plain = pattern.replace("\\\\", "")
    return next((what for shape, what in _UNSUPPORTED if re.search(shape, plain)), "")


def _search(order: SearchRequest, pattern: str, out: BinaryIO) -> None:
    flags = re.IGNORECASE if order.ignore_case else 0
    if order.spans_lines:
        flags |= re.MULTILINE | (re.DOTALL if order.multiline else 0)
    compiled = re.compile(pattern, flags)
    for path in [order.root] if order.root != order.folder else _files(order):
        _search_file(path, compiled, order, out)


def _files(order: SearchRequest) -> Iterator[str]:
    fits = matcher(order.include) if order.include else None
    base = order.root.rstrip("/") + "/"
    for path in walk(order.root, hidden=order.hidden, ignored=order.ignored):
        if order.types and not fits_type(path, order.types):
            continue
        if fits is None or fits(path.removeprefix(base)):
            yield path


def _search_file(path: str, compiled: re.Pattern[str], order: SearchRequest, out: BinaryIO) -> None:
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - the with statement is below
    except OSError:
        return
    with file:
        found = _matching_lines(file, compiled, order)
        hits = _with_context(found, order) if found is not None else []
    out.write(b"".join(b"%s\0%s\n" % (fsencode(path), hit) for hit in hits))
    out.flush()


_Line = tuple[int, bytes, int | None]
"""The number of a line, its text, and the column of the match in it: 0 if unknown, None without
a match."""


def _matching_lines(
    file: BinaryIO, compiled: re.Pattern[str], order: SearchRequest
) -> list[_Line] | None:
    """Return the lines up to the last wanted match and its context, None for a binary file."""
    encoding = _encoding_by_bom(file)
    if encoding is not None:
        text = file.read().decode(encoding, "replace")
        raw: Iterable[bytes] = io.BytesIO(text.encode())
    else:
        raw = file
    if order.spans_lines:
        return _matches_over_lines(list(raw), compiled, order)
    return _matches_by_line(raw, compiled, order)


def _matches_by_line(
    raw: Iterable[bytes], compiled: re.Pattern[str], order: SearchRequest
) -> list[_Line] | None:
    held: list[_Line] = []
    left = order.max_count
    after = 0
    for number, line in enumerate(raw, 1):
        if b"\0" in line:
            return None  # matches before do not count
        text = line.removesuffix(b"\n").decode("utf-8", "surrogateescape")
        found = compiled.search(text) if left is None or left > 0 else None
        if found is None and not order.before and not after:
            continue
        held.append((number, _encoded(text), None if found is None else _column(text, found)))
        if found is not None:
            left, after = None if left is None else left - 1, order.after
        elif after:
            after -= 1
        if left == 0 and not after:
            break
    return held


def _matches_over_lines(
    lines: list[bytes], compiled: re.Pattern[str], order: SearchRequest
) -> list[_Line] | None:
    if any(b"\0" in line for line in lines):
        return None
    texts = [line.decode("utf-8", "surrogateescape") for line in lines]
    starts = [0, *accumulate(map(len, texts))]
    whole = "".join(texts)
    matching: set[int] = set()
    ranges = 0
    for found in compiled.finditer(whole):
        if found.start() == len(whole) and (not whole or whole.endswith("\n")):
            break  # there is no line
        first = min(bisect_right(starts, found.start()), len(lines)) - 1
        last = bisect_right(starts, max(starts[first], found.end() - 1)) - 1
        if first not in matching:
            if ranges == order.max_count:
                break
            ranges += 1
        matching.update(range(first, last + 1))
    return [
        (number, _encoded(text.removesuffix("\n")), 0 if number - 1 in matching else None)
        for number, text in enumerate(texts, 1)
    ]


def _with_context(lines: list[_Line], order: SearchRequest) -> list[bytes]:
    """Return the records of *lines*: the matches, and those before and after them."""
    hits = [place for place, (_, _, column) in enumerate(lines) if column is not None]
    kept: dict[int, None] = {}
    for place in hits:
        number = lines[place][0]
        for other in range(max(0, place - order.before), min(len(lines), place + order.after + 1)):
            if -order.before <= lines[other][0] - number <= order.after:
                kept[other] = None
    return [_record(lines[place], texts=order.texts) for place in sorted(kept)]


def _record(line: _Line, *, texts: bool) -> bytes:
    number, text, column = line
    shown = text if texts else b""
    if column is None:
        return b"%d-%s" % (number, shown)
    return b"%d:%d:%s" % (number, column, shown) if column else b"%d:%s" % (number, shown)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _column(text: str, found: re.Match[str]) -> int:
    return len(_encoded(text[: found.start()])) + 1


def _encoding_by_bom(file: BinaryIO) -> str | None:
    """Return the encoding by the byte order mark, and move the file after the mark."""
    start = file.read(3)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        file.seek(2)
        return "utf-16-le" if start.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    file.seek(3 if start == codecs.BOM_UTF8 else 0)
    return None


def main() -> int:
    """Serve one request and return the exit code."""
    order = SearchRequest(**json.load(sys.stdin))
    out = sys.stdout.buffer
    if order.pattern is None:
        for path in _files(order):
            out.write(fsencode(path) + b"\0")
        out.flush()
        return 0
    what = unsupported_syntax(order.pattern)
    if what:
        sys.stderr.write(f"regex needs ripgrep: {what}")
        return 2
    try:
        _search(order, order.pattern, out)
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}")
        return 2
    return 0
