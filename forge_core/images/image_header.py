"""The kind and the dimensions of an image, read from its first bytes. Nothing is decoded.

The limits are those of Anthropic, the strictest of the large providers
(https://docs.claude.com/en/docs/build-with-claude/vision): 5 MB per image, counted in its base64 text, and
8,000 pixels per side. One message has at most 20 images: those of a request with more may have only 2,000
pixels per side.
"""

from __future__ import annotations

import shlex
import struct
from dataclasses import dataclass
from enum import StrEnum

from forge_core.errors import ImageError

MAX_BYTES = 5 * 1024 * 1024 * 3 // 4
"""Of a file; its base64 text then has 5 MB."""
MAX_SIDE = 8_000
"""Pixels."""
MAX_IMAGES = 20
"""In one message."""
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""Ends of the names of files that probably are images. What they are is decided by their first bytes."""
HEAD_BYTES = 12
"""As many say of which kind an image is."""

_PNG, _WEBP_LOSSY = b"\x89PNG\r\n\x1a\n", b"\x9d\x01\x2a"
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the segments that have the dimensions: SOF0 to SOF15 (ITU-T T.81, table B.1)."""
_JPEG_MARKERS = 20_000
"""As many are looked at: a colour profile may have 255 segments, and cameras write a few kilobytes of fill
bytes."""
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


class ImageKind(StrEnum):
    """The kinds of images that models take."""

    PNG = "png"
    JPEG = "jpeg"
    GIF = "gif"
    WEBP = "webp"

    @property
    def label(self) -> str:
        return "WebP" if self is ImageKind.WEBP else self.name

    @property
    def media_type(self) -> str:
        return f"image/{self.value}"


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """What the first bytes of an image say."""

    kind: ImageKind
    width: int
    """In pixels, like the height."""
    height: int


def kind_of(data: bytes) -> ImageKind | None:
    """Return the kind of an image by its first bytes; None if they are of another file."""
    if data.startswith(_PNG):
        return ImageKind.PNG
    if data.startswith(b"\xff\xd8\xff"):
        return ImageKind.JPEG
    if data.startswith((b"GIF87a", b"GIF89a")):
        return ImageKind.GIF
    return ImageKind.WEBP if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def checked_header(data: bytes, name: str, size_bytes: int | None = None) -> ImageHeader:
    """Return the header of an image that may be sent; `data` may be its beginning if `size_bytes` is given.
    `name` is that of its file, empty if it comes from none.

    Raises:
        ImageError: it is of another kind, damaged, or too large; with what to do.
    """
    kind, subject = kind_of(data), repr(name) if name else "The image"
    if kind is None:
        raise ImageError(f"{subject} is not an image that models take: PNG, JPEG, GIF or WebP. Convert it.")
    try:
        header = ImageHeader(kind, *_DIMENSIONS[kind](data))
    except (struct.error, IndexError, ValueError) as error:
        raise ImageError(f"{subject} is a damaged {kind.label} file. Save it again.") from error
    advice = "Copy a smaller one."
    if name:
        advice = f"Make it smaller, for example: magick {shlex.quote(name)} -resize 50% smaller.{kind.value}"
    if (size_bytes or len(data)) > MAX_BYTES:
        size, most = size_text(size_bytes or len(data)), size_text(MAX_BYTES)
        raise ImageError(f"{subject} has {size}, an image may have {most}. {advice}")
    if max(header.width, header.height) > MAX_SIDE:
        sides = f"{header.width}×{header.height} pixels"
        raise ImageError(f"{subject} has {sides}, a side may have {MAX_SIDE}. {advice}")
    return header


def size_text(size_bytes: int) -> str:
    """Return a number of bytes, for the user."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    if size_bytes < 999_500:
        return f"{size_bytes / 1_000:.0f} KB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def _png(data: bytes) -> tuple[int, int]:
    kind, width, height = struct.unpack_from(">4sII", data, 12)
    return _positive(width, height) if kind == b"IHDR" else _damaged()


def _gif(data: bytes) -> tuple[int, int]:
    return _positive(*struct.unpack_from("<HH", data, 6))


def _jpeg(data: bytes) -> tuple[int, int]:
    """Return the dimensions of the first frame: skip the segments before it."""
    at = 2
    for _ in range(_JPEG_MARKERS):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _JPEG_WITHOUT_LENGTH:
            at += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return _positive(width, height)
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + max(length, 2)
    return _damaged()


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":  # extended: one less than each side of the canvas, in 24 bits
            fields = int.from_bytes(data[24:30], "little") if len(data) >= 30 else _damaged()[0]
            return (fields & 0xFFFFFF) + 1, (fields >> 24) + 1
        case b"VP8L":  # lossless: one less than each side, in 14 bits
            signature, fields = struct.unpack_from("<BI", data, 20)
            return ((fields & 0x3FFF) + 1, (fields >> 14 & 0x3FFF) + 1) if signature == 0x2F else _damaged()
        case b"VP8 ":  # lossy: each side in 14 bits, below two bits for its scale
            start, width, height = struct.unpack_from("<3sHH", data, 23)
            return _positive(width & 0x3FFF, height & 0x3FFF) if start == _WEBP_LOSSY else _damaged()
    return _damaged()


def _positive(width: int, height: int) -> tuple[int, int]:
    return (width, height) if width > 0 and height > 0 else _damaged()


def _damaged() -> tuple[int, int]:
    raise ValueError("no dimensions")


_DIMENSIONS = {ImageKind.PNG: _png, ImageKind.JPEG: _jpeg, ImageKind.GIF: _gif, ImageKind.WEBP: _webp}
