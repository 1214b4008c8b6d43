"""The edit tool: an exact piece of text in a file, replaced."""

from __future__ import annotations

import asyncio
from typing import Any

from forge_core.approval import Effect
from forge_core.errors import ToolError
from forge_core.result import FileDiff
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    ToolUse,
)
from forge_core.tools.editing.change import Change, check_fresh, commit, target_of
from forge_core.tools.editing.checks import refuse_placeholders
from forge_core.tools.editing.replace import replace
from forge_core.tools.editing.store import check_writable, lock_for
from forge_core.tools.paths import locate, read_bytes


class EditTool(BaseTool):
    """Replaces one text by another, exact and unique; every other byte of the file stays as it is."""

    name = "edit"
    description = (
        "Replaces old_string by new_string in a file. old_string must stand in the file exactly, blanks and "
        "indentation included, and exactly once: take it from read without the line numbers, with enough "
        "lines around it to be unique, or set replace_all to change every place. Line ends may differ; the "
        "file keeps its own, and its encoding. Use write for a new file. Prefer several small edits to one "
        "that quotes half the file."
    )
    parameters = (
        ToolParameter("file_path", "string", "Path of the file, relative to the workspace or absolute."),
        ToolParameter("old_string", "string", "The exact text to replace. Empty only for an empty file."),
        ToolParameter("new_string", "string", "The text to put there; different from old_string."),
        ToolParameter(
            "replace_all",
            "boolean",
            "Replace every place instead of exactly one. Default false.",
            required=False,
            default=False,
        ),
    )
    category = ToolCategory.FILE
    effect = Effect.WRITE

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        path = locate(params["file_path"], context)
        async with lock_for(target_of(path, context)[0]):
            return await commit(await asyncio.to_thread(_plan, params, context), context)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(Effect.WRITE, params["file_path"], (locate(params["file_path"], context),))

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        change = await asyncio.to_thread(_plan, params, context)
        return (await asyncio.to_thread(change.diff),)


def _plan(params: dict[str, Any], context: ExecutionContext) -> Change:
    path = locate(params["file_path"], context)
    real, name = target_of(path, context)
    if not real.exists() and not params["old_string"]:
        raise ToolError(f"{name!r} does not exist. Use write to make a new file.")
    before = read_bytes(path, context)
    check_writable(real)
    check_fresh(real, name, before, context)
    refuse_placeholders(params["new_string"], params["old_string"])
    try:
        done = replace(
            before, params["old_string"], params["new_string"], replace_all=params.get("replace_all", False)
        )
    except ToolError as error:
        raise ToolError(f"{name}: {error}") from error
    note = f" ({done.count} places)" if done.count > 1 else ""
    note += " (matched with other line ends)" if done.tier == "line ends" else ""
    return Change(real, name, done.data, before, done.before.text, done.after, note)
