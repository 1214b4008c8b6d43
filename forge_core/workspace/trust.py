"""Trust in a folder: what in it would configure Forge or instruct the model, and the user's decision.

A repository may be hostile: its rules may allow everything, its instructions ask for keys. So none of it
applies before the user has agreed; the decision is stored in the user's state by the folder's real path,
where the repository cannot change it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.load import PROJECT_FILE, read_project_settings
from forge_core.config.project_state import change_project_state, read_project_state
from forge_core.config.settings import SETTINGS
from forge_core.sanitize import safe_line
from forge_core.workspace.project_files import (
    EXTENSION_FOLDERS,
    EXTENSION_PLACES,
    HOOK_FILES,
    SERVER_FILE,
    find_instructions,
    project_folders,
    read_project_file,
)

_FOLDER = ".forge"
_HARMLESS = frozenset({"config.toml", "themes", ".gitignore"})
_MAX_ENTRIES = 6
_MAX_HOOK_BYTES = 1_000_000
_MAX_EMPTY_BYTES = 1_000
"""A longer file with MCP servers declares some."""
_NO_SERVERS = re.compile(r'\s*(?:\{\s*(?:"mcpServers"\s*:\s*\{\s*\}\s*)?\})?\s*')


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """The question whether the user trusts a folder."""

    folder: Path
    findings: tuple[str, ...]
    """What would configure Forge or instruct the model, one line each; safe to display."""


class TrustStore:
    """The user's decisions, stored in the state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def decision(self, root: Path) -> bool | None:
        """Return the decision about `root`; None when there is none yet."""
        return read_project_state(self._state_dir, root)[0].trusted

    def decide(self, root: Path, trusted: bool) -> None:
        """Store the decision. Raises ConfigError when that fails."""
        change_project_state(self._state_dir, root, lambda state: replace(state, trusted=trusted))


def is_trusted(config: ForgeConfig) -> bool:
    """Return whether the session's folder is trusted: since the start, or by a decision made since."""
    decided = TrustStore(config.state_dir).decision(config.working_dir)
    return bool(decided) or (config.is_trusted and decided is not False)


def trust_question(config: ForgeConfig) -> TrustQuestion | None:
    """Return the question for the start of a session; None when it is decided or there is nothing to ask."""
    if config.is_trusted or TrustStore(config.state_dir).decision(config.working_dir) is not None:
        return None
    findings = what_would_act(config.working_dir, in_short=True)
    return TrustQuestion(config.working_dir, findings) if findings else None


def what_would_act(root: Path, *, in_short: bool = False) -> tuple[str, ...]:
    """Return what would configure Forge or instruct the model if the folder were trusted, one line each;
    `in_short` without the names of commands, skills, agents and styles.

    Runs nothing, and follows no link out of the folder.
    """
    extensions, hooks = [*_extensions(root, in_short=in_short)], _hooks(root, in_short=in_short)
    acting = (*extensions, *hooks, *_servers(root, in_short=in_short))
    return (*_settings(root), *_entries(root), *acting, *_instructions(root))


def _settings(root: Path) -> tuple[str, ...]:
    settings = read_project_settings(root, [], is_trusted=True)
    steering = [name for name in settings if SETTINGS[name].project != "always"]
    if not steering:
        return ()
    parts = [_setting_text(name, settings[name]) for name in steering]
    return (safe_line(f"{PROJECT_FILE} sets {', '.join(parts)}"),)


def _setting_text(name: str, value: object) -> str:
    if isinstance(value, tuple):
        shown = ", ".join(map(str, value[:3])) + (f" and {len(value) - 3} more" if len(value) > 3 else "")
        return f"{name}: {shown[:160]}"
    return f"{name}: {str(value)[:80]}"


def _entries(root: Path) -> tuple[str, ...]:
    """Return all other entries of .forge: a later version may use what this one does not know."""
    try:
        with os.scandir(root / _FOLDER) as scan:
            names = sorted(entry.name for entry in islice(scan, 1000) if entry.name not in _HARMLESS)
    except OSError:
        return ()
    shown = [f"{_FOLDER}/{safe_line(name)[:80]}" for name in names[:_MAX_ENTRIES]]
    if len(names) > _MAX_ENTRIES:
        shown.append(f"{len(names) - _MAX_ENTRIES} more in {_FOLDER}/")
    return tuple(shown)


def _extensions(root: Path, *, in_short: bool) -> Iterator[str]:
    """Yield the folders with commands, skills, agents and styles, each with the names in it; `in_short` the
    kinds in each place."""
    for folder in project_folders(root):
        for place in EXTENSION_PLACES:
            if (folder, place) == (root, _FOLDER):
                continue  # listed by `_entries`
            found = {kind: names for kind in EXTENSION_FOLDERS if (names := _names_in(folder / place / kind))}
            path = safe_line(os.path.relpath(folder / place, root))
            if in_short and found:
                yield f"{path}: {', '.join(found)}"
            elif found:
                yield from (f"{path}/{kind}: {_listing(names)}" for kind, names in found.items())


def _hooks(root: Path, *, in_short: bool) -> tuple[str, ...]:
    """Return the files besides .forge that declare programs to run at events of a session."""
    others = (name for name in HOOK_FILES if not name.startswith(_FOLDER))
    files = ((name, read_project_file(root, name, _MAX_HOOK_BYTES)) for name in others)
    found = [name for name, file in files if file is not None and '"hooks"' in file.text]
    if in_short and found:
        return (f"hooks in {', '.join(found)}",)
    return tuple(f"{name}: hooks; Forge asks before one runs" for name in found)


def _servers(root: Path, *, in_short: bool) -> tuple[str, ...]:
    """Return the file that declares MCP servers, unless it declares none."""
    file = read_project_file(root, SERVER_FILE, _MAX_EMPTY_BYTES)
    if file is None or (not file.is_cut and _NO_SERVERS.fullmatch(file.text)):
        return ()
    if in_short:
        return (f"MCP servers in {SERVER_FILE}",)
    return (f"{SERVER_FILE}: MCP servers; Forge asks before one starts",)


def _names_in(folder: Path) -> list[str]:
    """Return the names in a folder, without their ends; none if it cannot be read."""
    try:
        with os.scandir(folder) as scan:
            names = [entry.name for entry in islice(scan, 1000) if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(safe_line(name.removesuffix(".md"))[:40] for name in names)


def _listing(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_ENTRIES} more" if len(names) > _MAX_ENTRIES else ""
    return ", ".join(names[:_MAX_ENTRIES]) + more


def _instructions(root: Path) -> tuple[str, ...]:
    found: list[str] = []
    for folder in project_folders(root):
        for name in find_instructions(folder):
            if (file := read_project_file(folder, name, 0)) is not None:
                path = safe_line(os.path.relpath(folder / name, root))
                found.append(f"{path} instructs the model ({file.size:,} bytes)")
    return tuple(found)
