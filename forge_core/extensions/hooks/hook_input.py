"""What a hook reads on standard input: one JSON object with Claude Code's keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core import __version__
from forge_core.approval import ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ToolError
from forge_core.extensions.claude_rules import claude_name
from forge_core.tools.arguments import records_of
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.editing.patch import PatchSection, parse_patch
from forge_core.tools.paths import locate

_EDIT, _WRITE = "Edit", "Write"
_SAME_TOOL = {"Agent": ("Task",)}
"""Names under which a tool of Claude Code is matched too."""
_KEYS = {
    "timeout_s": "timeout",
    "ignore_case": "-i",
    "before": "-B",
    "after": "-A",
    "context": "-C",
    "items": "todos",
    "job_id": "bash_id",
}
"""Parameter of Forge → its key in Claude Code, where they differ."""
_PATHS = frozenset({"file_path", "path"})
_MODES = {
    PermissionMode.ASK: "default",
    PermissionMode.ACCEPT_EDITS: "acceptEdits",
    PermissionMode.PLAN: "plan",
    PermissionMode.AUTO: "auto",
    PermissionMode.YOLO: "bypassPermissions",
}


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What every hook reads about the session."""

    session_id: str
    transcript: Path
    """The journal; it may not exist yet."""
    folder: Path
    mode: PermissionMode

    def fields(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(self.folder),
            "permission_mode": _MODES[self.mode],
        }


@dataclass(frozen=True, slots=True)
class ClaudeCall:
    """A tool call, or the part of one that concerns one file, as Claude Code would make it."""

    name: str
    input: Mapping[str, Any]
    names: tuple[str, ...]
    """The names by which it is matched: this one first, and the tool's name in Forge."""
    is_whole: bool = True
    """Whether the call has no other part, so that its input can be replaced."""


def claude_calls(
    tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
) -> tuple[ClaudeCall, ...]:
    """Return what hooks are called with: once for each file of a call that changes several."""
    if tool.kind is ToolKind.WRITE:
        if "patch" in arguments:
            return _patch_calls(tool, str(arguments["patch"]), context)
        if "edits" in arguments:
            return _edit_calls(tool, arguments, context)
    name = claude_name(tool)
    return (ClaudeCall(name, _claude_input(arguments, context), _names(tool, name)),)


def forge_arguments(call: ClaudeCall, updated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool after a hook has replaced its input, all of it. They are not checked.

    Raises:
        ValueError: the input of this call cannot be replaced.
    """
    if not call.is_whole:
        raise ValueError("the input of a call that changes several places cannot be replaced")
    ours = {theirs: mine for mine, theirs in _KEYS.items()}
    changed = {ours.get(key, key): value for key, value in updated.items()}
    if "timeout_s" in changed:
        changed["timeout_s"] = _seconds(changed["timeout_s"])
    return {name: value for name, value in changed.items() if value is not None}


def forge_fields(tool: BaseTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call as Forge has it, for hooks that know Forge."""
    return {"tool": tool.name, "arguments": dict(arguments), "version": __version__}


def _names(tool: BaseTool, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, *_SAME_TOOL.get(name, ()), *tool.claude_names, tool.name)))


def _claude_input(arguments: Mapping[str, Any], context: ExecutionContext) -> dict[str, Any]:
    return {_KEYS.get(name, name): _claude_value(name, value, context) for name, value in arguments.items()}


def _claude_value(name: str, value: Any, context: ExecutionContext) -> Any:
    if name == "timeout_s" and isinstance(value, int | float):
        return round(value * 1000)
    return str(locate(value, context)) if name in _PATHS and isinstance(value, str) else value


def _seconds(milliseconds: Any) -> Any:
    """Return a time in seconds; anything but a number as it is, for the check of the arguments."""
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if is_number else milliseconds


def _edit_calls(
    tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
) -> tuple[ClaudeCall, ...]:
    """Return one `Edit` for each file; several edits of one file in the form of `MultiEdit` as well."""
    by_file: dict[str, list[Mapping[str, Any]]] = {}
    for edit in records_of(arguments, "edits"):
        name = str(edit.get("file_path") or arguments.get("file_path") or "")
        by_file.setdefault(str(locate(name, context)), []).append(edit)
    calls = []
    for path, edits in by_file.items():
        texts = {
            key: "\n".join(str(edit.get(key, "")) for edit in edits) for key in ("old_string", "new_string")
        }
        shown = [{key: value for key, value in edit.items() if key != "file_path"} for edit in edits]
        calls.append(_part(tool, _EDIT, {"file_path": path, **texts, "edits": shown}))
    return tuple(calls)


def _patch_calls(tool: BaseTool, patch: str, context: ExecutionContext) -> tuple[ClaudeCall, ...]:
    try:
        sections = parse_patch(patch)
    except ToolError:  # the call will fail with these words
        return (_part(tool, _EDIT, {"file_path": str(context.root), "old_string": "", "new_string": patch}),)
    return tuple(call for section in sections for call in _section_calls(tool, section, context))


def _section_calls(tool: BaseTool, section: PatchSection, context: ExecutionContext) -> Sequence[ClaudeCall]:
    path = str(locate(section.path, context))
    if section.kind == "add":
        return (_part(tool, _WRITE, {"file_path": path, "content": section.content}),)
    old = "\n".join(line for hunk in section.hunks for line in hunk.old)
    new = "\n".join(line for hunk in section.hunks for line in hunk.new)
    calls = [_part(tool, _EDIT, {"file_path": path, "old_string": old, "new_string": new})]
    if section.move_to is not None:
        moved = {"file_path": str(locate(section.move_to, context)), "content": new}
        calls.append(_part(tool, _WRITE, moved))
    return calls


def _part(tool: BaseTool, name: str, given: Mapping[str, Any]) -> ClaudeCall:
    return ClaudeCall(name, given, _names(tool, name), is_whole=False)
