"""Whether the person trusts a folder: what in it would act or instruct, and what they have decided.

What comes with a repository may be an attack: rules that allow everything, instructions that ask for keys. So
none of it counts before the person has said yes; the answer is kept in their own state by the folder's real
path, where the repository cannot reach it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from forge_core.config.load import PROJECT_FILE, read_project_settings
from forge_core.config.models import ForgeConfig
from forge_core.config.project_state import ProjectState, change_project_state, read_project_state
from forge_core.config.settings import SETTINGS
from forge_core.sanitize import safe_line
from forge_core.workspace.project_files import find_instructions, read_project_file

_FOLDER = ".forge"
_HARMLESS = frozenset({"config.toml", "themes", ".gitignore"})
_MAX_ENTRIES = 6


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """What the person is asked about a folder."""

    folder: Path
    findings: tuple[str, ...]
    """What would act or instruct, one line each; safe to show."""


class TrustStore:
    """The decisions, in the user's state."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def decision(self, root: Path) -> bool | None:
        """What was decided about `root`; None: nothing yet."""
        return read_project_state(self._state_dir, root)[0].trusted

    def is_trusted(self, root: Path) -> bool:
        return bool(self.decision(root))

    def decide(self, root: Path, trusted: bool) -> None:
        """Keeps the decision. Raises ConfigError when it cannot be kept."""

        def change(state: ProjectState) -> ProjectState:
            return replace(state, trusted=trusted)

        change_project_state(self._state_dir, root, change)


def is_trusted(config: ForgeConfig) -> bool:
    """Whether the session's folder is trusted now: since the start, or by a decision made meanwhile."""
    decided = TrustStore(config.state_dir).decision(config.working_dir)
    return bool(decided) or (config.is_trusted and decided is not False)


def trust_question(config: ForgeConfig) -> TrustQuestion | None:
    """What to ask when the session starts; None when it was decided, or nothing there would act."""
    if config.is_trusted or TrustStore(config.state_dir).decision(config.working_dir) is not None:
        return None
    findings = what_would_act(config.working_dir)
    return TrustQuestion(config.working_dir, findings) if findings else None


def what_would_act(root: Path) -> tuple[str, ...]:
    """What in the folder would steer Forge or instruct the model if it were trusted, one line each. Runs
    nothing, follows no link out of the folder."""
    return (*_settings(root), *_entries(root), *_instructions(root))


def _settings(root: Path) -> tuple[str, ...]:
    settings = read_project_settings(root, [], is_trusted=True)
    steering = [name for name in settings if SETTINGS[name].project != "always"]
    if not steering:
        return ()
    parts = [_told(name, settings[name]) for name in steering]
    return (safe_line(f"{PROJECT_FILE} sets {', '.join(parts)}"),)


def _told(name: str, value: object) -> str:
    if isinstance(value, tuple):
        shown = ", ".join(map(str, value[:3])) + (f" and {len(value) - 3} more" if len(value) > 3 else "")
        return f"{name}: {shown[:160]}"
    return f"{name}: {str(value)[:80]}"


def _entries(root: Path) -> tuple[str, ...]:
    """Anything else in .forge: what this version does not know, a later one may."""
    try:
        with os.scandir(root / _FOLDER) as scan:
            names = sorted(entry.name for entry in islice(scan, 1000) if entry.name not in _HARMLESS)
    except OSError:
        return ()
    shown = [f"{_FOLDER}/{safe_line(name)[:80]}" for name in names[:_MAX_ENTRIES]]
    if len(names) > _MAX_ENTRIES:
        shown.append(f"{len(names) - _MAX_ENTRIES} more in {_FOLDER}/")
    return tuple(shown)


def _instructions(root: Path) -> tuple[str, ...]:
    lines = []
    for name in find_instructions(root):
        found = read_project_file(root, name, 0)
        if found is not None:
            lines.append(f"{name} instructs the model ({found.size:,} bytes)")
    return tuple(lines)
