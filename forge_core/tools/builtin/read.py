"""The read tool: a file with line numbers."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ImageError, ToolError
from forge_core.events import Subject
from forge_core.images.image_header import kind_of
from forge_core.images.image_reference import ImageReference
from forge_core.permissions.path_info import real_path
from forge_core.private_keys import NO_LINE, hide_private_keys
from forge_core.result import FileDiff
from forge_core.tools.arguments import text_of
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolParameter, ToolResult, ToolUse
from forge_core.tools.editing.notebook import parse_notebook
from forge_core.tools.editing.text import decode, is_binary, replace_bad_bytes, sha256, split_keeping_ends
from forge_core.tools.paths import display_path, file_status, locate, read_bytes

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024
"""Of shown text."""
MAX_LINE_CHARS = 2_000
"""Longer lines continue in the next row, marked with `CONTINUED`."""
CONTINUED = "\u21aa"

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document, a wheel or a jar)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"wOF2", "a font"),
    (b"OggS", "an Ogg media file"),
    (b"ID3", "an MP3 file"),
)


class ReadTool(BaseTool):
    """Shows a text file, and remembers what was shown so that a stale edit can be refused."""

    name = "read"
    claude_names = ("Read", "NotebookRead")
    description = (
        f"Reads a text file and shows it with line numbers: at most {MAX_LINES:,} lines and "
        f"{MAX_BYTES // 1024} KB a call; lines over {MAX_LINE_CHARS:,} characters go on in the next row, "
        f"marked {CONTINUED}. The total number of lines is always given; use offset and limit for the rest. "
        "Use it before you edit a file. Use grep to find something in files, glob to find files, ls to see a "
        "folder. A Jupyter notebook is shown as its cells, with their numbers, ids and outputs. Pictures, "
        "PDFs and other binary files are named, not shown."
    )
    parameters = (
        ToolParameter("file_path", "string", "Path of the file, relative to the workspace or absolute."),
        ToolParameter(
            "offset",
            "integer",
            "First line to show, from 1; negative counts from the end (-20: the last 20 lines). Default 1.",
            required=False,
        ),
        ToolParameter(
            "limit",
            "integer",
            f"Number of lines, 1 to {MAX_LINES}. Default {MAX_LINES}.",
            required=False,
            minimum=1,
            maximum=MAX_LINES,
        ),
    )
    advice = "Don't read whole large files, lock files or generated code with read; use offset and limit."
    category = ToolCategory.FILE
    effect = Effect.READ
    kind = ToolKind.LOOK
    limits_own_output = True
    title = "Read"
    action = "read a file"
    timeout_s = 60.0

    def __init__(self, keep_image: Callable[[bytes, str], ImageReference] | None = None) -> None:
        """With `keep_image`, which stores an image under a name, the result for an image is what names it;
        otherwise images are not read."""
        self._keep_image = keep_image

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        path = locate(params["file_path"], context)
        if context.unsaved is not None and (text := await context.unsaved.unsaved_text(path)) is not None:
            return await asyncio.to_thread(_shown_unsaved, text, path, params, context)
        return await asyncio.to_thread(self._read, path, params, context)

    def _read(self, path: Path, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        data = read_bytes(path, context)
        if self._keep_image is None or kind_of(data) is None:
            return _shown(data, path, params, context)
        try:
            image = self._keep_image(data, path.name)
        except ImageError as error:
            raise ToolError(str(error)) from error
        return ToolResult(True, image.text, summary=image.details)

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "path", "file_path")

    def subject(self, arguments: Mapping[str, Any]) -> Subject:
        path = text_of(arguments, "path", "file_path")
        path = posixpath.normpath(path) if path else ""
        return Subject("read", "file", path, posixpath.basename(path) or path)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(Effect.READ, params["file_path"], (locate(params["file_path"], context),))

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        await asyncio.to_thread(file_status, locate(params["file_path"], context), context)
        return ()


def _shown_unsaved(text: str, path: Path, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
    """Return a file as it is in the user's editor, if the file on disk may be read."""
    read_bytes(path, context)
    shown = _shown(text.encode(errors="replace"), path, params, context)
    output = f"{shown.output}\n[The user has changes in the editor that are not saved: they are shown here.]"
    return replace(shown, output=output, summary=f"{shown.summary}, not saved")


def _shown(data: bytes, path: Path, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
    """Return a text file, or a page of it, with line numbers."""
    name = display_path(path, context)
    _refuse_unreadable(name, data)
    notebook = parse_notebook(data) if path.suffix == ".ipynb" else None
    text = decode(data).readable if notebook is None else replace_bad_bytes(notebook.shown())
    # In the whole text, not in the page, which may begin within a key: then it begins with the note.
    lines = split_keeping_ends(hide_private_keys(text, keeps_lines=True) if context.hides_keys else text)
    context.record_read(real_path(path), sha256(data))
    total = len(lines)
    if not total:
        return ToolResult(True, f"({name} is empty)", summary="empty")
    start = _first_line(params.get("offset"), total, name)
    shown = (line for line in reversed(lines[:start]) if line.rstrip("\r\n") != NO_LINE)
    lines[start - 1] = next(shown, lines[start - 1])
    rows, last = _page(lines, start, params.get("limit") or MAX_LINES)
    count = last - start + 1
    summary = f"{count:,} lines" if count != 1 else "1 line"
    if notebook is not None:
        cells = len(notebook.cells)
        summary = f"{cells:,} cells, {summary}" if cells != 1 else f"1 cell, {summary}"
    return ToolResult(True, "\n".join(rows), summary=summary)


def _first_line(offset: int | None, total: int, name: str) -> int:
    if offset is None or offset == 0:
        return 1
    if offset < 0:
        return max(total + offset + 1, 1)
    if offset > total:
        raise ToolError(f"{name!r} has {total} lines, so there is no line at offset {offset}.")
    return offset


def _page(lines: list[str], first: int, limit: int) -> tuple[list[str], int]:
    """Return the rows, with a note on what follows as the last one, and the number of the last line shown."""
    rows: list[str] = []
    used = 0
    last = first
    for number in range(first, min(first + limit, len(lines) + 1)):
        last = number
        text = lines[number - 1].rstrip("\r\n")
        if text == NO_LINE:
            continue
        text = text.removeprefix(NO_LINE)
        pieces = [text[at : at + MAX_LINE_CHARS] for at in range(0, len(text), MAX_LINE_CHARS)] or [""]
        for at, piece in enumerate(pieces):
            used += len(piece.encode("utf-8", "replace")) + 8
            if used > MAX_BYTES and rows:
                last = number if at else number - 1
                return [*rows, _note(first, last, len(lines), is_cut=at > 0)], last
            rows.append(f"{number if at == 0 else CONTINUED:>6}\t{piece}")
    return [*rows, _note(first, last, len(lines), is_cut=False)], last


def _note(first: int, last: int, total: int, *, is_cut: bool) -> str:
    shown = f"lines {first}-{last} of {total}"
    if is_cut:
        return (
            f"[line {last} is cut here; {shown}; use grep, or bash with cut, for the rest of it; "
            f"offset={last + 1} continues after it]"
        )
    if last < total:
        return f"[{shown}; continue with offset={last + 1}]"
    if first > 1:
        return f"[{shown}; end of file]"
    return f"[{total} lines; end of file]" if total != 1 else "[1 line; end of file]"


def _refuse_unreadable(name: str, data: bytes) -> None:
    """Raise ToolError naming the kind of a file that cannot be shown as text."""
    kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    if kind is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "a WebP picture"
    if kind is not None and (is_binary(data) or data.startswith(b"%PDF-")):
        raise ToolError(
            f"{name!r} is {kind} of {len(data):,} bytes, which read cannot show as text.{_advice(kind)}"
        )
    if is_binary(data):
        raise ToolError(
            f"{name!r} is a binary file of {len(data):,} bytes. Use bash with file, xxd or strings on it."
        )


def _advice(kind: str) -> str:
    if "PDF" in kind:
        return " Use bash with pdftotext, if it is installed."
    if "archive" in kind:
        return " Use bash to list what is in it."
    return ""
