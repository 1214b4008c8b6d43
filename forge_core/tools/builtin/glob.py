"""The glob tool: files by name."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from forge_core.errors import ToolError
from forge_core.permissions.path_info import is_secret
from forge_core.permissions.secret_content import holds_secret, needs_reading
from forge_core.tools.base import ExecutionContext, ToolParameter, ToolResult
from forge_core.tools.paths import display_path, folder_status, locate, search_scope
from forge_core.tools.searching.folder_tool import FolderTool
from forge_core.workspace.globs import compile_glob
from forge_core.workspace.ignore import IgnoreRules, WalkEntry, walk

MAX_RESULTS = 100


class GlobTool(FolderTool):
    """Finds files by a pattern, newest first, as git sees the folder."""

    name = "glob"
    claude_names = ("Glob",)
    description = (
        "Finds files by name pattern: * and ? within a name, ** over folders, {a,b}, [a-z]. A pattern "
        f"without a slash matches at any depth (*.py). Newest first, at most {MAX_RESULTS} paths. What "
        ".gitignore leaves out is left out, and so are key and .env files. Use grep to search in files, ls "
        "to see how a folder is laid out."
    )
    parameters = (
        ToolParameter("pattern", "string", "For example src/**/*.ts or test_*.py, relative to path."),
        ToolParameter("path", "string", "Folder to search in. Default: the workspace.", required=False),
    )
    advice = "Use glob, not find, to find files by name."
    title = "Find"

    def search(self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event) -> ToolResult:
        folder, pattern = _split(params, context)
        folder_status(folder, context)
        if ".." in pattern.split("/"):
            raise ToolError(
                f"the pattern {params['pattern']!r} has '..' after a wildcard. Give the folder as path."
            )
        root, start = search_scope(folder, context)
        below = len(start) + 1 if start else 0
        expression = compile_glob(pattern, any_depth=True)
        found: list[tuple[float, str]] = []
        secrets = 0
        for one in walk(root, IgnoreRules(root), start=start, stop=stop.is_set):
            if one.is_folder or not expression.fullmatch(one.path[below:]):
                continue
            is_hidden = context.hides is not None and context.hides(root / one.path)
            has_keys = needs_reading(one.path) and holds_secret(root / one.path)
            if is_hidden or has_keys or is_secret(one.path):
                secrets += 1
                continue
            found.append((_modified(one), one.path))
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        rows = [display_path(root / path, context) for _, path in found[:MAX_RESULTS]]
        if len(found) > MAX_RESULTS:
            rows.append(f"[{len(found) - MAX_RESULTS:,} more; narrow the pattern or give a path]")
        if secrets:
            rows.append(f"[{secrets} key, .env or denied file{'s' if secrets > 1 else ''} left out]")
        count = f"{len(found):,} file{'' if len(found) == 1 else 's'}"
        if not found:
            rows.insert(0, f"No file matches {params['pattern']!r} here (ignored ones aside).")
        return ToolResult(True, "\n".join(rows), summary=count)

    def folder(self, params: dict[str, Any], context: ExecutionContext) -> Path:
        return _split(params, context)[0]


def _split(params: dict[str, Any], context: ExecutionContext) -> tuple[Path, str]:
    """Return the folder to search, and the rest of the pattern.

    The segments before the first wildcard may lead anywhere, so they become part of the folder, which the
    policy judges.
    """
    pattern = params["pattern"].strip()
    folder = locate(params.get("path") or ".", context)
    head, parts = [], pattern.split("/")
    while len(parts) > 1 and not any(char in parts[0] for char in "*?[{\\"):
        head.append(parts.pop(0))
    leads_away = pattern.startswith(("/", "~")) or ".." in head
    if not leads_away:
        return folder, pattern
    return locate("/".join(head) or "/", ExecutionContext(folder)), "./" + "/".join(parts)


def _modified(one: WalkEntry) -> float:
    try:
        return one.entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
