"""A real folder with a real store, the steps that tools take in it, and a look at it that owes undo nothing."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.undo import CommandEffects, UndoStore

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}

Shape = tuple[str, int, bytes]
"""Kind, permission bits, bytes or target."""


def shell(root: Path, command: str) -> int:
    """Run a command; return its exit status."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "LC_ALL": "C.UTF-8", **GIT}
    return subprocess.run(
        ["bash", "-c", command], cwd=root, env=environment, capture_output=True, check=False, timeout=180
    ).returncode


def make_repository(root: Path) -> None:
    shell(root, "git init -q -b main . && git add -A && git commit -q --allow-empty -m first")


def shapes(root: Path) -> dict[str, Shape]:
    """Everything below `root` but `.git`."""
    found: dict[str, Shape] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*folders, *files]:
            path = f"{folder}/{name}"
            found[os.path.relpath(path, root)] = shape(path)
    return found


def shape(path: str | Path) -> Shape:
    status = os.lstat(path)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return "link", 0, os.fsencode(os.readlink(path))  # noqa: PTH115  a Path would normalise it
    if stat.S_ISDIR(status.st_mode):
        return "folder", mode, b""
    if stat.S_ISREG(status.st_mode):
        return "file", mode, Path(path).read_bytes()
    return "other", mode, b""


def times(root: Path) -> dict[str, tuple[int, int]]:
    """Modification time and inode of every file and link."""
    found = {}
    for name, (kind, _, _) in shapes(root).items():
        status = os.lstat(root / name)
        if kind != "folder":
            found[name] = status.st_mtime_ns, status.st_ino
    return found


@dataclass
class Workspace:
    root: Path
    store: UndoStore
    troubles: list[str] = field(default_factory=list)

    async def run(self, command: str) -> CommandEffects:
        """A command, as the bash tool would run it."""
        watch = await self.store.before_command(expected_effects(command, self.root))
        exit_status = shell(self.root, command)
        return await self.store.after_command(watch, exit_status=exit_status)

    def changed(self) -> set[str]:
        """The paths that the last turn has changed."""
        return {name for name, _ in self.store.turns()[-1].changes}

    async def edit(self, name: str, act: Callable[[Path], object]) -> None:
        """A change by a file tool."""
        path = self.root / name
        await self.store.capture(path)
        act(path)
        await self.store.settle()

    async def write(self, name: str, text: str) -> None:
        def act(path: Path) -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

        await self.edit(name, act)

    async def turn(self, text: str, *commands: str) -> list[CommandEffects]:
        await self.store.begin_turn(text)
        effects = [await self.run(command) for command in commands]
        await self.store.end_turn()
        return effects


def make_workspace(folder: Path, *, limit_bytes: int = 1 << 28, max_entries: int | None = None) -> Workspace:
    root = folder / "ws"
    root.mkdir(exist_ok=True)
    troubles: list[str] = []
    store = UndoStore(
        root,
        folder / "state" / "s1" / "undo",
        limit_bytes=limit_bytes,
        on_trouble=troubles.append,
        max_entries=max_entries,
    )
    return Workspace(root, store, troubles)
