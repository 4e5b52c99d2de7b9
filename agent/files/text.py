"""Text of a file and how it is written on disk: encoding, BOM, line endings.

Decoding is faithful: ``TextFile.encode(text)`` gives back every byte of what was not
changed, whatever the encoding turned out to be (spec 3, E3).
"""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

Newline = Literal["\n", "\r\n", "\r"]

SAMPLE = 64 * 1024
"""Bytes that are looked at when the encoding is guessed."""

WINDOW = SAMPLE // 2
"""Bytes to each side of a byte that did not decode."""

FEW = 40
"""Bytes beyond ASCII below which the letters of a text do not tell its encoding."""

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_ASCII = bytes(range(32, 127)) + b"\t\r\n"

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec with its error handler; *bom* is what precedes the text (often nothing)."""

    name: str = "utf-8"
    bom: bytes = b""
    errors: Literal["strict", "surrogateescape", "surrogatepass"] = "strict"


@dataclass(frozen=True, slots=True)
class TextFile:
    """The decoded *text* (BOM off, line endings as on disk) and how to write it back.

    *newline* is the commonest ending in the file (``"\\n"`` if it has no line break).
    """

    text: str
    encoding: Encoding
    newline: Newline

    def encode(self, text: str) -> bytes:
        """*text* as bytes in the file's encoding, BOM first. Raises ``UnicodeEncodeError``."""
        body = text.removeprefix("\ufeff") if self.encoding.bom else text
        return self.encoding.bom + body.encode(self.encoding.name, self.encoding.errors)

    def with_newlines(self, text: str) -> str:
        """*text* with every line ending replaced by the file's own."""
        plain = text.replace("\r\n", "\n")
        return plain if self.newline == "\n" else plain.replace("\n", self.newline)


def newline_of(text: str) -> Newline:
    """The commonest line ending of *text*; a lone CR counts only where no LF is."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf == lf == 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if crlf > lf else "\n"


def is_binary(sample: bytes) -> bool:
    """Whether the first bytes of a file are not text: a NUL, unless a BOM explains it."""
    if any(sample.startswith(bom) for bom, _ in _BOMS) or _unmarked_utf16(sample):
        return False
    return b"\0" in sample


def _unmarked_utf16(sample: bytes) -> str:
    """The codec of UTF-16 text without its mark, as some Windows programs write it, else "".

    Known by its letters: in mostly Latin text every second byte is NUL, and no other is.
    """
    even = sample[: len(sample) // 2 * 2]
    pairs = len(even) // 2
    for name, zeros, others in (
        ("utf-16-le", even[1::2], even[::2]),
        ("utf-16-be", even[::2], even[1::2]),
    ):
        if pairs >= 4 and zeros.count(0) > pairs * 0.7 and not others.count(0):
            text = even.decode(name, "replace")
            if not _CONTROL.search(text):
                return name
    return ""


def detect(sample: bytes, *, complete: bool) -> Encoding:
    """The encoding of text that begins with *sample*.

    *complete* says that the sample is the whole file; else its last character may be cut.
    """
    for bom, name in _BOMS:
        if sample.startswith(bom):
            # Windows lets half a pair stand in a file name or a log: it must not cost the rest.
            return Encoding(name, bom, "strict" if name == "utf-8" else "surrogatepass")
    if b"\0" in sample and (name := _unmarked_utf16(sample)):
        return Encoding(name, errors="surrogatepass")
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        decoder.decode(sample, final=complete)
    except UnicodeDecodeError:
        return _legacy(sample)
    return Encoding()


def look_again(failed: Encoding, window: bytes) -> Encoding:
    """The encoding to try after *failed* met a byte that it has no place for.

    *window* is what stands around that byte, ``WINDOW`` bytes to each side: a long file may
    begin in plain ASCII. Ends with Latin-1, which takes any bytes.
    """
    if failed.name == "utf-8" and failed.errors == "strict":
        legacy = _legacy(window)
        return Encoding("utf-8", failed.bom, "surrogateescape") if failed.bom else legacy
    return Encoding("latin-1")


def _legacy(sample: bytes) -> Encoding:
    """The encoding of text that is not valid UTF-8."""
    if _mostly_utf8(sample):
        return Encoding("utf-8", errors="surrogateescape")
    if name := _told_by_runs(sample):
        return Encoding(name)
    # Slow to import, and needed for a few old files only.
    from charset_normalizer import from_bytes  # noqa: PLC0415 - kept off the usual path

    best = from_bytes(sample).best()
    if best is None:
        return Encoding("latin-1")
    try:
        codec = codecs.lookup(best.encoding)
    except LookupError:
        return Encoding("latin-1")
    stateful = codec.name.startswith(("utf", "iso2022", "hz"))
    if stateful or codec.decode(_ASCII)[0] != _ASCII.decode("ascii"):
        return Encoding("latin-1")
    return Encoding(codec.name)


def _told_by_runs(sample: bytes) -> str:
    """The codec of text with too few letters for statistics, "" where there are enough.

    A letter beyond ASCII stands alone in Western words; Chinese ones come in pairs of bytes, and
    short Chinese texts are written in GB 2312's rows (first byte from B0, both above A0).
    """
    runs = _BEYOND_ASCII.findall(sample[: -1 if len(sample) == SAMPLE else None])
    if sum(len(run) for run in runs) > FEW:
        return ""
    if sum(len(run) == 1 for run in runs) * 2 > len(runs):
        codec = "cp1252"
    elif all(len(run) % 2 == 0 and min(run) > 0xA0 and min(run[::2]) >= 0xB0 for run in runs):
        codec = "gb18030"
    else:
        return ""
    try:
        sample.decode(codec)
    except UnicodeDecodeError:
        return ""
    return codec


def _mostly_utf8(sample: bytes) -> bool:
    """Whether a few stray bytes sit in what is UTF-8 otherwise."""
    text = sample.decode("utf-8", "surrogateescape")
    stray = sum(1 for char in text if "\udc80" <= char <= "\udcff")
    good = sum(1 for char in text if char > "\x7f") - stray
    return good > stray


def decode(data: bytes) -> TextFile:
    """The text of a whole file. Never fails: Latin-1 takes any bytes."""
    encoding = detect(data[:SAMPLE], complete=len(data) <= SAMPLE)
    while True:
        body = data.removeprefix(encoding.bom) if encoding.bom else data
        try:
            text = body.decode(encoding.name, encoding.errors)
            if encoding.name == "utf-8" or text.encode(encoding.name, encoding.errors) == body:
                return TextFile(text, encoding, newline_of(text))
            at = 0
        except UnicodeError as error:
            at = error.start if isinstance(error, UnicodeDecodeError) else 0
        encoding = look_again(encoding, window(data, at + len(encoding.bom)))


def window(data: bytes, at: int) -> bytes:
    """What ``look_again`` is to see of *data* around index *at*."""
    return data[max(0, at - WINDOW) : at + WINDOW]
