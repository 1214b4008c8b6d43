"""The apply_patch tool: files made, changed, moved and deleted by one patch, together or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge_core.approval import Effect
from forge_core.errors import ToolError
from forge_core.tools.arguments import files_of
from forge_core.tools.base import ExecutionContext, ToolParameter, ToolUse
from forge_core.tools.editing.draft import FileDraft
from forge_core.tools.editing.editing_tool import EditingTool
from forge_core.tools.editing.file_changes import (
    CurrentFile,
    PlannedChange,
    check_parent,
    current_file,
    new_file,
    write_target,
)
from forge_core.tools.editing.patch import PatchSection, parse_patch
from forge_core.tools.editing.text import decode
from forge_core.tools.paths import display_path, locate

_HEADER = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


class ApplyPatchTool(EditingTool):
    """A patch in the `*** Begin Patch` grammar, by the same engine as `edit`."""

    name = "apply_patch"
    claude_names = ("Edit",)
    description = (
        "Applies a patch to one or more files: all of it, or nothing. Form: '*** Begin Patch', then per file "
        "'*** Add File: path' (lines with +), '*** Delete File: path', or '*** Update File: path' (then "
        "'*** Move to: path' if it moves) with hunks of lines that begin with a blank (context), - or +, and "
        "at last '*** End Patch'. Each hunk must fit exactly one place: give about three lines of context, "
        "and where that is not unique, '@@ ' with the line of the function or section around it. "
        "'*** End of File' after a hunk ties it to the end. Use edit for a single small change."
    )
    parameters = (
        ToolParameter("patch", "string", "The whole patch, from '*** Begin Patch' to '*** End Patch'."),
    )
    advice = "apply_patch takes the `*** Begin Patch` form."
    title = "Patch"

    def plan(self, params: dict[str, Any], context: ExecutionContext) -> list[PlannedChange]:
        sections = parse_patch(params["patch"])
        seen: set[Path] = set()
        for path in _paths(sections, context):
            real = write_target(path, context)[0].path
            if real in seen:
                raise ToolError(
                    f"{display_path(path, context)!r} is named twice in the patch. Nothing was written. Put "
                    "all that is to become of it in one section."
                )
            seen.add(real)
        return [change for section in sections for change in _changes(section, context)]

    def paths(self, params: dict[str, Any], context: ExecutionContext) -> Sequence[Path]:
        return _paths(parse_patch(params["patch"]), context)

    def target(self, arguments: Mapping[str, Any]) -> str:
        return files_of(_HEADER.findall(str(arguments.get("patch", ""))))

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        try:
            sections = parse_patch(str(params.get("patch", "")))
        except ToolError:  # the call will fail with these words; until then it touches nothing
            return ToolUse(Effect.WRITE, "a patch that cannot be read", (context.root,))
        gone = [section.path for section in sections if section.kind == "delete"]
        return ToolUse(
            Effect.WRITE,
            ", ".join(" \u2192 ".join(filter(None, (one.path, one.move_to))) for one in sections),
            tuple(dict.fromkeys(_paths(sections, context))),
            is_destructive=any(section.kind == "delete" or section.move_to for section in sections),
            details={"Deletes": ", ".join(gone)} if gone else {},
            removed=tuple(
                locate(one.path, context) for one in sections if one.kind == "delete" or one.move_to
            ),
        )


def _paths(sections: Iterable[PatchSection], context: ExecutionContext) -> list[Path]:
    names = [name for one in sections for name in (one.path, one.move_to) if name is not None]
    return [locate(name, context) for name in names]


def _changes(section: PatchSection, context: ExecutionContext) -> list[PlannedChange]:
    path = locate(section.path, context)
    if section.kind == "add":
        _refuse_existing(path, context)
        return [new_file(*write_target(path, context), section.content, context)]
    if path.is_symlink() and (section.kind == "delete" or section.move_to):
        raise ToolError(
            f"{display_path(path, context)!r} is a link to {str(path.readlink())!r}. A patch deletes and "
            "moves files, not links. Nothing was written."
        )
    there = current_file(path, context)
    if section.kind == "delete":
        return [there.changed(None, _text(there.data), "")]
    draft = FileDraft(there) if section.hunks else None
    if draft is not None:
        draft.patch(section.hunks)
        if section.move_to is None:
            return [draft.change()]
    return _moved(there, draft, locate(section.move_to or section.path, context), context)


def _refuse_existing(path: Path, context: ExecutionContext) -> None:
    if path.is_symlink() or path.exists():
        raise ToolError(
            f"{display_path(path, context)!r} exists already. Nothing was written. Use '*** Update File:' to "
            "change it, or take another name."
        )


def _moved(
    there: CurrentFile, draft: FileDraft | None, path: Path, context: ExecutionContext
) -> list[PlannedChange]:
    _refuse_existing(path, context)
    target, name = write_target(path, context)
    check_parent(target.path, context)
    text = _text(there.data)
    after = draft.change() if draft is not None else there.changed(there.data, text, text)
    made = replace(after, target=target, name=name, before=None, moved_from=there.name)
    return [made, replace(there.changed(None, text, ""), is_reported_elsewhere=True)]


def _text(data: bytes) -> str:
    try:
        return decode(data).readable
    except ToolError:
        return ""
