"""The grep tool: text in files."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

from forge_core.errors import ToolError
from forge_core.result import FileDiff
from forge_core.tools.base import ExecutionContext, ToolParameter, ToolResult
from forge_core.tools.editing.text import is_binary
from forge_core.tools.paths import display_path, folder_status, locate, read_bytes, search_scope
from forge_core.tools.searching.engine import MAX_ROWS, SearchEngine
from forge_core.tools.searching.file_filter import FileFilter
from forge_core.tools.searching.folder_tool import FolderTool
from forge_core.tools.searching.query import SearchQuery
from forge_core.tools.searching.result_rows import MAX_LINE_CHARS, file_rows, line_rows
from forge_core.workspace.program_lookup import find_program

DEFAULT_HEAD_LIMIT = 250
MAX_CONTEXT = 50


def _context_lines(name: str, where: str) -> ToolParameter:
    return ToolParameter(
        name, "integer", f"Lines shown {where}, up to {MAX_CONTEXT}.", False, 0, None, 0, MAX_CONTEXT
    )


class GrepTool(FolderTool):
    """Searches the text of files with ripgrep, else with an engine of our own that gives the same answers."""

    name = "grep"
    claude_names = ("Grep",)
    description = (
        "Searches the text of files for a regular expression (ripgrep's syntax; quote brackets and dots to "
        "mean them). Shows path:line:text, at most head_limit matches, lines cut after "
        f"{MAX_LINE_CHARS} characters; output_mode files or count is shorter when many are expected. What "
        ".gitignore leaves out, binary files, key and .env files are not searched. Use glob to find files by "
        "name, read to see more of a file. Do not use bash with grep or rg instead."
    )
    parameters = (
        ToolParameter("pattern", "string", "The regular expression."),
        ToolParameter("path", "string", "Folder or file to search. Default: the workspace.", required=False),
        ToolParameter(
            "glob", "string", "Only files that match, for example *.py or src/**/*.ts.", required=False
        ),
        ToolParameter(
            "output_mode",
            "string",
            "content (default): the lines; files: only paths; count: matches for each file.",
            required=False,
            default="content",
            enum=("content", "files", "count"),
        ),
        _context_lines("before", "before each match (-B)"),
        _context_lines("after", "after each match (-A)"),
        _context_lines("context", "around each match (-C)"),
        ToolParameter(
            "ignore_case", "boolean", "Upper and lower case are the same. Default false.", False, False
        ),
        ToolParameter("multiline", "boolean", "The pattern may span lines. Default false.", False, False),
        ToolParameter(
            "head_limit",
            "integer",
            f"Most matches (or files) to show; 0: all, up to {MAX_ROWS:,} lines. Default "
            f"{DEFAULT_HEAD_LIMIT}.",
            required=False,
            default=DEFAULT_HEAD_LIMIT,
            minimum=0,
        ),
        ToolParameter(
            "offset", "integer", "Matches (or files) to pass over first. Default 0.", False, 0, None, 0
        ),
    )
    advice = (
        "Start narrow: use grep for a name with output_mode files, then read the lines around the matches. "
        "Don't search again for what you have already seen."
    )
    title = "Search"
    timeout_s = 90.0

    def __init__(self, engine: SearchEngine | None = None) -> None:
        self._engine = engine

    def search(self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event) -> ToolResult:
        engine = self._engine or SearchEngine(find_program("rg", context.root))
        query = _query(params, context)
        counts = engine.count(query, FileFilter(query, context.hides).admits, stop)
        if not counts:
            where = f" in {params['path']!r}" if params.get("path") else ""
            note = f" with glob {query.glob!r}" if query.glob else ""
            return ToolResult(
                True,
                f"No match for {query.pattern!r}{where}{note}. [Ignored, binary, key and .env files are not "
                "searched]",
                summary="no match",
            )
        offset, mode = params.get("offset") or 0, params.get("output_mode", "content")
        limit = params.get("head_limit", DEFAULT_HEAD_LIMIT) or None

        def named(path: str) -> str:
            return display_path(Path(query.root) / path, context)

        rows = (
            line_rows(engine, query, counts, offset, limit, named, stop)
            if mode == "content"
            else file_rows(counts, offset, limit, named, with_count=mode == "count")
        )
        total, files = sum(counts.values()), len(counts)
        summary = f"{total:,} match{'' if total == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
        return ToolResult(True, "\n".join(rows), summary=summary)

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        await asyncio.to_thread(_query, params, context)
        return ()


def _query(params: dict[str, Any], context: ExecutionContext) -> SearchQuery:
    """Return the question to the engine. Raise ToolError for a path that cannot be searched."""
    path = locate(params.get("path") or ".", context)
    if not params["pattern"]:
        raise ToolError("the pattern is empty.")
    if path.is_file():
        if is_binary(read_bytes(path, context)):
            raise ToolError(
                f"{display_path(path, context)!r} is a binary file. Use bash with grep -a or strings."
            )
    else:
        folder_status(path, context)
    root, start = search_scope(path, context)
    around = params.get("context") or 0
    return SearchQuery(
        root=str(root),
        pattern=re.sub(r"\(\?<(?![=!])", "(?P<", params["pattern"]),  # the spelling that every version knows
        start=start,
        glob=params.get("glob") or "",
        ignore_case=params.get("ignore_case", False),
        multiline=params.get("multiline", False) or "\n" in params["pattern"] or "\\n" in params["pattern"],
        before=params.get("before") or around,
        after=params.get("after") or around,
    )
