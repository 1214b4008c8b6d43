"""The edit tool: an exact piece of text in a file, replaced."""

from __future__ import annotations

import os
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.base import ExecutionContext, ToolParameter
from forge_core.tools.editing.draft import FileDraft
from forge_core.tools.editing.editing_tool import EditingTool
from forge_core.tools.editing.file_changes import PlannedChange, current_file
from forge_core.tools.paths import display_path, locate


class EditTool(EditingTool):
    """Replaces one text by another, exact and unique; every other byte of the file stays as it is."""

    name = "edit"
    description = (
        "Replaces old_string by new_string in a file. old_string must occur in the file exactly, blanks "
        "and indentation included, and exactly once: take it from read without the line numbers, with "
        "enough lines around it to be unique, or set replace_all to change every occurrence. Line ends may "
        "differ; the file keeps its own, and its encoding. Use write for a new file. Prefer several small "
        "edits to one that quotes half the file."
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
    advice = (
        "edit replaces old_string exactly once: copy it from the file, blanks and indentation included, "
        "without line numbers, with enough lines around it to be unique. replace_all changes every place."
    )

    def plan(self, params: dict[str, Any], context: ExecutionContext) -> list[PlannedChange]:
        path = locate(params["file_path"], context)
        if not params["old_string"] and not os.path.lexists(path):
            raise ToolError(f"{display_path(path, context)!r} does not exist. Use write to make a new file.")
        draft = FileDraft(current_file(path, context))
        draft.edit(params["old_string"], params["new_string"], replace_all=params.get("replace_all", False))
        return [draft.change()]
