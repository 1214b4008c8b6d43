"""The folders of a workspace: the one that Forge works in, and those that the user has added."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class WorkspaceFolders:
    """What counts as inside: the same rules hold in every folder of it.

    `folders / name` is a path relative to the main folder, as commands and models mean it.
    """

    main: Path
    """Commands start here, and relative paths begin here."""
    added: tuple[Path, ...] = ()
    """Real paths. None of them is in another one or in `main`, or holds it."""

    def __truediv__(self, name: str | Path) -> Path:
        return self.main / name

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.main, *self.added)

    def with_added(self, folder: Path) -> WorkspaceFolders:
        return replace(self, added=(*self.added, folder))


Workspace: TypeAlias = Path | WorkspaceFolders
"""A path alone is a workspace without added folders."""


def main_folder(workspace: Workspace) -> Path:
    """Return the folder in which commands start."""
    return workspace.main if isinstance(workspace, WorkspaceFolders) else workspace


def folders_of(workspace: Workspace) -> tuple[Path, ...]:
    """Return all folders as they were given, the main one first."""
    return workspace.all if isinstance(workspace, WorkspaceFolders) else (workspace,)


def real_folders(workspace: Workspace) -> tuple[Path, ...]:
    """Return the real paths of all folders, the main one first."""
    if isinstance(workspace, WorkspaceFolders):
        return (_real(workspace.main), *workspace.added)
    return (_real(workspace),)


def containing(real: Path, workspace: Workspace) -> Path | None:
    """Return the folder, as a real path, that the real path is in; None for a path outside."""
    return next((folder for folder in real_folders(workspace) if real.is_relative_to(folder)), None)


def is_in_workspace(real: Path, workspace: Workspace) -> bool:
    """Return whether the real path is in one of the folders."""
    return containing(real, workspace) is not None


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.normpath(path))
