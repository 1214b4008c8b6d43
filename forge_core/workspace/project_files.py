"""The files by which a project speaks to coding assistants: found, and read without being led astray."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

INSTRUCTION_FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".github/copilot-instructions.md",
)
"""Relative to the folder; those that exist are all read, in this order."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """One of these files, or its head."""

    path: str
    """Relative to the folder."""
    text: str
    size: int
    """Bytes of the whole file."""
    is_cut: bool = False


def find_instructions(root: Path) -> tuple[str, ...]:
    """Which of the instruction files `root` holds, one once: CLAUDE.md is often a link to AGENTS.md.

    A link that leads out of the folder, and what is no regular file, does not count.
    """
    found: dict[str, str] = {}
    for name in INSTRUCTION_FILES:
        real = _inside(root, name)
        if real is not None and real not in found.values():
            found[name] = real
    return tuple(found)


def read_project_file(root: Path, name: str, limit: int) -> ProjectFile | None:
    """The file's first `limit` bytes as text; None when it is not there, or not a regular file inside."""
    real = _inside(root, name)
    if real is None:
        return None
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None
        try:
            data = file.read(limit + 1)
        except OSError:
            return None
    text = data[:limit].decode("utf-8-sig", "replace")
    return ProjectFile(name, text, about.st_size, is_cut=len(data) > limit)


def _inside(root: Path, name: str) -> str | None:
    """The real path of a regular file that lies inside `root`, or None."""
    try:
        real = Path(os.path.realpath(root / name))
        inside = real.is_relative_to(os.path.realpath(root))
        return str(real) if inside and stat.S_ISREG(real.lstat().st_mode) else None
    except (OSError, ValueError):
        return None
