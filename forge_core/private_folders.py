"""Folders that only the user can enter."""

from __future__ import annotations

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create the folder and every missing one above it with mode 0700, whatever the umask.

    `Path.mkdir(parents=True, mode=0o700)` gives that mode to the last folder only. One that exists keeps the
    mode that it has. Raises OSError.
    """
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 - as it is called below for each folder above
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        make_private_folder(folder.parent)
        make_private_folder(folder)
    except OSError:  # it exists, or it cannot be created
        if not folder.is_dir():
            raise
