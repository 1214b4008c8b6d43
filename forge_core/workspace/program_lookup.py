"""Where Forge finds the programs that it runs itself: git, rg, bash, bwrap, the editor and those of the
clipboard.

None of them comes from the workspace or a folder added to it. A repository could bring its own, and so could
a sandboxed command, as where a virtual environment in the workspace is part of PATH: Forge would run it
outside the sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_MAX_LINKS = 40
"""As in the kernel."""
_left_out: dict[str, None] = {}
"""The real paths of all folders of a workspace with several. They stay until the process ends: a command may
have put a program into one that has been left."""


def leave_out_programs(folders: Iterable[Path]) -> None:
    """Take no program from these folders from now on, whatever the workspace is that a caller names."""
    _left_out.update(dict.fromkeys(map(os.path.realpath, folders)))


def find_program(name: str, root: Path, path: str | None = None) -> str | None:
    """Return the absolute path of the program; None if there is none outside the workspace `root`.

    `path` is a search path, by default PATH. The result may be a link: some programs act by the name that
    they are called by.
    """
    roots = _roots(root)
    for folder in _folders(path):
        program = f"{folder}/{name}"
        is_program = os.path.isfile(program) and os.access(program, os.X_OK)  # noqa: PTH113
        if is_program and not _leads_through_any(program, roots):
            return program
    return None


def require_program(name: str, root: Path) -> str:
    """Return the path of the program. Raise FileNotFoundError if there is none outside the workspace."""
    if program := find_program(name, root):
        return program
    raise FileNotFoundError(f"{name} was not found in PATH, outside {str(root)!r}")


def search_path(root: Path, path: str | None = None) -> str:
    """Return the folders of the search path (by default PATH) that are outside the workspace `root`, for the
    programs that git starts."""
    roots = _roots(root)
    return os.pathsep.join(one for one in _folders(path) if not _leads_through_any(one, roots)) or os.defpath


def _roots(root: Path) -> tuple[str, ...]:
    return (os.path.realpath(root), *_left_out)


def _folders(path: str | None) -> Iterator[str]:
    """Yield the folders of a search path, but for relative ones: those are in the current folder."""
    path = os.environ.get("PATH", os.defpath) if path is None else path
    return (one for one in path.split(os.pathsep) if one.startswith("/"))


def _leads_through_any(path: str, roots: tuple[str, ...]) -> bool:
    return any(_leads_through(path, root) for root in roots)


def _leads_through(path: str, root: str) -> bool:
    """Return whether the path, or a link on the way, is below `root`: a command could replace it later."""
    if root == "/":
        return False
    place, names, links = "/", path.split("/")[::-1], 0
    while names:
        name = names.pop()
        if name in ("", "."):
            continue
        if name == "..":
            place = os.path.dirname(place)  # noqa: PTH120
            continue
        place = f"{place.rstrip('/')}/{name}"
        if place == root or place.startswith(f"{root}/"):
            return True
        try:
            target = os.readlink(place)  # noqa: PTH115  as text: a Path would drop its dots
        except OSError:
            continue
        links += 1
        if links > _MAX_LINKS:
            return True
        names += target.split("/")[::-1]
        place = "/" if target.startswith("/") else os.path.dirname(place)  # noqa: PTH120
    return False
