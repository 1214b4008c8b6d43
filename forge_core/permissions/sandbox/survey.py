"""A scan of the workspace for files that a command must not read, and for nested repositories."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.permissions.path_info import is_secret
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.sandbox.path_checks import closing_descriptor, is_there
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
_KEY_HEADER_BYTES = 4_096
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
    has_git: bool
    is_environment: bool
    """A Python environment: its certificates and test keys are not the user's."""


class Survey:
    """Scans one workspace (a real path); unchanged folders are not read again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, _Folder] = {}

    def scan(self) -> SurveyResult:
        """Scan level by level; links to folders are never followed."""
        found = SurveyResult()
        known: dict[str, _Folder] = {}
        root = str(self._root)
        waiting = deque([root])
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
                elif _is_worth_hiding(f"{path}/{name}"):
                    found.secrets.append(Path(os.path.realpath(f"{path}/{name}")))
            waiting.extend(f"{path}/{name}" for name in folder.folders)
        found.is_complete = found.is_complete and not waiting
        self._known = known
        return found

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
        tuple(sorted(name for name, is_it in is_folder.items() if not is_it and is_secret(name))),
        ".git" in is_folder,
        "pyvenv.cfg" in is_folder,
    )


def _is_worth_hiding(path: str) -> bool:
    """Of `*.pem` and `*.key`, only those that hold a private key: the rest are certificates."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False  # the command can't read it either
    with closing_descriptor(descriptor):
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        return not path.endswith((".pem", ".key")) or b"PRIVATE KEY" in os.read(descriptor, _KEY_HEADER_BYTES)


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


def _blob_id(path: Path, digits: int) -> str:
    """Return the id of the blob that git makes of the file; empty when it is unreadable or large."""
    try:
        if path.stat().st_size > _MAX_COMPARED_BYTES:
            return ""
        return blob_id(path.read_bytes(), "sha256" if digits == 64 else "sha1").hex()
    except OSError:
        return ""
