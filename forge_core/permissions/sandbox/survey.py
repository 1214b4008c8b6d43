"""A scan of the workspace for files that a command must not read, and for nested repositories."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.permissions.path_info import is_example, is_secret
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.sandbox.path_checks import is_there
from forge_core.permissions.secret_content import holds_secret, may_be_public, needs_reading
from forge_core.workspace.git_index import blob_id

MAX_ENTRIES = 1_000_000
"""50,000 files take about 100 ms the first time, then a stat for each folder. Nearer folders come first, so
what is missed in a larger tree is deep."""
MAX_SECRETS = 10_000
"""A repository of a cryptography library tracks thousands of test keys."""

_SKIPPED = table(
    """.git node_modules bower_components __pycache__ site-packages dist-packages .venv venv .tox .nox
    .mypy_cache .ruff_cache .pytest_cache .gradle .svn .hg"""
)
"""Packages of others, and what tools derive from the files of the project."""
_MAX_COMPARED_BYTES = 1_000_000
_GIT_TIMEOUT_S = 2.0
_MAX_PATHSPECS = 200
"""Git compares each with every entry of the index; with more the whole index is listed."""
_SETTLED_NS = 100_000_000
"""A folder changed less than this before it was read may change again within one tick of its clock."""


@dataclass(slots=True)
class SurveyResult:
    """What a survey found, nearest first."""

    secrets: list[Path] = field(default_factory=list)
    """Real paths of regular files that hold keys or passwords; a link may lead to one elsewhere."""
    repositories: list[Path] = field(default_factory=list)
    """`.git` entries below the workspace's own."""
    is_complete: bool = True
    """Whether one of the two limits was not reached."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """What matters of a folder's entries."""

    modified_ns: int
    entries: int
    folders: tuple[str, ...]
    secrets: tuple[str, ...]
    """By their names; of some the content decides."""
    has_git: bool
    is_environment: bool
    """A Python environment: its certificates and test keys are not the user's."""


class Survey:
    """Scans one workspace (a real path); unchanged folders are not read again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, _Folder] = {}
        self._linked: tuple[object, list[Path]] | None = None

    def scan(self) -> SurveyResult:
        """Scan level by level; links to folders are never followed."""
        found = SurveyResult()
        known: dict[str, _Folder] = {}
        root = str(self._root)
        waiting = deque([root])
        linked: set[tuple[int, int]] = set()
        left = MAX_ENTRIES
        while waiting and left > 0:
            path = waiting.popleft()
            folder = self._folder(path)
            if folder is None:
                continue
            known[path] = folder
            left -= folder.entries
            if path != root and folder.is_environment:
                continue
            if path != root and folder.has_git:
                found.repositories.append(Path(path, ".git"))
            for name in folder.secrets:
                if len(found.secrets) == MAX_SECRETS:
                    found.is_complete = False
                elif (status := _stat(f"{path}/{name}")) and _is_worth_hiding(path, name, status):
                    found.secrets.append(Path(os.path.realpath(f"{path}/{name}")))
                    if status.st_nlink > 1:
                        linked.add((status.st_dev, status.st_ino))
            waiting.extend(f"{path}/{name}" for name in folder.folders)
        found.is_complete = found.is_complete and not waiting
        self._known = known
        found.secrets += [path for path in self._links(linked) if path not in found.secrets]
        return found

    def _links(self, files: set[tuple[int, int]]) -> list[Path]:
        """Return all names of these files in the folders of the last scan, which are read again only when one
        of them has changed: it costs as much as the first scan."""
        if not files:
            return []
        state = (frozenset(files), tuple(self._known.values()))
        if self._linked is None or self._linked[0] != state:
            self._linked = (state, sorted(_names_of(files, self._known)))
        return self._linked[1]

    def _folder(self, path: str) -> _Folder | None:
        """Return the folder as remembered when its modification time is still the same, else read again."""
        try:
            modified_ns = os.stat(path, follow_symlinks=False).st_mtime_ns  # noqa: PTH116 - hot
            known = self._known.get(path)
            if known is not None and known.modified_ns == modified_ns:
                return known
            is_settled = time.time_ns() - modified_ns > _SETTLED_NS
            with os.scandir(path) as entries:
                return _read(list(entries), modified_ns if is_settled else -1)
        except OSError:
            return None


def _read(listed: list[os.DirEntry[str]], modified_ns: int) -> _Folder:
    is_folder = {entry.name: entry.is_dir(follow_symlinks=False) for entry in listed}
    return _Folder(
        modified_ns,
        len(listed),
        tuple(sorted(name for name, is_it in is_folder.items() if is_it and name not in _SKIPPED)),
        tuple(sorted(name for name, is_it in is_folder.items() if not is_it and _may_be_secret(name))),
        ".git" in is_folder,
        "pyvenv.cfg" in is_folder,
    )


def _names_of(files: set[tuple[int, int]], folders: Iterable[str]) -> Iterator[Path]:
    numbers = {number for _, number in files}
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.inode() in numbers and not entry.is_symlink():
                        status = entry.stat(follow_symlinks=False)
                        if (status.st_dev, status.st_ino) in files:
                            yield Path(entry.path)
        except OSError:
            continue


def _may_be_secret(name: str) -> bool:
    return is_secret(name) or needs_reading(name)


def _is_worth_hiding(folder: str, name: str, status: os.stat_result) -> bool:
    """Return whether it is a regular file that the command could read, and that holds keys or passwords as
    far as its content has to decide."""
    path = f"{folder}/{name}"
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.R_OK):
        return False
    return (is_secret(name) and not may_be_public(name)) or holds_secret(path)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - of many files for every command
    except OSError:
        return None


def tracked_secrets(root: Path, paths: Sequence[Path]) -> dict[Path, bool]:
    """Return those of `paths` that git tracks in `root`; True when the file is just what git has.

    Hiding such a file would protect nothing (`git show` gives it), and git would take the placeholder for a
    change. Equal bytes are asked for, not the name alone: a command could track the name with other bytes.
    """
    import subprocess

    from forge_core.workspace.git import hardened_git_args
    from forge_core.workspace.program_lookup import require_program, search_path

    if not paths or not is_there(root / ".git"):
        return {}
    names = {str(path.relative_to(root)): path for path in paths if path.is_relative_to(root)}
    options = (*hardened_git_args(), "-C", str(root), "--literal-pathspecs", "--no-optional-locks")
    try:
        command = (require_program("git", root), *options)
        done = subprocess.run(
            [*command, "ls-files", "--stage", "-z", "--", *(names if len(names) <= _MAX_PATHSPECS else ())],
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PATH": search_path(root)},
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[Path, bool] = {}
    for record in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, name = record.partition("\t")
        if (path := names.get(name)) is not None and len(fields := facts.split()) == 3:
            found[path] = _blob_id(path, len(fields[1])) == fields[1]
    return found


def committed_secrets(tracked: Mapping[Path, bool]) -> list[Path]:
    """Return the files of `tracked_secrets` that are just what git has, those to be read by everybody
    excepted."""
    return [path for path, is_same in tracked.items() if is_same and not is_example(path.name)]


def _blob_id(path: Path, digits: int) -> str:
    """Return the id of the blob that git makes of the file; empty when it is unreadable or large."""
    try:
        if path.stat().st_size > _MAX_COMPARED_BYTES:
            return ""
        return blob_id(path.read_bytes(), "sha256" if digits == 64 else "sha1").hex()
    except OSError:
        return ""
