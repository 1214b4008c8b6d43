"""How texts and content parts name an image, whose bytes are in an `ImageStore`.

A text of the user names it as `[Image shot.png 1024×768 PNG 210 KB #0123456789abcdef]`: so an image takes
part in all that is done with texts. In a message for a model it is a content part whose URL has a scheme of
its own; the bytes take the place of the URL when a request is sent (`forge_core.llm.image_data`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from forge_core.images.image_header import ImageHeader, ImageKind, size_text
from forge_core.sanitize import safe_line

DIGEST_CHARS = 16
"""Hexadecimal digits of an image's sha256 that name it."""
UNKNOWN_TOKENS = 1_000
"""What a picture or file of unknown size counts as."""
_MAX_NAME_CHARS = 60
_SCHEME = "forge-image:"
_NOT_IN_NAMES = re.compile(r"[\[\]#]+")
_TEXT = re.compile(
    rf"\[Image (?:(?P<name>[^\[\]#\n]{{1,{_MAX_NAME_CHARS}}}) )?(?P<sides>\d{{1,5}}×\d{{1,5}}) "
    rf"(?P<kind>PNG|JPEG|GIF|WebP) (?P<size>[\d.]+ [KM]?B) #(?P<digest>[0-9a-f]{{{DIGEST_CHARS}}})\]"
)
_URL = re.compile(rf"{_SCHEME}(?P<digest>[0-9a-f]{{{DIGEST_CHARS}}})\.(?P<kind>[a-z]+)\?(?P<query>.*)")
_KINDS = {kind.label: kind for kind in ImageKind}
_LONGEST_SIDE, _PIXELS_PER_TOKEN, _MOST_TOKENS = 1_568, 750, 1_600
"""https://docs.claude.com/en/docs/build-with-claude/vision: larger images are scaled down first."""


@dataclass(frozen=True, slots=True)
class WrittenImage:
    """An image that a text names."""

    digest: str
    label: str
    """What is shown of it: "shot.png 1024×768 PNG 210 KB", the name only if it has one."""
    name: str
    kind: ImageKind


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image in an `ImageStore`."""

    digest: str
    header: ImageHeader
    size_bytes: int
    name: str = ""
    """The name of the file that it comes from; empty for one from the clipboard."""

    @property
    def details(self) -> str:
        """The dimensions, the kind and the size, for the user."""
        header = self.header
        return f"{header.width}×{header.height} {header.kind.label} {size_text(self.size_bytes)}"

    @property
    def text(self) -> str:
        """How a text names it."""
        return f"[Image {f'{self.name} ' if self.name else ''}{self.details} #{self.digest}]"

    @property
    def part(self) -> dict[str, Any]:
        """The content part of a message."""
        header = self.header
        query = f"width={header.width}&height={header.height}&bytes={self.size_bytes}&name={quote(self.name)}"
        url = f"{_SCHEME}{self.digest}.{header.kind.value}?{query}"
        return {"type": "image_url", "image_url": {"url": url}}

    @property
    def tokens(self) -> int:
        """About how many tokens a model counts for it: its pixels by 750, at most 1,600. An image
        whose longer side has more than 1,568 pixels is scaled down to that."""
        width, height = self.header.width, self.header.height
        scale = min(1.0, _LONGEST_SIDE / max(width, height))
        return min(_MOST_TOKENS, math.ceil(width * scale * height * scale / _PIXELS_PER_TOKEN))


def safe_name(name: str) -> str:
    """Return a file's name as a text may name an image."""
    plain = _NOT_IN_NAMES.sub("_", " ".join(safe_line(name).split()))
    return plain if len(plain) <= _MAX_NAME_CHARS else f"…{plain[1 - _MAX_NAME_CHARS :]}"


def written_images(text: str) -> list[WrittenImage]:
    """Return the images that a text names, each once, in order."""
    if "[Image " not in text:
        return []
    found = {match["digest"]: _written(match) for match in _TEXT.finditer(text)}
    return [*found.values()]


def written_image(text: str) -> WrittenImage | None:
    """Return the image that a text names and that is all of it; None if there is none."""
    match = _TEXT.fullmatch(text)
    return None if match is None else _written(match)


def replace_written(text: str, replacement: Callable[[str], str]) -> str:
    """Return a text with something else in place of each image that it names."""
    return _TEXT.sub(lambda match: replacement(match[0]), text) if "[Image " in text else text


def reference_of(part: Mapping[str, Any]) -> ImageReference | None:
    """Return the image of a content part; None if it is a part of another kind, or damaged."""
    source = part.get("image_url")
    url = source.get("url") if isinstance(source, Mapping) else None
    match = _URL.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        return None
    values = parse_qs(match["query"])
    try:
        width, height, size = (int(values[name][0]) for name in ("width", "height", "bytes"))
        header = ImageHeader(ImageKind(match["kind"]), max(width, 1), max(height, 1))
    except (KeyError, ValueError):
        return None
    return ImageReference(match["digest"], header, size, safe_name(values.get("name", [""])[0]))


def references_in(content: object) -> list[ImageReference]:
    """Return the images in a message's content."""
    parts = content if isinstance(content, list) else []
    found = (reference_of(part) for part in parts if isinstance(part, Mapping))
    return [reference for reference in found if reference is not None]


def media_tokens(content: object) -> int:
    """Return about how many tokens the pictures and files in a message's content have."""
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    media = [part for part in parts if isinstance(part, Mapping) and part.get("type") != "text"]
    known = [reference for part in media if (reference := reference_of(part)) is not None]
    return sum(one.tokens for one in known) + UNKNOWN_TOKENS * (len(media) - len(known))


def part_name(part: Mapping[str, Any]) -> str:
    """Return what a content part that is no text is, for a note that takes its place."""
    reference = reference_of(part)
    if reference is None:
        return "a picture or file"
    return f"the image {f'{reference.name} ' if reference.name else ''}({reference.details})"


def _written(match: re.Match[str]) -> WrittenImage:
    name = match["name"] or ""
    details = f"{match['sides']} {match['kind']} {match['size']}"
    return WrittenImage(match["digest"], f"{name} {details}".strip(), name, _KINDS[match["kind"]])
