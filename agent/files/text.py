"""Text of a file and how it is written on disk: encoding, BOM, line endings.

Decoding is faithful: ``TextFile.encode(text)`` returns every byte of unchanged text,
whatever encoding was detected.
"""

import codecs
import re
from typing import Literal

from agent.records.frozen import frozen

Newline = Literal["\n", "\r\n", "\r"]

SAMPLE = 64 * 1024
"""Bytes that are looked at when the encoding is guessed."""

WINDOW = SAMPLE // 2
"""Bytes to each side of a byte that did not decode."""

FEW = 40
"""Bytes beyond ASCII below which the letters of a text do not identify its encoding."""

SYLLABLES = 8
"""Pairs from which on hardly a Chinese text happens to stay in the rows of Korean syllables: one
of a thousand of that length, and fewer the longer it is (measured on the messages of Vim)."""

LEAST_KANA = 3
"""Pairs in the rows of kana that are no chance; a quarter of all must be in them, too."""

_HANGUL = bytes(range(0xB0, 0xC9))
"""First bytes of Korean syllables in EUC-KR. In GB 2312 they begin about half of the common
characters, those read A to R."""

_KANA = b"\xa4\xa5"
_SYMBOLS = b"\xa1\xa2\xa3"
"""First bytes of punctuation and of wide ASCII, whichever of the three it is."""

_WESTERN = "€…ŠŒŽ‘’“”•–—™šœž\xa0¡£§©«®°±²³µ·º»¼½¾¿".encode("cp1252") + bytes(range(0xC0, 0x100))
"""Letters and signs that texts in Western languages have beyond ASCII, as cp1252 has them."""

_STRICTER = {"gb18030": "gb2312"}
"""Stricter encodings that short text must decode in to count as the broader one."""

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


@frozen
class Encoding:
    """A codec with its error handler."""

    name: str = "utf-8"
    bom: bytes = b""
    """The byte order mark before the text; often empty."""
    errors: Literal["strict", "surrogateescape", "surrogatepass"] = "strict"


@frozen
class TextFile:
    """A decoded text file, with what is needed to write it back."""

    text: str
    """Without the byte order mark, with the line endings that it has on disk."""
    encoding: Encoding
    newline: Newline
    """The most common line ending in the file (LF if it has no line break)."""

    def encode(self, text: str) -> bytes:
        """*text* as bytes in the file's encoding, BOM first. Raises ``UnicodeEncodeError``."""
        body = text.removeprefix("\ufeff") if self.encoding.bom else text
        return self.encoding.bom + body.encode(self.encoding.name, self.encoding.errors)

    def with_newlines(self, text: str) -> str:
        """*text* with every line ending replaced by the file's own."""
        plain = text.replace("\r\n", "\n")
        return plain if self.newline == "\n" else plain.replace("\n", self.newline)


def newline_of(text: str) -> Newline:
    """The most common line ending of *text*; a lone CR counts only where no LF is."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf == lf == 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if crlf > lf else "\n"


def is_binary(sample: bytes) -> bool:
    """Return whether the first bytes of a file are not text: a NUL, unless a BOM explains it."""
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

    *complete* says that the sample is the whole file; else its last character can be cut.
    """
    for bom, name in _BOMS:
        if sample.startswith(bom):
            # Windows allows half a surrogate pair in a file name or a log: the rest must stay
            # readable.
            return Encoding(name, bom, "strict" if name == "utf-8" else "surrogatepass")
    if b"\0" in sample and (name := _unmarked_utf16(sample)):
        return Encoding(name, errors="surrogatepass")
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        decoder.decode(sample, final=complete)
    except UnicodeDecodeError:
        return _legacy(sample)
    return Encoding()


def next_encoding(failed: Encoding, window: bytes) -> Encoding:
    """The encoding to try after *failed* met a byte that it has no place for.

    *window* is the text around that byte, ``WINDOW`` bytes to each side: a long file can begin
    in plain ASCII. Ends with Latin-1, which takes any bytes.
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
    from charset_normalizer import from_bytes  # kept off the usual path

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
    """Return the codec that the runs of bytes beyond ASCII identify, "" if they do not."""
    runs = _BEYOND_ASCII.findall(sample[: -1 if len(sample) == SAMPLE else None])
    few = sum(len(run) for run in runs) <= FEW
    paired = all(len(run) % 2 == 0 and min(run) > 0xA0 for run in runs)
    codec = _of_pairs(b"".join(run[::2] for run in runs), few=few) if paired else ""
    alone = b"".join(run for run in runs if len(run) == 1)
    # A letter beyond ASCII is isolated in Western words, and so are signs, of which one is rare.
    if not codec and few and len(alone) * 2 > len(runs):
        western = len(alone) - len(alone.translate(None, _WESTERN))
        codec = "cp1252" if western * 2 >= len(alone) - 1 else ""
    try:
        sample.decode(_STRICTER.get(codec, codec or "ascii"))
    except UnicodeDecodeError:
        return ""
    return codec


def _of_pairs(leads: bytes, *, few: bool) -> str:
    """The codec of text in pairs of bytes, each above A0 (*leads* are the first ones); "" where
    they do not identify it. Japanese is known by its kana, Korean by the rows that it stays in, and
    a *few* other pairs are Chinese."""
    letters = leads.translate(None, _SYMBOLS)
    kana = len(letters) - len(letters.translate(None, _KANA))
    if kana >= LEAST_KANA and kana * 4 >= len(letters):
        return "euc_jp"
    if len(letters) >= SYLLABLES and len(letters.translate(None, _HANGUL)) * 20 <= len(letters):
        return "cp949"
    return "gb18030" if few and letters and min(letters) >= 0xB0 else ""


def _mostly_utf8(sample: bytes) -> bool:
    """Return whether the text is UTF-8 except for a few stray bytes."""
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
        encoding = next_encoding(encoding, window(data, at + len(encoding.bom)))


def window(data: bytes, at: int) -> bytes:
    """Return the part of *data* around index *at* that ``next_encoding`` needs."""
    return data[max(0, at - WINDOW) : at + WINDOW]
