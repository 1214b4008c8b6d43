"""The write tool: a whole file at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.base import ExecutionContext, ToolParameter
from forge_core.tools.editing.content_checks import refuse_placeholders
from forge_core.tools.editing.editing_tool import EditingTool
from forge_core.tools.editing.file_changes import PlannedChange, current_file, new_file, write_target
from forge_core.tools.editing.text import decode, dominant_terminator, is_binary, with_newlines
from forge_core.tools.paths import locate


class WriteTool(EditingTool):
    """Makes a new file, or replaces one that the model has read."""

    name = "write"
    claude_names = ("Write",)
    description = (
        "Writes a whole file: a new one, or one that you have read in this session and that has not changed "
        "since. Missing folders are made. Use edit to change a part of a file; it is safer and shorter. "
        "Send the complete content: placeholders such as '... rest unchanged ...' are refused. "
        "A replaced file keeps its encoding and line ends."
    )
    parameters = (
        ToolParameter("file_path", "string", "Path of the file, relative to the workspace or absolute."),
        ToolParameter("content", "string", "The complete new content."),
    )
    advice = "Use write for new files, or to replace a whole file after reading it."
    title = "Write"
    action = "create or replace a file"

    def plan(self, params: dict[str, Any], context: ExecutionContext) -> list[PlannedChange]:
        given, content = params["file_path"], params["content"]
        path = locate(given, context)
        target, name = write_target(path, context)
        if not given.strip() or given.rstrip().endswith("/") or target.path.is_dir():
            raise ToolError(f"{given!r} is a directory or names none. Give the path of a file.")
        if not target.path.exists():
            if path.is_symlink():
                raise ToolError(
                    f"{name!r} is a link to {str(path.readlink())!r}, which does not exist. Name the file "
                    "to create, or delete the link first."
                )
            return [new_file(target, name, content, context)]
        return [_replacing(path, content, context)]


def _replacing(path: Path, content: str, context: ExecutionContext) -> PlannedChange:
    there = current_file(path, context)
    if str(there.target.path) not in context.files:
        raise ToolError(
            f"{there.name!r} exists and you have not read it in this session. Nothing was written. "
            "Read it first, or use edit to change a part of it."
        )
    if is_binary(there.data):
        raise ToolError(f"{there.name!r} is a binary file and is not overwritten with text.")
    old = decode(there.data)
    refuse_placeholders(content, old.text)
    end = dominant_terminator(old.text)
    text = content if end == "\n" else with_newlines(content).replace("\n", end)
    data = old.bom + old.encode(text)
    return there.changed(data, old.text, text)
