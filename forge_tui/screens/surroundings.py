"""What the screen takes from the world, in one value, so that pictures and tests can fix it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forge_core import __version__


def git_branch(folder: Path) -> str:
    """The branch checked out in `folder`; empty outside a repository."""
    from forge_core.workspace.git import branch  # after the first frame: it brings subprocess

    return branch(folder) or ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The real ones by default."""

    version: str = __version__
    clock: Callable[[], float] = time.monotonic
    """Seconds; only differences count."""
    branch: Callable[[Path], str] = git_branch
    home: Path = field(default_factory=Path.home)
