"""Small real files of each kind of media, made byte by byte."""

import struct
import zlib


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 3, height: int = 2) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x7f" * width) * height)
    parts = [_chunk(b"IHDR", head), _chunk(b"IDAT", pixels), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def jpeg(width: int = 3, height: int = 2) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\0"
    scan = b"\xff\xda" + struct.pack(">H", 8) + b"\x01\x01\0\0\x3f\0" + b"\x7f\x00"
    return b"\xff\xd8" + app + frame + scan + b"\xff\xd9"


def gif(width: int = 3, height: int = 2) -> bytes:
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    image = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\0"
    return head + image + b"\x3b"


def webp(width: int = 3, height: int = 2) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    body = b"WEBPVP8L" + struct.pack("<I", 6) + b"\x2f" + struct.pack("<I", bits) + b"\0"
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pdf() -> bytes:
    return b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
