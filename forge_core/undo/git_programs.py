"""The parts of git repositories that make git run programs, as far as a command can have changed them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from forge_core.undo.file_state import ABSENT, EntryKind, FileChange
from forge_core.undo.storage.file_tree import name_below, stamp_or_none

STEERING_FILES = (
    "config",
    "config.worktree",
    "commondir",
    "info/attributes",
    "info/exclude",
    "rebase-merge/git-rebase-todo",
)
"""In a `.git` folder: what makes git run programs, or leave files out of `git status`. A rebase runs the
`exec` lines of its list."""
_MAX_IGNORED_ENTRIES = 50_000
"""About 100 ms."""
_MAX_REPOSITORIES = 100
_MAX_HOOKS = 100


def steering_files(root: Path, repositories: Iterable[str]) -> dict[str, int | None]:
    """Return the `STEERING_FILES` and hooks of these `.git` entries, with stamps that change when they do.
    About 20 calls of stat for each."""
    found: dict[str, int | None] = {}
    for repository in sorted(repositories)[:_MAX_REPOSITORIES]:
        names = [f"{repository}/{name}" for name in STEERING_FILES]
        try:
            hooks = sorted(os.listdir(root / repository / "hooks"))[:_MAX_HOOKS]  # noqa: PTH208  names alone
        except OSError:
            hooks = []
        names += [f"{repository}/hooks/{name}" for name in hooks if not name.endswith(".sample")]
        found.update((name, stamp_or_none(root / name)) for name in names)
    return found


def differing(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> set[str]:
    """Return the files that have changed or come into being."""
    return {name for name, stamp in after.items() if stamp is not None and before.get(name) != stamp}


def bare_repositories(root: Path, changes: Iterable[FileChange]) -> set[str]:
    """Return the folders that these changes have made into a repository without a `.git` of its own: git uses
    one when it is called in it, or when a link leads to it."""
    heads = [
        change.path.removesuffix("/HEAD")
        for change in changes
        if change.path.endswith("/HEAD") and change.before == ABSENT and change.after.kind is EntryKind.FILE
    ]
    return {
        folder
        for folder in heads
        if not is_in_git(folder) and all((root / folder / name).is_dir() for name in ("objects", "refs"))
    }


def repositories_below(root: Path, names: Iterable[str]) -> set[str]:
    """Return the `.git` entries below those of `names` that end with a slash, as paths relative to `root`;
    those below an absolute name as absolute ones.

    It is for folders that git ignores, which a snapshot leaves out. Links are not followed; repositories in
    repositories are left out.
    """
    found: set[str] = set()
    left = _MAX_IGNORED_ENTRIES
    for folder in sorted(name for name in names if name.endswith("/")):
        for path, folders_in, files in os.walk(root / folder):
            left -= len(folders_in) + len(files)
            if left < 0:
                return found
            if ".git" in folders_in or ".git" in files:
                found.add(name_below(root, Path(path, ".git")))
                folders_in.clear()
    return found


def is_in_git(path: str) -> bool:
    """Return whether the path is a `.git` entry or below one."""
    return "/.git/" in f"/{path}/"
