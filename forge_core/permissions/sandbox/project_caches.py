"""Folders in Forge's state that sandboxed commands use as caches: one set for each workspace.

What a command in one workspace leaves there is seen by commands in the same workspace alone, so it can plant
nothing in what other projects, or the user, build with.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from forge_core.private_folders import make_private_folder

_KEPT_S = 14 * 24 * 3600


class ProjectCaches:
    """The caches of the workspace `root`, in `folder`."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._all = folder / "caches"
        self._own = self._all / _name(root)

    def folders_for(self, paths: Iterable[Path]) -> dict[Path, Path]:
        """Return for each path in a home the folder that a command sees there; it exists on return, and has
        been used now. Raises OSError when the state folder can't be written to."""
        folders = {path: self._own / _name(path) for path in paths}
        for folder in folders.values():
            make_private_folder(folder)
        if folders:
            os.utime(self._own)
        return folders

    def remove_unused(self) -> None:
        """Remove the caches of workspaces in which no command has run for two weeks, in a thread."""
        if unused := list(self._unused()):
            threading.Thread(target=_remove, args=(unused,), name="forge-caches", daemon=True).start()

    def _unused(self) -> Iterator[Path]:
        try:
            with os.scandir(self._all) as entries:
                for entry in entries:
                    if entry.stat(follow_symlinks=False).st_mtime < time.time() - _KEPT_S:
                        yield Path(entry.path)
        except OSError:
            return


def _name(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:24]


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        for path, names, _ in os.walk(folder):
            for name in names:  # Go makes folders that may not be changed
                inner = Path(path, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
