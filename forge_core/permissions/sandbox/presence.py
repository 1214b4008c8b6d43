"""Whether something is there, asked without an exception: a folder that may not be entered holds nothing for
us."""

from __future__ import annotations

import stat
from pathlib import Path


def mode_of(path: Path, *, follow: bool = False) -> int | None:
    """The mode of `path`, of a link itself unless `follow`; None when nothing can be seen there."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return None


def is_there(path: Path) -> bool:
    """Whether `path` leads to something."""
    return mode_of(path, follow=True) is not None


def is_folder(path: Path) -> bool:
    """Whether `path` leads to a folder."""
    mode = mode_of(path, follow=True)
    return mode is not None and stat.S_ISDIR(mode)


def is_own_folder(path: Path) -> bool:
    """Whether `path` is a folder and no link to one."""
    mode = mode_of(path)
    return mode is not None and stat.S_ISDIR(mode)
