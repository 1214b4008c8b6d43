"""What `git commit` runs in a repository: hooks, and the program that signs. Only named, never run, here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.sanitize import safe_line
from forge_core.workspace.git import run_git
from forge_core.workspace.repository import Repository

COMMIT_HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
)
_FALSE = ("", "false", "no", "off", "0", "never")


@dataclass(frozen=True, slots=True)
class CommitPrograms:
    """The programs that a commit runs."""

    hooks: tuple[str, ...] = ()
    """Names of hooks, in the order in which git runs them."""
    folder: str = ""
    """Where they are: relative to the top of the work tree, if it is inside."""
    signer: str = ""
    """The program that signs; empty if nothing is signed."""
    monitor: str = ""
    """A program that tells git which files have changed (core.fsmonitor)."""

    @property
    def text(self) -> str:
        """What runs, in one line; empty if nothing does."""
        where = f" ({self.folder})" if self.folder else ""
        parts = [f"{', '.join(self.hooks)}{where}"] if self.hooks else []
        parts += [f"{self.signer} to sign"] if self.signer else []
        parts += [f"core.fsmonitor {self.monitor}"] if self.monitor else []
        return safe_line("; ".join(parts))


async def commit_programs(repository: Repository) -> CommitPrograms:
    """Return what `git commit` would run now, by the settings of all scopes."""
    settings = await _settings(repository.top)
    given = settings.get("core.hookspath", "")
    folder = _hook_folder(repository, given)
    found = {name for name in COMMIT_HOOKS if os.access(folder / name, os.X_OK)}
    # Newer versions of git also take hooks from settings: hook.NAME.event and hook.NAME.command.
    found |= {
        value for name, value in settings.items() if name.startswith("hook.") and name.endswith(".event")
    }
    hooks = tuple(name for name in COMMIT_HOOKS if name in found)
    place = str(folder)
    if folder.is_relative_to(repository.top):
        place = folder.relative_to(repository.top).as_posix()
    signs = settings.get("commit.gpgsign", "").lower() not in _FALSE
    monitor = settings.get("core.fsmonitor", "")
    is_program = monitor.lower() not in (*_FALSE, "true", "yes", "on", "1")
    return CommitPrograms(
        hooks, place if hooks else "", _signer(settings) if signs else "", monitor if is_program else ""
    )


def _hook_folder(repository: Repository, given: str) -> Path:
    if not given:
        return repository.common_dir / "hooks"
    return repository.top / os.path.expanduser(given)  # noqa: PTH111  as git does: ~ and ~user


def _signer(settings: dict[str, str]) -> str:
    kind = settings.get("gpg.format", "openpgp").lower()
    usual = {"ssh": "ssh-keygen", "x509": "gpgsm"}.get(kind, "gpg")
    own = settings.get(f"gpg.{kind}.program", "")
    return own or (settings.get("gpg.program", "") if kind == "openpgp" else "") or usual


async def _settings(top: Path) -> dict[str, str]:
    """Return the settings that count, without those of Forge's own calls: name in small letters → value."""
    try:
        listed = await run_git(top, "config", "--null", "--show-scope", "--list")
    except WorkspaceError:
        return {}
    fields = listed.stdout.split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    found: dict[str, str] = {}
    for scope, entry in pairs:
        if scope != "command":
            name, has_value, value = entry.partition("\n")
            found[name.lower()] = value if has_value else "true"
    return found
