"""What `git add` and `git commit` run in a repository: hooks, the program that signs, and what its settings
name. Only named, never run, here."""

from __future__ import annotations

import os
import re
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
    "pre-auto-gc",
)
_OWN_PROGRAMS = re.compile(
    r"filter\..+\.(?:clean|process)|gc\.recentobjectshook|gpg\.ssh\.defaultkeycommand", re.DOTALL
)
"""Settings of a repository whose programs `git add` or `git commit` may run. Those that the user has set for
all repositories, such as the filter of git-lfs, are their own."""
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
    settings: tuple[str, ...] = ()
    """Settings that name a program, each with its value: "core.fsmonitor ./watch"."""

    @property
    def text(self) -> str:
        """What runs, in one line; empty if nothing does."""
        where = f" ({self.folder})" if self.folder else ""
        parts = [f"{', '.join(self.hooks)}{where}"] if self.hooks else []
        parts += [f"{self.signer} to sign"] if self.signer else []
        return safe_line("; ".join([*parts, *self.settings]))


async def commit_programs(repository: Repository) -> CommitPrograms:
    """Return what `git commit` would run now, by the settings of all scopes."""
    settings, own = await _settings(repository.top)
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
    named = [f"core.fsmonitor {monitor}"] if is_program else []
    named += [f"{name} {settings[name]}" for name in sorted(own) if _OWN_PROGRAMS.fullmatch(name)]
    return CommitPrograms(hooks, place if hooks else "", _signer(settings) if signs else "", tuple(named))


def _hook_folder(repository: Repository, given: str) -> Path:
    if not given:
        return repository.common_dir / "hooks"
    return repository.top / os.path.expanduser(given)  # noqa: PTH111  as git does: ~ and ~user


def _signer(settings: dict[str, str]) -> str:
    kind = settings.get("gpg.format", "openpgp").lower()
    usual = {"ssh": "ssh-keygen", "x509": "gpgsm"}.get(kind, "gpg")
    own = settings.get(f"gpg.{kind}.program", "")
    return own or (settings.get("gpg.program", "") if kind == "openpgp" else "") or usual


async def _settings(top: Path) -> tuple[dict[str, str], set[str]]:
    """Return the settings that count, without those of Forge's own calls (name in small letters → value), and
    the names of those that the repository sets itself."""
    try:
        listed = await run_git(top, "config", "--null", "--show-scope", "--list")
    except WorkspaceError:
        return {}, set()
    fields = listed.stdout.split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    found: dict[str, str] = {}
    own: set[str] = set()
    for scope, entry in pairs:
        if scope != "command":
            name, has_value, value = entry.partition("\n")
            found[name.lower()] = value if has_value else "true"
            if scope in ("local", "worktree"):
                own.add(name.lower())
    return found, own
