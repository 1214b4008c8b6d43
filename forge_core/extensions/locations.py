"""Where definitions are looked for, and how far: bounded, and never through a link out of the project."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from forge_core.config.forge_config import ForgeConfig
from forge_core.workspace.project_files import EXTENSION_PLACES, project_folders, project_root
from forge_core.workspace.trust import is_trusted

MAX_DEPTH = 4
"""Folders below the one that is searched."""
MAX_FOLDERS = 2_000
"""Of one kind in one place."""
MAX_FILES = 5_000
SKILL_FILE = "SKILL.md"


class ExtensionScope(StrEnum):
    """Who a definition comes from."""

    USER = "user"
    """The user's own; it always counts."""
    PROJECT = "project"
    """A file of the project; it counts once the user trusts the folder."""


class ExtensionKind(StrEnum):
    COMMAND = "command"
    SKILL = "skill"
    AGENT = "agent"
    STYLE = "style"


FOLDERS: dict[ExtensionKind, tuple[str, ...]] = {
    ExtensionKind.COMMAND: ("commands",),
    ExtensionKind.SKILL: ("skills",),
    ExtensionKind.AGENT: ("agents",),
    ExtensionKind.STYLE: ("styles", "output-styles"),
}
"""The folders of each kind, in every place that may hold definitions (`EXTENSION_FOLDERS`)."""


@dataclass(frozen=True, slots=True)
class SearchedFolder:
    """A folder that may hold definitions of one kind."""

    path: Path
    scope: ExtensionScope
    boundary: Path | None
    """A file whose real path is not below this real path is not read; None: links are followed."""


class FoundFile(NamedTuple):
    """A file that defines something."""

    path: Path
    real: Path
    """The same with all links resolved."""


def searched_folders(config: ForgeConfig, kind: ExtensionKind) -> list[SearchedFolder]:
    """Return the folders that count now, the strongest first: those of the project, if the user trusts it,
    the nearest first, then the user's own."""
    own = [
        SearchedFolder(place / name, ExtensionScope.USER, None)
        for place in config.own_extensions
        for name in FOLDERS[kind]
    ]
    if config.safe or not is_trusted(config):
        return own
    return [*project_searched_folders(config.working_dir, kind), *own]


def project_searched_folders(working_dir: Path, kind: ExtensionKind) -> list[SearchedFolder]:
    """Return the folders of the project that would count if the user trusted it, the strongest first."""
    boundary = Path(os.path.realpath(project_root(working_dir)))
    return [
        SearchedFolder(folder / place / name, ExtensionScope.PROJECT, boundary)
        for folder in reversed(project_folders(working_dir))
        for place in EXTENSION_PLACES
        for name in FOLDERS[kind]
    ]


def find_files(
    folder: SearchedFolder, kind: ExtensionKind, on_limit: Callable[[str], object] = lambda text: None
) -> Iterator[FoundFile]:
    """Yield the files that define something of a kind, in the order of their paths within each folder.

    Each real folder is visited once. `on_limit` is called at the end with each limit that left something out,
    as a clause that follows the path of the folder.
    """
    waiting = deque([(str(folder.path), os.path.realpath(folder.path), 0)])
    visited, found, is_deeper = set[str](), 0, False
    while waiting and len(visited) <= MAX_FOLDERS:  # the folder itself does not count
        path, real, depth = waiting.popleft()
        if real in visited or not _is_inside(real, folder.boundary):
            continue
        visited.add(real)
        if kind is ExtensionKind.SKILL:
            files = _skill_file(path, real)
            # What is below a skill belongs to it.
            folders = [] if files else _listed(path, real)[1]
        else:
            files, folders = _listed(path, real)
            files = [one for one in files if one[0].endswith(".md")]
        for name, real_file in files:
            if _is_inside(real_file, folder.boundary):
                found += 1
                if found <= MAX_FILES:
                    file = Path(path, name)
                    yield FoundFile(
                        file, file if path == real and real_file == str(file) else Path(real_file)
                    )
        if depth < MAX_DEPTH:
            waiting += [(f"{path}/{name}", real_folder, depth + 1) for name, real_folder in folders]
        else:
            is_deeper |= bool(folders)
    if waiting:
        on_limit(f"only the first {MAX_FOLDERS:,} folders below it were searched")
    elif is_deeper:
        on_limit(f"folders more than {MAX_DEPTH} levels below it were not searched")
    if found > MAX_FILES:
        on_limit(f"only the first {MAX_FILES:,} files count")


def _skill_file(path: str, real: str) -> list[tuple[str, str]]:
    """Return the name and the real path of the file that makes a folder a skill; none if there is none."""
    file = f"{path}/{SKILL_FILE}"
    try:
        mode = os.lstat(file).st_mode
        if stat.S_ISLNK(mode) and stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116  many folders
            return [(SKILL_FILE, os.path.realpath(file))]
    except OSError:
        return []
    return [(SKILL_FILE, f"{real}/{SKILL_FILE}")] if stat.S_ISREG(mode) else []


def _listed(path: str, real: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the names and real paths of the files and of the folders in a folder, sorted; none if it cannot
    be read. Only links are resolved: resolving each path would cost as much as reading the files."""
    files, folders = [], []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                is_link = entry.is_symlink()
                named = (entry.name, os.path.realpath(entry.path) if is_link else f"{real}/{entry.name}")
                with suppress(OSError):  # a link to itself, or out of reach
                    if entry.is_dir():
                        folders.append(named)
                    elif entry.is_file():
                        files.append(named)
    except OSError:
        return [], []
    return sorted(files), sorted(folders)


def _is_inside(real: str, boundary: Path | None) -> bool:
    return boundary is None or f"{real}/".startswith(f"{str(boundary).rstrip('/')}/")
