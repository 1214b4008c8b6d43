"""What a command sees of the home folders: nothing but toolchains, harmless configuration, and what the user
lists.

The list is in `shown_at_home`. What it cannot name is found here: the programs on PATH and what their links
lead to, the interpreter of a virtual environment, the repository around the workspace, and Forge's own
interpreter, which sets up a part of the sandbox. The workspace may be hostile, so nothing in it can name what
is shown: an interpreter counts only where its standard library is beside it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

from forge_core.permissions.path_info import is_secret
from forge_core.permissions.sandbox.configuration_copies import git_files, git_folders, without_logins
from forge_core.permissions.sandbox.path_checks import is_folder, is_own_folder, is_there, mode_of
from forge_core.permissions.sandbox.protected import protection
from forge_core.permissions.sandbox.shown_at_home import (
    CACHES,
    FILTERED_FILES,
    HARMLESS_FILES,
    LOCAL_PROGRAMS,
    OPEN_NAMES,
    PREFIX_PARTS,
    TOOLCHAIN_VARIABLES,
    TOOLCHAINS,
)

_FOLDERS_OF_HOMES = ("/home", "/root", "/Users", "/mnt/c/Users")
"""Hidden as well: a command of root could read the homes of others."""
_MIXED = (".config", ".cache", ".local", ".local/share", ".local/state", "Library")
"""Folders that many programs share; never shown as a whole."""
_XDG = {".config": "XDG_CONFIG_HOME", ".local/share": "XDG_DATA_HOME", ".cache": "XDG_CACHE_HOME"}
"""The variables that move them."""
_SYSTEM = tuple(map(Path, ("/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys")))
"""No homes, even if the user database says so."""
_INSTALLED = (*_SYSTEM, *map(Path, ("/opt", "/nix", "/snap", "/var/lib/flatpak", "/dev")))
"""Where links in a home may lead without hiding what is there."""
_VARIABLES = ("PATH", "VIRTUAL_ENV", *_XDG.values(), *TOOLCHAIN_VARIABLES)
"""What the view depends on."""
_ENVIRONMENTS = (".venv", "venv", "env")
_MAX_HOPS = 8
_MAX_LINKS = 300
_MAX_ENTRIES = 500


@dataclass(slots=True)
class HomeView:
    """What is hidden and what is shown."""

    homes: Sequence[Path] = ()
    covered: list[Path] = field(default_factory=list)
    """Real folders that are empty for the command, but for what is shown."""
    masked: list[Path] = field(default_factory=list)
    """Real paths outside of those that are hidden too: where links in a home lead, and what is in a home in
    the workspace."""
    shown: dict[Path, Path] = field(default_factory=dict)
    """Where the command sees it → the real path of what it sees; only to be read. Sorted by depth."""
    copies: dict[Path, bytes] = field(default_factory=dict)
    """Configuration files with the content that is shown."""
    caches: list[Path] = field(default_factory=list)
    """Empty folders that the command can write to."""
    readable: list[Path] = field(default_factory=list)
    """What of it is shown because the user has listed it."""
    repository: Path | None = None
    """What is shown of it because the workspace is a folder in it."""


class HomeViewer:
    """Finds out what is hidden and shown to commands in the workspace `root`, and keeps it until something
    may have changed. `readable` is what the user has listed."""

    def __init__(self, root: Path, readable: Sequence[Path] = ()) -> None:
        self._root = root
        self._readable = readable
        self._known: tuple[object, list[tuple[str, int]], HomeView] | None = None

    def view(
        self, homes: Sequence[Path], environment: Mapping[str, str], writable: Iterable[Path] = ()
    ) -> HomeView:
        """Return what a command sees of the real folders `homes`; `writable` are other folders that it may
        change. About 10 ms, and 0.5 ms while the folders that were looked at have not changed."""
        view = HomeView(homes)
        finder = _Finder(view, homes, environment, (self._root, *writable))
        finder.hide()
        variables = [environment.get(name) for name in _VARIABLES]
        key = (view.covered, view.masked, homes, variables, finder.writable)
        if (
            self._known is None
            or self._known[0] != key
            or any(_modified_ns(path) != at for path, at in self._known[1])
        ):
            watched = [(path, _modified_ns(path)) for path in finder.watched(self._root, self._readable)]
            for home in homes:
                finder.add_home(home)
            finder.add_programs_on_path()
            for folder in finder.writable:
                finder.add_environments(folder)
            finder.add_own_interpreter()
            finder.add_repository(self._root)
            for path in self._readable:
                finder.add(path, is_chosen=True)
            view.readable = [Path(os.path.realpath(path)) for path in self._readable]
            finder.remove_duplicates()
            self._known = (key, watched, view)
        return self._known[2]


@dataclass(slots=True)
class _Finder:
    view: HomeView
    homes: Sequence[Path]
    environment: Mapping[str, str]
    writable: Sequence[Path]

    def watched(self, root: Path, readable: Iterable[Path]) -> list[str]:
        """Return the folders and files whose change may change what is shown."""
        names = [name for toolchain in TOOLCHAINS for name in toolchain.folders]
        names += [*HARMLESS_FILES, *FILTERED_FILES, *CACHES, ".config/git/config", ".gitconfig"]
        folders = [Path(self.environment.get(toolchain.variable) or "/") for toolchain in TOOLCHAINS]
        folders += [self._located(home, name) for home in self.homes for name in names]
        folders += readable
        folders += map(Path, self.environment.get("PATH", "").split(os.pathsep))
        tops = {*self.view.covered, *self.view.masked, *self.homes}
        found = {one for folder in folders for one in (folder, *folder.parents) if is_in(one, tops)}
        found |= {one for one in root.parents if is_in(one, tops)}
        return [str(folder / name / "bin") for folder in self.writable for name in _ENVIRONMENTS] + [
            str(one) for one in found if is_there(one)
        ]

    def hide(self) -> None:
        """Determine the folders that are empty for the command, and what else is hidden."""
        named = [self.environment.get(name, "") for name in _XDG.values()]
        folders = [*self.homes, *(Path(os.path.realpath(one)) for one in (*_FOLDERS_OF_HOMES, *named) if one)]
        folders += other_mounts(folders, _mounts())
        for folder in sorted(set(folders), key=_depth):
            is_outside = folder != Path("/") and not is_in(
                folder, (*self.view.covered, *self.writable, *_SYSTEM)
            )
            if is_outside and is_folder(folder) and os.access(folder, os.R_OK | os.X_OK):
                self.view.covered.append(folder)
        self.view.masked = list(dict.fromkeys(path for home in self.homes for path in self._masked_of(home)))

    def _masked_of(self, home: Path) -> Iterator[Path]:
        """Yield where a home's links lead, and, if it is in the workspace, whatever is not worked on."""
        for name, is_link in _entries(home):
            if not name.startswith(".") and name not in {"snap", "Library"}:
                continue
            if not is_link and not is_in(home, self.writable):
                continue
            real = Path(os.path.realpath(home / name))
            if is_in(real, self.writable):
                is_work = name in OPEN_NAMES or (is_link and not (is_secret(name) or is_secret(str(real))))
            else:
                is_work = is_in(real, (*self.view.covered, *_INSTALLED))
            if not is_work and not any(is_in(one, [real]) for one in self.writable):
                yield real

    def add(self, path: Path, *, is_chosen: bool = False) -> None:
        """Show `path` where it is hidden, also at the real path where its links lead."""
        if not os.path.lexists(path):
            return
        real = Path(os.path.realpath(path))
        if not (is_chosen or self._may_be_shown(path, real)) or not is_there(real):
            return
        for to in {path, real}:
            if self.is_hidden(to):
                self.view.shown[to] = real

    def is_hidden(self, path: Path) -> bool:
        """Return whether the command does not see what is at `path` unless it is shown."""
        if is_in(path, self.view.masked):
            return True
        return is_in(path, self.view.covered) and not is_in(path, self.writable)

    def _may_be_shown(self, path: Path, real: Path) -> bool:
        """Return whether it is no home, no folder above one, and none that many programs share. A path in
        the workspace is none of the user's: a link there could lead anywhere."""
        if is_in(path, self.writable) and not is_in(path, self.view.masked):
            return False
        guarded = [*self.homes, *(home / name for home in self.homes for name in _MIXED)]
        return not any(is_in(one, [real]) for one in guarded)

    def add_home(self, home: Path) -> None:
        for toolchain in TOOLCHAINS:
            folders = [self._located(home, name) for name in toolchain.folders]
            named = Path(self.environment.get(toolchain.variable) or "-")
            is_marked = named.is_absolute() and any(is_there(named / mark) for mark in toolchain.marks)
            if is_marked and self._may_be_shown(named, Path(os.path.realpath(named))):
                folders.append(named)
            for folder in folders:
                if is_folder(folder):
                    for part in toolchain.parts or (".",):
                        self.add(folder / part)
        for name in HARMLESS_FILES:
            self.add(self._located(home, name))
        config_home = self._located(home, ".config")
        named_files = (self._located(home, name) for name in FILTERED_FILES)
        copies = [(path, without_logins(path)) for path in named_files if is_there(path)]
        for path, content in [*copies, *git_files(home, config_home)]:
            if content is not None and self.is_hidden(path):
                self.view.copies[path] = content
        for path in git_folders(home, config_home):
            self.add(path)
        caches = (self._located(home, name) for name in CACHES)
        self.view.caches += [one for one in caches if self.is_hidden(one) and is_own_folder(one)]

    def _located(self, home: Path, name: str) -> Path:
        for default, variable in _XDG.items():
            if f"{name}/".startswith(f"{default}/") and (
                moved := self.environment.get(variable, "")
            ).startswith("/"):
                return Path(moved, name[len(default) + 1 :])
        return home / name

    def add_programs_on_path(self) -> None:
        """Show the folders on PATH, and what their programs need beside them or behind links."""
        for entry in dict.fromkeys(self.environment.get("PATH", "").split(os.pathsep)):
            folder = Path(entry)
            if not entry.startswith("/") or not self.is_hidden(folder):
                continue
            self.add(folder)
            if folder.name in {"bin", "sbin"}:
                self._add_prefix(folder.parent)
            for target in _links_in(folder, _modified_ns(folder)):
                self._add_program(target)

    def _add_program(self, target: Path) -> None:
        """Show a program that a link leads to: with its virtual environment, else alone."""
        if not self.is_hidden(target) or is_in(target, self.view.shown):
            return
        mode = mode_of(target, follow=True)
        if mode is None or not stat.S_ISREG(mode) or not mode & 0o111:
            return
        environment = target.parent.parent
        if is_there(environment / "pyvenv.cfg"):
            self.add(environment)
            self._add_interpreter(environment / "bin/python")
        else:
            self.add(target)

    def add_environments(self, root: Path) -> None:
        """Show the active virtual environment, and the interpreters of those in the workspace."""
        active = Path(self.environment.get("VIRTUAL_ENV") or "-")
        if is_there(active / "pyvenv.cfg"):
            self.add(active)
        for folder in (active, *(root / name for name in _ENVIRONMENTS)):
            self._add_interpreter(folder / "bin/python")

    def add_own_interpreter(self) -> None:
        """Show what runs `confine.py` inside bubblewrap."""
        self.add(Path(__file__).with_name("confine.py"))
        if sys.executable:
            self.add(Path(sys.executable))
            self.add(Path(sys.prefix, "pyvenv.cfg"))
            self._add_interpreter(Path(sys.executable))

    def _add_interpreter(self, python: Path) -> None:
        """Show the installation of an interpreter, at each place through which the links to it lead."""
        if not python.is_absolute():
            return
        version = Path(os.path.realpath(python)).name
        for hop in _hops(python):
            prefix = hop.parent.parent
            if hop.parent.name == "bin" and is_there(prefix / "lib" / version / "os.py"):
                self._add_prefix(prefix)

    def _add_prefix(self, prefix: Path) -> None:
        if self._may_be_shown(prefix, Path(os.path.realpath(prefix))):
            for part in PREFIX_PARTS:
                self.add(prefix / part)

    def add_repository(self, root: Path) -> None:
        """Show the repository that the workspace is a folder of."""
        top = next((one for one in root.parents if os.path.lexists(one / ".git")), None)
        if top is None or not self.is_hidden(top) or not self._may_be_shown(top, top):
            return
        self.view.repository = top
        for folder in (top, *protection(top).writable):
            self.add(folder)

    def remove_duplicates(self) -> None:
        """Remove what is shown with a folder above it, and sort."""
        shown = self.view.shown
        self.view.shown = {
            to: shown[to]
            for to in sorted(shown, key=_depth)
            if not any(one in shown and shown[one] / to.relative_to(one) == shown[to] for one in to.parents)
        }


def local_programs(view: HomeView) -> list[tuple[Path, Path]]:
    """Return those entries of `shown` that lie in folders which users fill by hand too, such as `~/bin`."""
    named = [home / name for home in view.homes for name in LOCAL_PROGRAMS.folders]
    folders = [*named, *(Path(os.path.realpath(one)) for one in named)]
    return [(shown, real) for shown, real in view.shown.items() if is_in(shown, folders)]


@lru_cache(maxsize=1)
def _mounts() -> str:
    """Return the mounts of this process, as they were when the first command ran."""
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def other_mounts(folders: Iterable[Path], mountinfo: str) -> list[Path]:
    """Return where else the folders can be seen: a bind mount or a subvolume may show them a second time.

    Source: man 5 proc, /proc/pid/mountinfo.
    """
    rows = [line.split(" ", 5) for line in mountinfo.splitlines()]
    mounts = [(row[2], Path(_unescaped(row[3])), Path(_unescaped(row[4]))) for row in rows if len(row) == 6]
    found = []
    for folder in folders:
        around = [one for one in mounts if is_in(folder, [one[2]])]
        if not around:
            continue
        device, top, point = max(reversed(around), key=lambda one: _depth(one[2]))
        inside = top / folder.relative_to(point)
        for other_device, other_top, other_point in mounts:
            if other_device == device and is_in(inside, [other_top]):
                found.append(other_point / inside.relative_to(other_top))
    return [one for one in dict.fromkeys(found) if one not in folders]


def _unescaped(name: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda one: chr(int(one[1], 8)), name)


def is_in(path: Path, folders: Iterable[Path]) -> bool:
    """Return whether `path` is one of `folders`, or lies in one."""
    whole = f"{path}/"
    return any(whole.startswith(f"{folder}/".replace("//", "/")) for folder in folders)


def _entries(home: Path) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(home) as entries:
            yield from ((entry.name, entry.is_symlink()) for entry in islice(entries, _MAX_ENTRIES))
    except OSError:
        return


@lru_cache(maxsize=64)
def _links_in(folder: Path, _modified: int) -> tuple[Path, ...]:
    """Return the absolute paths through which the links in a folder lead."""
    links = [folder / name for name, is_link in _entries(folder) if is_link]
    return tuple(dict.fromkeys(hop for link in links for hop in _hops(link)[1:]))


def _hops(path: Path) -> list[Path]:
    """Return `path`, what it links to, what that links to, …, and the real path."""
    hops = [path]
    for _ in range(_MAX_HOPS):
        try:
            hops.append(Path(os.path.normpath(hops[-1].parent / hops[-1].readlink())))
        except OSError:
            break
    return list(dict.fromkeys([*hops, Path(os.path.realpath(path))]))


def _modified_ns(path: str | Path) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - of many paths for every command
    except OSError:
        return 0


def _depth(path: Path) -> int:
    return len(path.parts)
