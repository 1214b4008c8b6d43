"""The mounts that a sandboxed command sees, in the order of bubblewrap's arguments: later ones win."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
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
_FRESH_CACHES = table(
    """pip uv pip-tools go-build npm yarn pnpm node-gyp deno bun ccache sccache mypy ruff black
    pre-commit-hooks fontconfig mesa_shader_cache matplotlib"""
)
"""Tools that fail, or lose their cache, when it can't be written: these start empty. The rest of ~/.cache
(Poetry's environments, browsers of test suites, models) is shown as it is, read-only."""
_MAX_CACHES = 48
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
    homes: Sequence[Path]
    protection: Protection
    standing: Sequence[Path]
    """Placeholders that exist."""
    hidden: Sequence[Path]
    """Secrets of a home and sockets."""
    empty: Path
    """The file that is shown instead of a hidden one: programs take it for "not configured"."""
    replaced: Sequence[tuple[Path, Path]]
    """Secrets in the workspace, each with the file that is shown instead."""
    extra_writable: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    is_read_only: bool = False
    """The workspace too can only be read."""

    @property
    def writable(self) -> list[Path]:
        return sorted({self.root, *self.extra_writable, *self.protection.writable}, key=_depth)


def mounts(inputs: LayoutInputs, hold: Callable[[str, Path], list[str]]) -> list[str]:
    """Return the arguments for bubblewrap that build the view upon a read-only root with its own /dev and
    /proc.

    `hold` returns the arguments for paths in writable folders: it gets "--bind" or "--ro-bind" and the path.
    """
    writable = inputs.writable
    private = [Path(one) for one in PRIVATE_FOLDERS if is_own_folder(Path(one))]
    arguments: list[str] = []
    for folder in private:
        arguments += ["--tmpfs", str(folder)]
    covered = [*private, Path("/dev")]
    for path in _shown_again(inputs, covered):
        arguments += ["--ro-bind", str(path), str(path)]
    inside: list[str] = []
    for path, part in [*_caches(inputs.homes), *_hidden(inputs, covered)]:
        (inside if _is_in_any(path, writable) else arguments).extend(part)
    how = "--ro-bind" if inputs.is_read_only else "--bind"
    for path in writable:
        arguments += [how, str(path), str(path)]
    held = [(path, how) for path in inputs.protection.pinned]
    held += [(path, "--ro-bind") for path in (*inputs.protection.read_only, *inputs.standing)]
    for path, how in sorted(dict.fromkeys(held), key=lambda one: (_depth(one[0]), str(one[0]), one[1])):
        arguments += hold(how, path)
    return arguments + inside


def environment_inside(inputs: LayoutInputs) -> dict[str, str]:
    """Return the variables of the command, with temporary and cache folders that it can write to, and
    without those that lead to sockets of the host."""
    inside = {name: value for name, value in inputs.environment.items() if name not in HOST_SOCKETS}
    for name in ("TMPDIR", "TMP", "TEMP"):
        if name in inside and not _is_in_any(Path(os.path.realpath(inside[name])), inputs.writable):
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
    """Return what a private folder covers and is needed nevertheless, read-only: the home, the folder the
    command starts in, the programs on PATH, the active virtual environment, name resolution."""
    wanted = [*inputs.homes, inputs.folder]
    named = [inputs.environment.get("VIRTUAL_ENV", ""), *inputs.environment.get("PATH", "").split(os.pathsep)]
    wanted += [_real(one) for one in named if one.startswith("/")]
    wanted += [Path(one) for one in _SHOWN_THROUGH]
    wanted += [Path(os.path.realpath(one)) for one in _RESOLVER]
    covered_paths = {
        one for one in wanted if _is_in_any(one, private) and not _is_in_any(one, inputs.writable)
    }
    return sorted((one for one in covered_paths if one not in private and is_there(one)), key=_depth)


def _hidden(inputs: LayoutInputs, private: Sequence[Path]) -> Iterable[tuple[Path, list[str]]]:
    reachable = [*inputs.homes, inputs.folder, *inputs.writable]
    for path in inputs.hidden:
        if _is_in_any(path, private) and not _is_in_any(path, reachable):
            continue
        if is_folder(path):
            yield path, ["--perms", "0555", "--tmpfs", str(path)]
        else:
            yield path, ["--ro-bind", str(inputs.empty), str(path)]
    for path, shown in inputs.replaced:
        yield path, ["--ro-bind", str(shown), str(path)]


def _caches(homes: Sequence[Path]) -> Iterable[tuple[Path, list[str]]]:
    for home in homes:
        npm = home / ".npm"
        if is_own_folder(npm):
            yield npm, ["--tmpfs", str(npm)]
        cache = home / ".cache"
        if not is_own_folder(cache) or not os.access(cache, os.R_OK):
            continue
        arguments = ["--tmpfs", str(cache)]
        kept = sorted(one for one in cache.iterdir() if one.name not in _FRESH_CACHES and is_own_folder(one))
        for child in kept[:_MAX_CACHES]:
            arguments += ["--ro-bind", str(child), str(child)]
        yield cache, arguments


def _is_in_any(path: Path, folders: Iterable[Path]) -> bool:
    whole = f"{path}/"
    return any(whole.startswith(f"{folder}/") for folder in folders)


@lru_cache(maxsize=256)
def _real(path: str) -> Path:
    """Remembered: the folders on PATH are the same for every command."""
    return Path(os.path.realpath(path))


def _depth(path: Path) -> int:
    return len(path.parts)
