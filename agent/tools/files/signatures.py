"""What a file is by its first bytes: media are never taken for what their name says."""

from pathlib import PurePath

from agent.records.errors import ToolError

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


def describe(sample: bytes) -> str:
    """A word for the kind of the data that begins with *sample*."""
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "WebP image"
    if sample[4:8] == b"ftyp":
        return "MP4 or HEIF media"
    return next((kind for magic, kind in _SIGNATURES if sample.startswith(magic)), "unknown kind")


def is_binary_kind(sample: bytes) -> bool:
    """Whether *sample* begins like data of a known kind, by a mark that no text begins with."""
    return any(
        sample.startswith(magic) and not magic.isascii() for magic, _ in _SIGNATURES
    ) or sample.startswith((b"PK\x03\x04", b"wOFF", b"wOF2", b"%PDF-"))


def refuse_misnamed(shown: str, sample: bytes, size: int) -> None:
    """Raise ``ToolError`` for a file that has the name of an image or PDF, but is none."""
    named = _MEDIA_ENDINGS.get(PurePath(shown).suffix.lower())
    if named is not None:
        kind = describe(sample)
        content = "empty" if not sample else f"not one ({kind}, {size:,} bytes)"
        raise ToolError(f"{shown} is named like a {named}, but its content is {content}.")
