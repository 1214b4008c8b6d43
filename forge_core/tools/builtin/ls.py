"""The ls tool: a folder as a tree."""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.events import Subject
from forge_core.tools.arguments import text_of
from forge_core.tools.base import ExecutionContext, ToolParameter, ToolResult
from forge_core.tools.paths import display_path, folder_status, search_scope
from forge_core.tools.searching.folder_tool import FolderTool
from forge_core.workspace.ignore import IgnoreRules

DEFAULT_DEPTH = 2
MAX_DEPTH = 10
MAX_ENTRIES = 500
_MAX_IN_FOLDER = 100
"""Of one folder below the first, so that a single big one does not hide all others."""


class LsTool(FolderTool):
    """Shows what is in a folder."""

    name = "ls"
    claude_names = ("LS",)
    description = (
        f"Shows a folder as a tree, {DEFAULT_DEPTH} levels deep by default and at most {MAX_ENTRIES} "
        "entries. Folders that git ignores are named but not opened. Use glob to find files by name, grep "
        "to search in them."
    )
    parameters = (
        ToolParameter("path", "string", "Folder to show. Default: the workspace.", required=False),
        ToolParameter(
            "depth",
            "integer",
            f"Levels to show, 1 to {MAX_DEPTH}. Default {DEFAULT_DEPTH}.",
            required=False,
            default=DEFAULT_DEPTH,
            minimum=1,
            maximum=MAX_DEPTH,
        ),
    )
    advice = "Use ls, not find, to see how a folder is laid out."
    title = "List"

    def search(self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event) -> ToolResult:
        folder = self.folder(params, context)
        folder_status(folder, context)
        root, start = search_scope(folder, context)
        tally = _Tally(IgnoreRules(root), params.get("depth") or DEFAULT_DEPTH, stop, context.hides)
        rows = [f"{display_path(folder, context)}/", *_rows(start, 1, tally)]
        if tally.shown == 0 and not tally.hidden:
            rows.append("  (empty)")
        if tally.left_out:
            rows.append(f"[{tally.left_out:,} more entries; give a path or a smaller depth]")
        if tally.hidden:
            what, verb = ("entry", "is") if tally.hidden == 1 else ("entries", "are")
            rows.append(f"[{tally.hidden:,} {what} that a deny rule covers {verb} not listed]")
        entries = f"{tally.shown:,} {'entry' if tally.shown == 1 else 'entries'}"
        return ToolResult(True, "\n".join(rows), summary=entries)

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "path") if "path" in arguments else "."

    def subject(self, arguments: Mapping[str, Any]) -> Subject:
        folder = posixpath.normpath(text_of(arguments, "path") or ".")
        return Subject("listed", "folder", folder, folder)


@dataclass(slots=True)
class _Tally:
    rules: IgnoreRules
    depth: int
    stop: threading.Event
    hides: Callable[[Path], bool] | None
    """Returns whether a deny rule covers the path."""
    shown: int = 0
    left_out: int = 0
    hidden: int = 0


def _rows(folder: str, level: int, tally: _Tally) -> Iterator[str]:
    try:
        with os.scandir(tally.rules.root / folder) as scan:
            entries = sorted(scan, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name))
    except OSError as error:
        yield f"{'  ' * level}(cannot be read: {error.strerror})"
        return
    if tally.hides is not None:
        named = [entry for entry in entries if not tally.hides(Path(entry.path))]
        tally.hidden += len(entries) - len(named)
        entries = named
    room = MAX_ENTRIES if level == 1 else _MAX_IN_FOLDER
    for at, entry in enumerate(entries):
        if tally.shown >= MAX_ENTRIES or at >= room or tally.stop.is_set():
            rest = len(entries) - at
            tally.left_out += rest
            yield f"{'  ' * level}... {rest:,} more"
            return
        tally.shown += 1
        path = f"{folder}/{entry.name}" if folder else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        is_ignored = tally.rules.is_ignored_itself(path, is_folder)
        yield "  " * level + _label(entry, is_folder, is_ignored)
        if is_folder and not is_ignored and level < tally.depth:
            yield from _rows(path, level + 1, tally)


def _label(entry: os.DirEntry[str], is_folder: bool, is_ignored: bool) -> str:
    name = entry.name
    if entry.is_symlink():
        try:
            return f"{name} -> {Path(entry.path).readlink()}"
        except OSError:
            return f"{name} -> ?"
    if is_folder:
        return f"{name}/" + (" (ignored)" if is_ignored and name != ".git" else "")
    return name + (" (ignored)" if is_ignored else "")
