"""The mount points of sandboxes, as far as undo has to know them.

The kernel removes a mount from a running sandbox when its mount point is removed or replaced. The
placeholders that the sandbox creates for missing paths belong neither to a command nor to the user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from forge_core.undo.storage.file_tree import name_below


class MountGuard(Protocol):
    """The mount points of every sandbox on this machine; implemented by the sandbox package."""

    def placeholders(self) -> frozenset[Path]:
        """Return the paths at which placeholders are, or may be."""

    def in_use(self) -> frozenset[Path]:
        """Return the mount points of running sandboxes."""

    def settled(self) -> AbstractContextManager[None]:
        """Keep both from changing in a `with` block."""


class NoMounts:
    """The mount guard of a session without sandboxes."""

    def placeholders(self) -> frozenset[Path]:
        return frozenset()

    def in_use(self) -> frozenset[Path]:
        return frozenset()

    @contextlib.contextmanager
    def settled(self) -> Iterator[None]:
        yield


def relative_placeholders(root: Path, guard: MountGuard) -> frozenset[str]:
    """Return the placeholders, by their paths relative to `root`; those that are not below it by their
    absolute paths."""
    return frozenset(name_below(root, path) for path in guard.placeholders())
