"""Kinds of files by their first bytes, and complete checks of images and PDF documents.

A provider refuses every later request of a session with a broken image. So the type is taken
from the content, never from the name, and the structure is read to its end.
"""

import struct
import zlib
from collections.abc import Callable
from pathlib import PurePath

from agent.records.errors import ToolError
from agent.records.frozen import frozen

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"BM", "BMP image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"(\xb5/\xfd", "zstd data"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"MZ", "Windows program"),
    (b"\0asm", "WebAssembly module"),
    (b"OggS", "Ogg audio"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
)
_MEDIA_ENDINGS = {
    ".png": "PNG image", ".jpg": "JPEG image", ".jpeg": "JPEG image", ".gif": "GIF image",
    ".webp": "WebP image", ".pdf": "PDF document",
}  # fmt: skip


def describe_kind(sample: bytes) -> str:
    """Return the kind of the data that begins with *sample*, in words."""
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "WebP image"
    if sample[4:8] == b"ftyp":
        return "MP4 or HEIF media"
    return next((kind for magic, kind in _SIGNATURES if sample.startswith(magic)), "unknown kind")


def is_binary_kind(sample: bytes) -> bool:
    """Return whether *sample* begins with the signature of a binary format."""
    return any(
        sample.startswith(magic) and not magic.isascii() for magic, _ in _SIGNATURES
    ) or sample.startswith((b"PK\x03\x04", b"wOFF", b"wOF2", b"%PDF-"))


def refuse_misnamed(shown: str, sample: bytes, size: int) -> None:
    """Raise ``ToolError`` for a file with the extension of an image or PDF that is none."""
    named = _MEDIA_ENDINGS.get(PurePath(shown).suffix.lower())
    if named is not None:
        kind = describe_kind(sample)
        content = "empty" if not sample else f"not one ({kind}, {size:,} bytes)"
        raise ToolError(f"{shown} is named like a {named}, but its content is {content}.")


MAX_IMAGE = 3_750_000
"""Bytes of an image: 5 MB as base64, the limit of Anthropic."""

MAX_PIXELS = 8_000
"""Width or height of an image, the limit of Anthropic."""

MAX_DOCUMENT = 10 * 1024 * 1024
"""Bytes of a PDF: a whole request to Anthropic has at most 32 MB, and sessions keep the file."""

_BROKEN = "it is damaged or cut off"


class BrokenMedia(ValueError):
    """The content does not match its first bytes; ``str()`` says why."""


@frozen
class Media:
    """A checked image or document. *width* and *height* are in pixels, 0 for a document."""

    mime: str
    name: str
    width: int = 0
    height: int = 0

    @property
    def is_image(self) -> bool:
        return self.mime.startswith("image/")


def media_type(sample: bytes) -> tuple[str, str] | None:
    """Return ``(mime, name)`` by the first bytes of a file, None if models cannot get it."""
    if sample.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", "PNG image"
    if sample.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", "JPEG image"
    if sample.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif", "GIF image"
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "image/webp", "WebP image"
    if sample.startswith(b"%PDF-"):
        return "application/pdf", "PDF document"
    return None


def examine(data: bytes) -> Media:
    """Check the whole file *data*. Raises ``BrokenMedia``."""
    found = media_type(data)
    if found is None:
        raise BrokenMedia("it is not an image or document that models accept")
    mime, name = found
    try:
        width, height = _SIZES[mime](data)
    except (struct.error, IndexError):
        raise BrokenMedia(_BROKEN) from None
    if mime.startswith("image/") and not (width and height):
        raise BrokenMedia("it has no size")
    return Media(mime, name, width, height)


def _png(data: bytes) -> tuple[int, int]:
    """Return the size; check all chunks up to IEND, and the checksums of those that are needed:
    viewers skip damaged ancillary ones (in lower case), such as comments."""
    size, place, pixels = (0, 0), 8, False
    while True:
        length, kind = struct.unpack_from(">I4s", data, place)
        end = place + 12 + length
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        critical = kind[:1].isupper()
        if critical and zlib.crc32(memoryview(data)[place + 4 : end - 4]) != checksum:
            raise BrokenMedia(_BROKEN)
        if place == 8:
            if kind != b"IHDR":
                raise BrokenMedia(_BROKEN)
            size = struct.unpack_from(">II", data, place + 8)
        pixels = pixels or kind == b"IDAT"
        if kind == b"IEND":
            break
        place = end
    if not pixels:
        raise BrokenMedia("it contains no pixels")
    return size


_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})


def _jpeg(data: bytes) -> tuple[int, int]:
    """Return the size in the frame header; a scan and the end marker must follow."""
    place = 2
    size = (0, 0)
    while True:
        if data[place] != 0xFF:
            raise BrokenMedia(_BROKEN)
        kind = data[place + 1]
        if kind == 0xFF:
            place += 1
        elif kind in _JPEG_WITHOUT_LENGTH:
            place += 2
        elif kind == 0xDA:
            break
        else:
            (length,) = struct.unpack_from(">H", data, place + 2)
            if kind in _JPEG_FRAMES:
                height, width = struct.unpack_from(">HH", data, place + 5)
                size = (width, height)
            place += 2 + length
    if data.rfind(b"\xff\xd9") < place:
        raise BrokenMedia(_BROKEN)
    return size


def _gif(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    if b"\x2c" not in data[13:] or not data.rstrip(b"\0").endswith(b"\x3b"):
        raise BrokenMedia(_BROKEN)
    return width, height


def _webp(data: bytes) -> tuple[int, int]:
    (length,) = struct.unpack_from("<I", data, 4)
    if len(data) < length + 8:
        raise BrokenMedia(_BROKEN)
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        return width, height
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise BrokenMedia(_BROKEN)


def _pdf(data: bytes) -> tuple[int, int]:
    # Programs can write spaces or a signature after the marker, usually within 1 KB.
    if b"%%EOF" not in data[-1024:]:
        raise BrokenMedia(_BROKEN)
    if b"/Encrypt" in data[-4096:]:
        raise BrokenMedia("it is encrypted")
    return 0, 0


_SIZES: dict[str, Callable[[bytes], tuple[int, int]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "application/pdf": _pdf,
}
