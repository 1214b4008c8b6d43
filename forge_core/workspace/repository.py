"""Finds the git repository around a folder, without running git."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from forge_core.workspace.beneath import open_file

_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree and its git directory."""

    top: Path
    """The folder that holds `.git`."""
    git_dir: Path
    """The directory of HEAD and the index; a linked worktree has its own."""
    common_dir: Path
    """The directory of config, refs and info/exclude; the same as `git_dir` except in a linked worktree."""


def find_repository(path: Path) -> Repository | None:
    """Return the repository that contains `path`, or None. Reads at most two small files per parent
    folder."""
    start = Path(os.path.normpath(path.absolute()))
    for folder in (start, *start.parents):
        git_dir = _git_dir(folder / ".git")
        if git_dir is not None:
            common = read_small(git_dir / "commondir")
            common_dir = Path(os.path.normpath(git_dir / common.strip())) if common else git_dir
            return Repository(folder, git_dir, common_dir)
    return None


def read_small(path: Path | str) -> str | None:
    """Return the text of a small regular file; None when it is missing, not a regular file, or over 64 KB."""
    try:
        with open_file(path) as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    return None if len(data) > _MAX_BYTES else data.decode("utf-8", "replace")


def _git_dir(dot_git: Path) -> Path | None:
    try:
        mode = dot_git.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return dot_git if (dot_git / "HEAD").exists() else None
    text = read_small(dot_git) or ""
    if not text.startswith("gitdir:"):
        return None
    target = Path(os.path.normpath(dot_git.parent / text.removeprefix("gitdir:").strip()))
    return target if (target / "HEAD").exists() else None
