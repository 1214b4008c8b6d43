"""The grep tool: text in files."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.events import Subject
from forge_core.result import FileDiff
from forge_core.tools.arguments import search_target, text_of
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    ToolUse,
)
from forge_core.tools.editing.text import is_binary
from forge_core.tools.paths import folder_status, kept_in_place, locate, read_bytes, scope, shown
from forge_core.tools.searching.engine import MAX_ROWS, Engine
from forge_core.tools.searching.file_filter import Admission
from forge_core.tools.searching.query import Query
from forge_core.tools.searching.result_rows import MAX_LINE_CHARS, Window, content, listing
from forge_core.tools.threads import in_thread

DEFAULT_HEAD_LIMIT = 250
MAX_CONTEXT = 50


class GrepTool(BaseTool):
    """Searches the text of files with ripgrep, else with an engine of our own that gives the same answers."""

    name = "grep"
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
        ToolParameter(
            "before",
            "integer",
            f"Lines shown before each match (-B), up to {MAX_CONTEXT}.",
            False,
            0,
            None,
            0,
            MAX_CONTEXT,
        ),
        ToolParameter(
            "after",
            "integer",
            f"Lines shown after each match (-A), up to {MAX_CONTEXT}.",
            False,
            0,
            None,
            0,
            MAX_CONTEXT,
        ),
        ToolParameter(
            "context",
            "integer",
            f"Lines shown around each match (-C), up to {MAX_CONTEXT}.",
            False,
            0,
            None,
            0,
            MAX_CONTEXT,
        ),
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
    category = ToolCategory.SEARCH
    effect = Effect.READ
    kind = ToolKind.LOOK
    title = "Search"
    timeout_s = 90.0

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        return await in_thread(self._grep, params, context)

    def _grep(self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event) -> ToolResult:
        with kept_in_place(locate(params.get("path") or ".", context), context):
            return self._found(params, context, stop)

    def _found(self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event) -> ToolResult:
        engine = self._engine or Engine.best()
        query = _query(params, context)
        counts = engine.count(query, Admission(query, context.hides).admits, stop)
        if not counts:
            where = f" in {params['path']!r}" if params.get("path") else ""
            note = f" with glob {query.glob!r}" if query.glob else ""
            return ToolResult(
                True,
                f"No match for {query.pattern!r}{where}{note}. [Ignored, binary, key and .env files are not "
                "searched]",
                summary="no match",
            )
        window, mode = _window(params), params.get("output_mode", "content")

        def named(path: str) -> str:
            return shown(Path(query.root) / path, context)

        rows = (
            content(engine, query, counts, window, named, stop)
            if mode == "content"
            else listing(counts, window, named, with_count=mode == "count")
        )
        total, files = sum(counts.values()), len(counts)
        summary = f"{total:,} match{'' if total == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
        return ToolResult(True, "\n".join(rows), summary=summary, metadata={"matches": total, "files": files})

    def target(self, arguments: Mapping[str, Any]) -> str:
        return search_target(arguments)

    def subject(self, arguments: Mapping[str, Any]) -> Subject:
        pattern = text_of(arguments, "pattern")
        return Subject("searched", "pattern", pattern, pattern)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(Effect.READ, params["pattern"], (locate(params.get("path") or ".", context),))

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        await asyncio.to_thread(_query, params, context)
        return ()


def _query(params: dict[str, Any], context: ExecutionContext) -> Query:
    """The question to the engine. Raises ToolError for a path that cannot be searched."""
    path = locate(params.get("path") or ".", context)
    if not params["pattern"]:
        raise ToolError("the pattern is empty.")
    if path.is_file():
        if is_binary(read_bytes(path, context)):
            raise ToolError(f"{shown(path, context)!r} is a binary file. Use bash with grep -a or strings.")
    else:
        folder_status(path, context)
    root, start = scope(path, context)
    around = params.get("context") or 0
    return Query(
        root=str(root),
        pattern=re.sub(r"\(\?<(?![=!])", "(?P<", params["pattern"]),  # the spelling that every version knows
        start=start,
        glob=params.get("glob") or "",
        ignore_case=params.get("ignore_case", False),
        multiline=params.get("multiline", False) or "\n" in params["pattern"] or "\\n" in params["pattern"],
        before=params.get("before") or around,
        after=params.get("after") or around,
    )


def _window(params: dict[str, Any]) -> Window:
    limit = params.get("head_limit")
    return Window(params.get("offset") or 0, DEFAULT_HEAD_LIMIT if limit is None else (limit or None))
