"""The mounts that a sandboxed command sees, in the order of bubblewrap's arguments: later ones win."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.sandbox.home_view import HomeView, is_in
from forge_core.permissions.sandbox.path_checks import is_folder, is_own_folder, is_there
from forge_core.permissions.sandbox.protected import Protection

PRIVATE_FOLDERS = ("/tmp", "/var/tmp", "/run", "/var/run", "/mnt/wslg")
"""Replaced by empty private folders: other programs' temporary files, and the sockets of every service."""
_SHOWN_THROUGH = (
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/nixos",
    "/run/systemd/resolve/resolv.conf",
)
_RESOLVER = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/localtime")
"""Often links into /run."""
HOST_SOCKETS = table(
    """XDG_RUNTIME_DIR SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DISPLAY
    WAYLAND_DISPLAY DOCKER_HOST CONTAINER_HOST WSL_INTEROP TMUX STY"""
)
"""Variables that lead to sockets of the host."""


@dataclass(frozen=True, slots=True)
class LayoutInputs:
    """Everything the layout depends on; all paths are real ones."""

    root: Path
    folder: Path
    protection: Protection
    standing: Sequence[Path]
    """Placeholders that exist."""
    home: HomeView
    hidden: Sequence[Path]
    """Forge's own files, secrets of the system, and sockets."""
    empty: Path
    """The file that is shown instead of a hidden one: programs take it for "not configured"."""
    replaced: Sequence[tuple[Path, Path]]
    """Secrets in the workspace, each with the file that is shown instead."""
    caches: Mapping[Path, Path] = field(default_factory=dict)
    """Folders of `home.caches`, each with the folder that the command uses instead; others start empty."""
    extra_writable: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    is_read_only: bool = False
    """The workspace too can only be read."""

    @property
    def writable(self) -> list[Path]:
        return sorted({self.root, *self.extra_writable, *self.protection.writable}, key=_depth)


def mounts(
    inputs: LayoutInputs, hold: Callable[[str, Path], list[str]], copy: Callable[[bytes], str]
) -> list[str]:
    """Return the arguments for bubblewrap that build the view upon a read-only root with its own /dev and
    /proc.

    `hold` returns the arguments for paths in writable folders: it gets "--bind" or "--ro-bind" and the path.
    `copy` returns the number of a descriptor from which the content can be read.
    """
    writable = inputs.writable
    private = [Path(one) for one in PRIVATE_FOLDERS if is_own_folder(Path(one))]
    arguments: list[str] = []
    for folder in private:
        arguments += ["--tmpfs", str(folder)]
    for path in _shown_again(inputs, [*private, Path("/dev")]):
        arguments += ["--ro-bind", str(path), str(path)]
    for folder in inputs.home.covered:
        arguments += ["--tmpfs", str(folder)]
    covered = [*private, Path("/dev"), *inputs.home.covered, *inputs.home.masked]
    inside: list[str] = []
    for path, part in [*_home(inputs, copy), *_hidden(inputs, covered)]:
        (inside if is_in(path, writable) else arguments).extend(part)
    for path in (*inputs.home.homes, inputs.folder):
        if is_in(path, covered) and not is_in(path, writable):
            arguments += ["--dir", str(path)]
    how = "--ro-bind" if inputs.is_read_only else "--bind"
    for path in writable:
        arguments += [how, str(path), str(path)]
    held = [(path, how) for path in inputs.protection.pinned]
    held += [(path, "--ro-bind") for path in (*inputs.protection.read_only, *inputs.standing)]
    for path, how in sorted(dict.fromkeys(held), key=lambda one: (_depth(one[0]), str(one[0]), one[1])):
        arguments += hold(how, path)
    for folder in inputs.home.covered:
        inside += ["--remount-ro", str(folder)]
    return arguments + inside


def environment_inside(inputs: LayoutInputs) -> dict[str, str]:
    """Return the variables of the command, with temporary and cache folders that it can write to, and
    without those that lead to sockets of the host."""
    inside = {name: value for name, value in inputs.environment.items() if name not in HOST_SOCKETS}
    for name in ("TMPDIR", "TMP", "TEMP"):
        if name in inside and not is_in(Path(os.path.realpath(inside[name])), inputs.writable):
            inside[name] = "/tmp"
    home = Path(os.path.realpath(inside.get("HOME", "/")))
    if not is_folder(home / ".cache"):
        inside.setdefault("XDG_CACHE_HOME", "/tmp/.cache")
    if not is_folder(home / ".npm"):
        inside.setdefault("npm_config_cache", "/tmp/.npm")
    if "PWD" in inside:
        inside["PWD"] = str(inputs.folder)
    return inside


def _shown_again(inputs: LayoutInputs, private: Sequence[Path]) -> list[Path]:
    """Return what a private folder covers and is needed nevertheless, read-only: the folder the command
    starts in, what the user has listed, the programs on PATH, the active virtual environment, name
    resolution."""
    wanted = [inputs.folder, *inputs.home.readable]
    named = [inputs.environment.get("VIRTUAL_ENV", ""), *inputs.environment.get("PATH", "").split(os.pathsep)]
    wanted += [_real(one) for one in named if one.startswith("/")]
    wanted += [Path(one) for one in _SHOWN_THROUGH]
    wanted += [Path(os.path.realpath(one)) for one in _RESOLVER]
    visible = [*inputs.writable, *inputs.home.covered]
    covered_paths = {one for one in wanted if is_in(one, private) and not is_in(one, visible)}
    return sorted((one for one in covered_paths if one not in private and is_there(one)), key=_depth)


def _hidden(inputs: LayoutInputs, private: Sequence[Path]) -> Iterable[tuple[Path, list[str]]]:
    reachable = [*inputs.home.shown, *inputs.home.readable, inputs.folder, *inputs.writable]
    for path in inputs.hidden:
        if is_in(path, private) and not is_in(path, reachable):
            continue
        yield path, mask(path, inputs.empty)
    for path, shown in inputs.replaced:
        yield path, ["--ro-bind", str(shown), str(path)]


def _home(inputs: LayoutInputs, copy: Callable[[bytes], str]) -> Iterator[tuple[Path, list[str]]]:
    """Yield what is seen of the homes, outer folders first."""
    view = inputs.home
    for path in view.masked:
        yield path, mask(path, inputs.empty)
    parts = [
        (
            path,
            ["--bind", str(inputs.caches[path]), str(path)]
            if path in inputs.caches
            else ["--tmpfs", str(path)],
        )
        for path in view.caches
    ]
    parts += [(path, ["--ro-bind", str(real), str(path)]) for path, real in view.shown.items()]
    parts += [(path, ["--ro-bind-data", copy(content), str(path)]) for path, content in view.copies.items()]
    yield from sorted(parts, key=lambda one: _depth(one[0]))


def mask(path: Path, empty: Path) -> list[str]:
    """Return the arguments that show an empty folder in place of a folder, or the file `empty` in place of a
    file."""
    if is_folder(path):
        return ["--perms", "0555", "--tmpfs", str(path)]
    return ["--ro-bind", str(empty), str(path)]


@lru_cache(maxsize=256)
def _real(path: str) -> Path:
    """Remembered: the folders on PATH are the same for every command."""
    return Path(os.path.realpath(path))


def _depth(path: Path) -> int:
    return len(path.parts)
