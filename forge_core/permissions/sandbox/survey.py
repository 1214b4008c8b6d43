"""A bounded look through the workspace for what a command must not read, and for repositories in it."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.permissions.paths import is_secret
from forge_core.permissions.tables import table

MAX_ENTRIES = 4_000
"""About 5 ms. Nearer folders come first, so what is missed in a large tree lies deep."""
MAX_DEPTH = 4
MAX_SECRETS = 48

_SKIPPED = table(
    """node_modules bower_components __pycache__ site-packages dist-packages vendor target build dist out
    .venv venv .tox .nox .mypy_cache .ruff_cache .pytest_cache .cache .gradle .idea .next .nuxt .svn .hg"""
)
_KEY_HEADER_BYTES = 4_096


@dataclass(slots=True)
class Survey:
    """What was found, nearest first."""

    secrets: list[Path] = field(default_factory=list)
    """Real paths of regular files that hold keys or passwords; a link may lead to one elsewhere."""
    repositories: list[Path] = field(default_factory=list)
    """`.git` entries below the workspace's own."""


def survey(root: Path) -> Survey:
    """Looks through `root` (a real path), level by level, never into a folder through a link."""
    found = Survey()
    waiting = deque([(root, 0)])
    left = MAX_ENTRIES
    while waiting and left > 0:
        folder, depth = waiting.popleft()
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:
            continue
        left -= len(listed)
        if depth and any(entry.name == "pyvenv.cfg" for entry in listed):
            continue
        for entry in listed:
            if entry.name == ".git":
                if depth:
                    found.repositories.append(folder / entry.name)
            elif entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and entry.name not in _SKIPPED:
                    waiting.append((folder / entry.name, depth + 1))
            elif len(found.secrets) < MAX_SECRETS and is_secret(entry.name) and _is_worth_hiding(entry):
                found.secrets.append(Path(os.path.realpath(entry.path)))
    return found


def _is_worth_hiding(entry: os.DirEntry[str]) -> bool:
    """Of `*.pem` and `*.key`, only those that hold a private key: the rest are certificates."""
    if not entry.is_file():
        return False
    if not entry.name.endswith((".pem", ".key")):
        return True
    try:
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and b"PRIVATE KEY" in os.read(
            descriptor, _KEY_HEADER_BYTES
        )
    finally:
        os.close(descriptor)
