"""Instruction files for coding assistants, read without following links out of the project."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from forge_core.workspace.beneath import open_file
from forge_core.workspace.repository import find_repository

INSTRUCTION_FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".github/copilot-instructions.md",
)
"""Relative to the folder; all that exist are read, in this order."""

EXTENSION_PLACES = (".forge", ".agents", ".claude")
"""The folders of a project that may hold commands, skills, agents and styles, the strongest first."""
EXTENSION_FOLDERS = ("commands", "skills", "agents", "styles", "output-styles")
"""The folders in them, by what they hold."""
HOOK_FILES = (".forge/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
"""The files of a project that may declare programs to run at events of a session."""
SERVER_FILE = ".mcp.json"
"""The file of a project that may declare MCP servers."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """An instruction file, or its first part."""

    path: str
    """Relative to the folder."""
    text: str
    size: int
    """Bytes of the whole file."""
    is_cut: bool = False


def project_root(folder: Path) -> Path:
    """Return the top of the git repository around a folder; the folder itself without one, or where another
    user owns it: anyone may create a repository in /tmp."""
    repository = find_repository(folder)
    if repository is None:
        return folder
    try:
        is_own = repository.top.stat().st_uid == folder.stat().st_uid
    except OSError:
        return folder
    return repository.top if is_own else folder


def project_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders whose instructions apply in `folder`, from the project's root down to it."""
    top = project_root(folder)
    between = [parent for parent in folder.parents if parent.is_relative_to(top)]
    return (*reversed(between), folder)


def find_instructions(root: Path) -> tuple[str, ...]:
    """Return the instruction files in `root`, each real file once: CLAUDE.md is often a link to AGENTS.md.

    Links that lead out of the folder, and entries that are not regular files, are left out.
    """
    found: dict[str, str] = {}
    for name in INSTRUCTION_FILES:
        real = _inside(root, name)
        if real is not None and real not in found.values():
            found[name] = real
    return tuple(found)


def read_project_file(root: Path, name: str, limit: int) -> ProjectFile | None:
    """Return the file's first `limit` bytes as text; None when it is not a regular file inside `root`."""
    real = _inside(root, name)
    if real is None:
        return None
    try:
        with open_file(real, os.O_NOFOLLOW) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit + 1)
    except OSError:
        return None
    text = data[:limit].decode("utf-8-sig", "replace")
    return ProjectFile(name, text, size, is_cut=len(data) > limit)


def _inside(root: Path, name: str) -> str | None:
    """Return the real path of a regular file inside `root`, or None."""
    try:
        real = Path(os.path.realpath(root / name))
        inside = real.is_relative_to(os.path.realpath(root))
        return str(real) if inside and stat.S_ISREG(real.lstat().st_mode) else None
    except (OSError, ValueError):
        return None
