"""The grep tool: text in files."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge_core.approval import Effect
from forge_core.errors import ToolError
from forge_core.permissions.paths import is_secret
from forge_core.result import FileDiff
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    ToolUse,
)
from forge_core.tools.editing.text import is_binary
from forge_core.tools.paths import folder_status, locate, read_bytes, scope, shown
from forge_core.tools.searching.engine import Engine
from forge_core.tools.searching.query import Line, Query
from forge_core.workspace.globs import compile_glob
from forge_core.workspace.ignore import IgnoreRules

DEFAULT_HEAD_LIMIT = 250
MAX_CONTEXT = 50
MAX_LINE_CHARS = 500


class GrepTool(BaseTool):
    """Searches the text of files with ripgrep, else with an engine of our own that gives the same answers."""

    name = "grep"
    description = (
        "Searches the text of files for a regular expression (ripgrep's syntax; quote brackets and dots to "
        "mean them). Shows path:line:text, at most head_limit matches; output_mode files or count is "
        "shorter when many are expected. What .gitignore leaves out, binary files, key and .env files are "
        "not searched. Use glob to find files by name, read to see more of a file. Do not use bash with "
        "grep or rg instead."
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
            f"Most matches (or files) to show; 0: all. Default {DEFAULT_HEAD_LIMIT}.",
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
    timeout_s = 90.0

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        engine = self._engine or Engine.best()
        query = await asyncio.to_thread(_query, params, context)
        counts = await asyncio.to_thread(_admitted, await engine.count(query), query, context)
        if not counts:
            where = f" in {params['path']!r}" if params.get("path") else ""
            note = f" with glob {query.glob!r}" if query.glob else ""
            return ToolResult(True, f"No match for {query.pattern!r}{where}{note}.", summary="no match")
        mode = params.get("output_mode", "content")
        rows = (
            await _content(engine, query, counts, params, context)
            if mode == "content"
            else (_listing(query, counts, params, context, with_count=mode == "count"))
        )
        total, files = sum(counts.values()), len(counts)
        summary = f"{total:,} match{'' if total == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
        return ToolResult(True, "\n".join(rows), summary=summary, metadata={"matches": total, "files": files})

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


def _admitted(counts: dict[str, int], query: Query, context: ExecutionContext) -> dict[str, int]:
    """The files that count, in order: what the engine found, less what is ignored, secret, denied or not in
    the glob. A single file that was named is taken as it is: the policy has already been asked about it."""
    root, hides = Path(query.root), context.hides or (lambda _: False)
    if query.is_single_file:
        return {path: count for path, count in counts.items() if not hides(root / path)}
    rules = IgnoreRules(root)
    expression = compile_glob(query.glob, any_depth=True) if query.glob else None
    below = len(query.start) + 1 if query.start else 0

    def admits(path: str) -> bool:
        if is_secret(path) or hides(root / path) or (expression and not expression.fullmatch(path[below:])):
            return False
        parts = path[below:].split("/")
        head = path[:below]
        return not any(
            rules.is_ignored_itself(head + "/".join(parts[:count]), count < len(parts))
            for count in range(1, len(parts) + 1)
        )

    return {path: counts[path] for path in sorted(counts, key=lambda path: path.split("/")) if admits(path)}


def _listing(
    query: Query,
    counts: dict[str, int],
    params: dict[str, Any],
    context: ExecutionContext,
    *,
    with_count: bool,
) -> list[str]:
    offset, limit = _window(params)
    paths = list(counts)
    chosen = paths[offset:] if limit is None else paths[offset : offset + limit]
    rows = [_shown(path, query, context) + (f":{counts[path]}" if with_count else "") for path in chosen]
    return rows + _more(len(chosen), offset, len(paths), "files")


async def _content(
    engine: Engine, query: Query, counts: dict[str, int], params: dict[str, Any], context: ExecutionContext
) -> list[str]:
    offset, limit = _window(params)
    passed, paths = 0, list(counts)
    if not query.multiline:
        while paths and passed + counts[paths[0]] <= offset:
            passed += counts[paths.pop(0)]
    skip = offset - passed
    lines = await engine.lines(query, paths, None if limit is None else skip + limit)
    lines = _without_first(lines, skip, query.before)
    matches = sum(1 for line in lines if line.is_match)
    rows = _rows(lines, query, context)
    return rows + _more(matches, offset, sum(counts.values()), "matches")


def _without_first(lines: list[Line], skip: int, before: int) -> list[Line]:
    """The lines from match number `skip` on, with the context before it."""
    if not skip:
        return lines
    at = [index for index, line in enumerate(lines) if line.is_match][skip : skip + 1]
    if not at:
        return []
    first = lines[at[0]]
    return [
        line if line.number >= first.number or line.path != first.path else replace(line, is_match=False)
        for line in lines[max(at[0] - before, 0) :]
        if line.path != first.path or line.number >= first.number - before
    ]


def _rows(lines: list[Line], query: Query, context: ExecutionContext) -> list[str]:
    rows: list[str] = []
    last: Line | None = None
    for line in lines:
        is_apart = last is not None and (line.path != last.path or line.number > last.number + 1)
        if is_apart and (query.before or query.after):
            rows.append("--")
        mark = ":" if line.is_match else "-"
        text = line.text if len(line.text) <= MAX_LINE_CHARS else line.text[:MAX_LINE_CHARS] + " [line cut]"
        rows.append(f"{_shown(line.path, query, context)}{mark}{line.number}{mark}{text}")
        last = line
    return rows


def _more(count: int, offset: int, total: int, what: str) -> list[str]:
    if count == 0:
        return [f"[nothing at offset {offset}: there are {total:,} {what}]"]
    if offset + count >= total:
        return []
    return [f"[{what} {offset + 1}-{offset + count} of {total:,}; go on with offset={offset + count}]"]


def _window(params: dict[str, Any]) -> tuple[int, int | None]:
    limit = params.get("head_limit")
    return params.get("offset") or 0, DEFAULT_HEAD_LIMIT if limit is None else (limit or None)


def _shown(path: str, query: Query, context: ExecutionContext) -> str:
    return shown(Path(query.root) / path, context)
