"""The multi_edit tool: several edits, in one file or many, made together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forge_core.approval import Effect
from forge_core.errors import ToolError
from forge_core.tools.arguments import files_of, records_of, text_of
from forge_core.tools.base import ExecutionContext, ToolParameter, ToolUse, object_schema
from forge_core.tools.editing.draft import FileDraft
from forge_core.tools.editing.editing_tool import EditingTool
from forge_core.tools.editing.file_changes import PlannedChange, current_file, write_target
from forge_core.tools.paths import locate

MAX_EDITS = 200

_EDIT = object_schema(
    {
        "file_path": {"type": "string", "description": "Path of the file. Default: file_path of the call."},
        "old_string": {"type": "string", "description": "The exact text to replace, unique in the file."},
        "new_string": {"type": "string", "description": "The text to put there."},
        "replace_all": {"type": "boolean", "description": "Replace every place. Default false."},
    },
    required=("old_string", "new_string"),
)


class MultiEditTool(EditingTool):
    """Several edits, each as `edit` makes it. Those of one file apply one after the other, each to the result
    of those before it; nothing is written unless all of them apply (see `FileDraft` for edits of edits)."""

    name = "multi_edit"
    claude_names = ("Edit", "MultiEdit")
    description = (
        f"Makes up to {MAX_EDITS} edits at once, in one file or several: all of them, or none when one does "
        "not apply. Each is as with edit: old_string must occur in the file exactly and once, or set its "
        "replace_all. Edits of the same file apply one after the other, each to the result of those before "
        "it. Use edit for a single change, and write for a new file."
    )
    parameters = (
        ToolParameter(
            "file_path",
            "string",
            "Path of the file for edits that name none, relative to the workspace or absolute.",
            required=False,
        ),
        ToolParameter(
            "edits",
            "array",
            f"The edits in order, 1 to {MAX_EDITS}: old_string, new_string, and as needed file_path and "
            "replace_all (default false).",
            items=_EDIT,
        ),
    )
    advice = "Make several changes, also in several files, by one multi_edit: all are made, or none."

    def plan(self, params: dict[str, Any], context: ExecutionContext) -> list[PlannedChange]:
        changes: list[PlannedChange] = []
        for path, edits in _by_file(params, context):
            draft: FileDraft | None = None
            for number, edit in edits:
                try:
                    draft = draft or FileDraft(current_file(path, context))
                    replace_all = bool(edit.get("replace_all", False))
                    draft.edit(edit["old_string"], edit["new_string"], replace_all=replace_all)
                except ToolError as error:
                    raise ToolError(
                        f"Edit {number} of {len(params['edits'])}: {error} No edit of this call was made."
                    ) from error
            if draft is not None:
                changes.append(draft.change())
        changed = [change for change in changes if change.data != change.before]
        if not changed:
            raise ToolError("The edits cancel each other out: no file would change. Nothing was written.")
        return changed

    def paths(self, params: dict[str, Any], context: ExecutionContext) -> Sequence[Path]:
        return [path for path, _ in _by_file(params, context)]

    def target(self, arguments: Mapping[str, Any]) -> str:
        records = [arguments, *records_of(arguments, "edits")]
        paths = (text_of(record, name) for record in records for name in ("path", "file_path"))
        return files_of([path for path in paths if path])

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        names = list(dict.fromkeys(_names(params)))
        paths = tuple(dict.fromkeys(locate(name, context) for name in names))
        return ToolUse(Effect.WRITE, ", ".join(names), paths or (context.root,))


def _names(params: Mapping[str, Any]) -> list[str]:
    """Return the file of each edit as it was named; "" where none was."""
    usual = params.get("file_path") or ""
    return [str(one.get("file_path") or usual) for one in records_of(params, "edits")] or [str(usual)]


def _by_file(
    params: Mapping[str, Any], context: ExecutionContext
) -> list[tuple[Path, list[tuple[int, Mapping[str, Any]]]]]:
    """Return the edits of each file with their numbers; two names of one file are the same file."""
    edits = records_of(params, "edits")
    if not 1 <= len(edits) <= MAX_EDITS:
        raise ToolError(f"edits has {len(edits)} items; it takes 1 to {MAX_EDITS}.")
    files: dict[Path, tuple[Path, list[tuple[int, Mapping[str, Any]]]]] = {}
    for number, (name, edit) in enumerate(zip(_names(params), edits, strict=True), 1):
        if not name.strip():
            raise ToolError(f"Edit {number} names no file: give file_path in it, or for the whole call.")
        path = locate(name, context)
        files.setdefault(write_target(path, context)[0].path, (path, []))[1].append((number, edit))
    return list(files.values())
