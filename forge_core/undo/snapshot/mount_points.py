"""What sandboxes are mounted over, as undo has to know it.

The kernel lifts a mount from a running sandbox when its mount point is removed or replaced, and the sandbox's
stand-ins for missing paths are no files of anybody.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class MountGuard(Protocol):
    """Knows the mount points of every sandbox on this machine; the sandbox package provides it."""

    def stand_ins(self) -> frozenset[Path]:
        """Where stand-ins are, or may be."""

    def in_use(self) -> frozenset[Path]:
        """The mount points of sandboxes that are alive."""

    def settled(self) -> AbstractContextManager[None]:
        """While it is held, neither changes."""


class NoMounts:
    """For a session without sandboxes."""

    def stand_ins(self) -> frozenset[Path]:
        return frozenset()

    def in_use(self) -> frozenset[Path]:
        return frozenset()

    @contextlib.contextmanager
    def settled(self) -> Iterator[None]:
        yield


class StandIns:
    """The stand-ins below one folder, by their names relative to it."""

    def __init__(self, root: Path, guard: MountGuard) -> None:
        self._root = root
        self._guard = guard

    def names(self) -> frozenset[str]:
        found = (path for path in self._guard.stand_ins() if path.is_relative_to(self._root))
        return frozenset(path.relative_to(self._root).as_posix() for path in found)
