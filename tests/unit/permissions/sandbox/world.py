"""The folders around one person: home, workspace, outside, Forge's state."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from tests.unit.permissions.sandbox.people import Done, Person

SECRET = "the-secret-of-this-test"


@dataclass
class World:
    base: Path
    person: Person
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def work(self) -> Path:
        return self.base / "home" / "my work"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def state(self) -> Path:
        return self.base / "home" / ".local" / "state" / "forge"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHON": self.person.python,
            "OUTSIDE": str(self.outside),
            "WORK": str(self.work),
            "STATE": str(self.state),
            "GIT_CONFIG_NOSYSTEM": "1",
            **self.variables,
        }

    def run(self, command: str, *, sandbox: str = SandboxKind.BUBBLEWRAP, **more: object) -> Done:
        """Runs a bash command in the workspace."""
        return self.person.run(
            command,
            more.pop("folder", self.work),  # type: ignore[arg-type]
            state_dir=self.state,
            environment=self.environment,
            sandbox=sandbox,
            **more,  # type: ignore[arg-type]
        )

    def bare(self, command: str, **more: object) -> Done:
        return self.run(command, sandbox=SandboxKind.OFF, **more)

    def write(self, path: Path, text: str = SECRET, mode: int = 0o644) -> Path:
        """A file of the person's."""
        missing = [one for one in (path.parent, *path.parent.parents) if not one.exists()]
        for folder in reversed(missing):
            folder.mkdir()
            os.chown(folder, self.person.uid, -1)
        path.write_text(text)
        path.chmod(mode)
        os.chown(path, self.person.uid, -1)
        return path

    def own(self, path: Path) -> None:
        for one in (path, *path.rglob("*")):
            os.chown(one, self.person.uid, -1, follow_symlinks=False)


def make_world(base: Path, person: Person, template: Path) -> World:
    base.chmod(0o755)
    world = World(base, person)
    shutil.copytree(template, world.work, symlinks=True)
    world.outside.mkdir()
    world.write(world.outside / "file", "as it was\n")
    world.write(world.home / ".gitconfig", "[user]\n\tname = a\n\temail = a@example.org\n")
    world.write(world.home / ".ssh" / "id_ed25519", mode=0o600)
    world.write(world.state / "session")
    world.own(base)
    return world


def everything_in(folder: Path) -> dict[str, str]:
    """Every path below `folder` with its bytes, for comparison."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_bytes().hex() if os.access(path, os.R_OK) else "unreadable"
        else:
            found[name] = "folder"
    return found
