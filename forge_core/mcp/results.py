"""From the result of a server's tool, as in the protocol, to what the model reads. All of it is untrusted."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.sanitize import safe_line
from forge_core.tools.base import ToolResult

MAX_FILE_BYTES = 32_000_000
"""Of one image, sound or other file in a result."""

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


@dataclass(frozen=True, slots=True)
class ResultReader:
    """Reads results of one server."""

    keep_file: KeepFile

    def read(self, result: Mapping[str, Any], warning: str = "") -> ToolResult:
        """Return the result for the model: its texts, and lines that name everything else. With a `warning`
        about it, that is the last line."""
        blocks = result.get("content")
        lines = [*self._texts(blocks if isinstance(blocks, list) else [])]
        structured = result.get("structuredContent")
        has_text = any(isinstance(one, dict) and one.get("type") == "text" for one in blocks or ())
        if structured is not None and not has_text:
            lines.append(json.dumps(structured, ensure_ascii=False, indent=1))
        if warning:
            lines.append(f"[{warning}]")
        text = "\n".join(lines)
        if result.get("isError"):
            return ToolResult(False, error=text or "the tool failed without saying why")
        return ToolResult(True, output=text or "(no output)", summary=_summary(text))

    def contents(self, result: Mapping[str, Any]) -> str:
        """Return the contents of a resource as one text."""
        found = result.get("contents")
        return "\n".join(self._resource(one) for one in found or () if isinstance(one, dict))

    def _texts(self, blocks: list[Any]) -> Iterator[str]:
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
        """Keep what is no text in a file, and return a line that names it."""
        kind = safe_line(mime_type) or "unknown type"
        if len(data) * 3 // 4 > MAX_FILE_BYTES:
            return f"[{what}, {kind}: over {MAX_FILE_BYTES // 1_000_000} MB, left out]"
        try:
            content = base64.b64decode(data, validate=False)
        except (binascii.Error, ValueError):
            return f"[{what}, {kind}: cannot be decoded]"
        path = self.keep_file(content, _ENDINGS.get(mime_type.partition(";")[0].strip().lower(), ".bin"))
        if path is None:
            return f"[{what}, {kind}, {len(content):,} bytes: could not be saved]"
        return f"[{what}, {kind}, {len(content):,} bytes, saved as {path}]"


def _link(uri: str, block: Mapping[str, Any]) -> str:
    parts = [safe_line(str(block.get(key, ""))) for key in ("title", "name", "description")]
    about = next(filter(None, parts), "")
    return f"[resource {safe_line(uri)}{': ' + about if about else ''}]"


def _summary(text: str) -> str:
    rows = text.count("\n") + 1
    return f"{rows:,} lines" if rows > 1 else ""
