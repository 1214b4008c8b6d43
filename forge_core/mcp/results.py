"""From the result of a server's tool, as in the protocol, to what the model reads. All of it is untrusted."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forge_core.errors import ImageError
from forge_core.images.image_header import MAX_IMAGES
from forge_core.images.image_reference import ImageReference
from forge_core.sanitize import safe_line
from forge_core.tools.base import ToolResult

MAX_FILE_BYTES = 32_000_000
"""Of one image, sound or other file in a result."""

_MAX_FILES = 20
"""Of one result."""
_MAX_INDENTED = 10_000
"""Characters of structured output with a line for each value: with many levels, blanks would fill memory."""
_ENDINGS = {
    "application/gzip": ".gz",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
    "text/html": ".html",
    "text/plain": ".txt",
}
KeepFile = Callable[[bytes, str], Path | None]
"""Writes bytes to a new private file whose name has this ending, and returns its path; None if that fails."""


KeepImage = Callable[[bytes], ImageReference]
"""Stores an image for the model. Raises ImageError for one that may not be sent."""


@dataclass(frozen=True, slots=True)
class ServerText:
    """What a server has sent, as the model reads it."""

    text: str
    images: tuple[ImageReference, ...] = ()
    """Images that follow the text, which names them in this order."""


@dataclass(slots=True)
class ResultReader:
    """Reads one result of a server: its texts, and lines that name everything else."""

    keep_file: KeepFile
    keep_image: KeepImage | None = None
    """None: the model takes no images, so they are kept as files."""
    _images: list[ImageReference] = field(default_factory=list)
    _files: int = 0

    def read(self, result: Mapping[str, Any], warning: str = "") -> ToolResult:
        """Return the result of a tool. With a `warning` about it, that is the last line."""
        blocks = result.get("content")
        lines = [*self._texts(blocks if isinstance(blocks, list) else [])]
        structured = result.get("structuredContent")
        has_text = any(isinstance(one, dict) and one.get("type") == "text" for one in blocks or ())
        if structured is not None and not has_text:
            lines.append(_json(structured))
        if warning:
            lines.append(f"[{warning}]")
        text, images = "\n".join(lines), tuple(self._images)
        if result.get("isError"):
            return ToolResult(False, error=text or "the tool failed without saying why", images=images)
        return ToolResult(True, output=text or "(no output)", summary=_summary(text), images=images)

    def contents(self, result: Mapping[str, Any]) -> ServerText:
        """Return the contents of a resource."""
        found = result.get("contents")
        lines = [self._resource(one) for one in found or () if isinstance(one, dict)]
        return ServerText("\n".join(lines), tuple(self._images))

    def messages(self, result: Mapping[str, Any]) -> ServerText:
        """Return the messages of a prompt; each begins with its role if there are several."""
        found = result.get("messages")
        messages = [one for one in found or () if isinstance(one, dict)]
        texts = []
        for message in messages:
            content = message.get("content")
            text = "\n".join(self._texts(content if isinstance(content, list) else [content]))
            role = "assistant" if message.get("role") == "assistant" else "user"
            texts.append(f"{role}:\n{text}" if len(messages) > 1 else text)
        return ServerText("\n\n".join(texts), tuple(self._images))

    def _texts(self, blocks: Iterable[Any]) -> Iterator[str]:
        for block in blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    yield text
                case {"type": "image" | "audio" as kind, "data": str(data)}:
                    yield self._file(kind, data, str(block.get("mimeType", "")))
                case {"type": "resource_link", "uri": str(uri)}:
                    yield _link(uri, block)
                case {"type": "resource", "resource": dict(resource)}:
                    yield self._resource(resource)
                case dict():
                    yield f"[a block of the type {safe_line(str(block.get('type')))!r}, which is not shown]"

    def _resource(self, resource: Mapping[str, Any]) -> str:
        uri = safe_line(str(resource.get("uri", "")))
        if isinstance(text := resource.get("text"), str):
            return f"[resource {uri}]\n{text}"
        if isinstance(blob := resource.get("blob"), str):
            return self._file(f"resource {uri}", blob, str(resource.get("mimeType", "")))
        return f"[resource {uri}: empty]"

    def _file(self, what: str, data: str, mime_type: str) -> str:
        """Keep what is no text, and return a line that names it."""
        kind = safe_line(mime_type) or "unknown type"
        if len(data) * 3 // 4 > MAX_FILE_BYTES:
            return f"[{what}, {kind}: over {MAX_FILE_BYTES // 1_000_000} MB, left out]"
        try:
            content = base64.b64decode(data, validate=False)
        except (binascii.Error, ValueError):
            return f"[{what}, {kind}: cannot be decoded]"
        if what == "image" and (image := self._image(content)) is not None:
            return f"[image {len(self._images)}, {image.details}, follows]"
        self._files += 1
        if self._files > _MAX_FILES:
            return f"[{what}, {kind}, {len(content):,} bytes: left out, after {_MAX_FILES} files]"
        path = self.keep_file(content, _ENDINGS.get(mime_type.partition(";")[0].strip().lower(), ".bin"))
        if path is None:
            return f"[{what}, {kind}, {len(content):,} bytes: could not be saved]"
        return f"[{what}, {kind}, {len(content):,} bytes, saved as {path}]"

    def _image(self, content: bytes) -> ImageReference | None:
        """Keep an image for the model; return None for one that cannot be sent."""
        if self.keep_image is None or len(self._images) >= MAX_IMAGES:
            return None
        try:
            image = self.keep_image(content)
        except ImageError:
            return None
        self._images.append(image)
        return image


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=1) if len(text) <= _MAX_INDENTED else text


def _link(uri: str, block: Mapping[str, Any]) -> str:
    parts = [safe_line(str(block.get(key, ""))) for key in ("title", "name", "description")]
    about = next(filter(None, parts), "")
    return f"[resource {safe_line(uri)}{': ' + about if about else ''}]"


def _summary(text: str) -> str:
    rows = text.count("\n") + 1
    return f"{rows:,} lines" if rows > 1 else ""
