"""The search without ripgrep: a process of its own, so that it can be stopped at any time.

It reads one JSON object on stdin (see ``SearchRequest``) and writes what ripgrep would: paths
that end in NUL, or ``path NUL line:text LF`` for matches. Exit code 2 and a sentence on stderr
report a pattern that Python's ``re`` does not handle like ripgrep.
"""

import codecs
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from os import fsencode
from pathlib import Path
from typing import BinaryIO

from agent.tools.search.globs import matcher
from agent.tools.search.tree import walk

MAX_LINE = 8_192
"""The maximum number of bytes of a line in a record."""

_UNSUPPORTED = (
    (r"\(\?(?:[=!>(&R|]|<[=!]|P[=>])", "look-around, recursion and conditions"),
    (r"\\[1-9]|\\[kg][<{']", "back-references"),
    (r"\\[pPXCRKGhHz]", "Unicode classes and other escapes that Python lacks"),
    (r"[*+?}]\+", "possessive repetition"),
    (r"\\n|\n", "patterns over several lines"),
)


@dataclass(frozen=True, slots=True)
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
    max_count: int = 100


def encode_request(order: SearchRequest) -> bytes:
    return json.dumps(asdict(order)).encode()


def unsupported_syntax(pattern: str) -> str:
    """Return the syntax of *pattern* that the engines handle differently, "" without any."""
    if re.search(r"\[[^\]]*(?:\[|&&|~~|--)", re.sub(r"\\.", "", pattern)):
        return "classes within classes"
    plain = pattern.replace("\\\\", "")
    return next((what for shape, what in _UNSUPPORTED if re.search(shape, plain)), "")


def _search(order: SearchRequest, pattern: str, out: BinaryIO) -> None:
    compiled = re.compile(pattern)
    for path in [order.root] if order.root != order.folder else _files(order):
        _search_file(path, compiled, order.max_count, out)


def _files(order: SearchRequest) -> Iterator[str]:
    fits = matcher(order.include) if order.include else None
    base = order.root.rstrip("/") + "/"
    for path in walk(order.root, hidden=order.hidden, ignored=order.ignored):
        if fits is None or fits(path.removeprefix(base)):
            yield path


def _search_file(path: str, compiled: re.Pattern[str], left: int, out: BinaryIO) -> None:
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - the with statement is below
    except OSError:
        return
    hits: list[bytes] = []
    with file:
        encoding = _encoding_by_bom(file)
        if encoding is not None:
            text = file.read().decode(encoding, "replace")
            lines = (line.encode() for line in text.split("\n"))
        else:
            lines = iter(file)
        for number, raw in enumerate(lines, 1):
            if b"\0" in raw:
                return  # binary: matches before do not count
            line = raw.rstrip(b"\n")
            if compiled.search(line.decode("utf-8", "surrogateescape")):
                hits.append(b"%s\0%d:%s\n" % (fsencode(path), number, line[:MAX_LINE]))
                left -= 1
                if left == 0:
                    break
    out.write(b"".join(hits))
    out.flush()


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
