"""The edit tool: an exact piece of text in a file, replaced."""

from __future__ import annotations

import os
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.base import ExecutionContext, ToolParameter
from forge_core.tools.editing.content_checks import refuse_placeholders
from forge_core.tools.editing.draft import FileDraft
from forge_core.tools.editing.editing_tool import EditingTool
from forge_core.tools.editing.file_changes import CurrentFile, PlannedChange, current_file
from forge_core.tools.editing.notebook import CellAction, Notebook, parse_notebook
from forge_core.tools.paths import display_path, locate


class EditTool(EditingTool):
    """Replaces one text by another, exact and unique; every other byte of the file stays as it is."""

    name = "edit"
    claude_names = ("Edit", "NotebookEdit")
    description = (
        "Replaces old_string by new_string in a file. old_string must occur in the file exactly, blanks "
        "and indentation included, and exactly once: take it from read without the line numbers, with "
        "enough lines around it to be unique, or set replace_all to change every occurrence. Line ends may "
        "differ; the file keeps its own, and its encoding. Use write for a new file. Prefer several small "
        "edits to one that quotes half the file. In a Jupyter notebook, name the cell as well."
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
        ToolParameter(
            "cell",
            "string",
            "In a Jupyter notebook: number or id of the cell, as read shows them. old_string and new_string "
            "are then text of its source.",
            required=False,
        ),
        ToolParameter(
            "cell_action",
            "string",
            "With cell: edit it (the default), insert a new one after it with new_string as its source (cell "
            "0: at the top), or delete it. For insert and delete, old_string is empty.",
            required=False,
            enum=[*CellAction],
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
        if params.get("cell") is not None:
            return [_cell_change(params, current_file(path, context))]
        draft = FileDraft(current_file(path, context))
        draft.edit(params["old_string"], params["new_string"], replace_all=params.get("replace_all", False))
        return [draft.change()]


def _cell_change(params: dict[str, Any], there: CurrentFile) -> PlannedChange:
    """Return the change of one cell of a notebook; its diff compares the cells as read shows them."""
    try:
        notebook = parse_notebook(there.data) if there.name.endswith(".ipynb") else None
        if notebook is None:
            raise ToolError("It is not a Jupyter notebook of version 4. Leave cell out to edit it as text.")
        changed = _changed_notebook(notebook, params)
    except ToolError as error:
        raise ToolError(f"{there.name}: {error}") from error
    return there.changed(changed.data, notebook.shown(), changed.shown())


def _changed_notebook(notebook: Notebook, params: dict[str, Any]) -> Notebook:
    action, name = params.get("cell_action") or CellAction.EDIT, params["cell"]
    old, new = params["old_string"], params["new_string"]
    refuse_placeholders(new, old)
    if action == CellAction.EDIT:
        return notebook.edited(notebook.find(name), old, new, replace_all=params.get("replace_all", False))
    if old:
        raise ToolError(f"old_string must be empty when cell_action is {str(action)!r}. Nothing was written.")
    if action == CellAction.DELETE:
        return notebook.deleted(notebook.find(name))
    kind = "code" if action == CellAction.INSERT_CODE else "markdown"
    return notebook.inserted(None if name.strip() == "0" else notebook.find(name), kind, new)
