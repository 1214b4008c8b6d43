"""Small images of every kind, with real headers. Only the PNG can be decoded as well."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 3, height: int = 2, *, extra: int = 0) -> bytes:
    """Return a grey PNG; `extra` bytes are added in a chunk that is ignored."""
    rows = (
        b"".join(b"\0" + bytes([y % 256]) * width for y in range(height))
        if width * height < 1_000_000
        else b""
    )
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        *([(b"teSt", bytes(extra))] if extra else []),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def jpeg(width: int = 5, height: int = 4, *, frame: int = 0xC0) -> bytes:
    """Return the beginning of a JPEG with an EXIF segment whose thumbnail has dimensions of its own."""
    thumbnail = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 99, 98) + bytes(10)
    exif = b"Exif\0\0" + thumbnail
    dimensions = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    segments = (
        b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0",
        b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif,
        b"\xff\xff\xc4" + struct.pack(">H", 4) + b"\0\0",  # a fill byte, and a table that is no frame
        bytes([0xFF, frame]) + struct.pack(">H", len(dimensions) + 2) + dimensions,
    )
    return b"\xff\xd8" + b"".join(segments) + b"\xff\xd9"


def gif(width: int = 7, height: int = 6, *, version: bytes = b"89a") -> bytes:
    return b"GIF" + version + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int = 9, height: int = 8, *, form: str = "lossy") -> bytes:
    """Return the beginning of a WebP of one of the three forms."""
    if form == "lossy":
        kind, data = b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height)
    elif form == "lossless":
        kind, data = b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        kind, data = b"VP8X", b"\x10\0\0\0" + sides
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
