"""The files that may declare hooks. Sessions look for them without importing what runs hooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.locations import ExtensionScope
from forge_core.sanitize import safe_line
from forge_core.workspace.project_files import HOOK_FILES
from forge_core.workspace.trust import is_trusted

OWN_FILE = "hooks.json"
"""In the folder of the user's settings; needs no approval."""
CLAUDE_FILE = "settings.json"


@dataclass(frozen=True, slots=True)
class HookSource:
    """A file that declares hooks."""

    path: Path
    scope: ExtensionScope
    folder: Path
    """The folder for which its hooks are approved."""
    needs_approval: bool
    label: str
    """Its path as it is shown; safe to display."""


def hook_sources(config: ForgeConfig) -> list[HookSource]:
    """Return the files that count now and exist, the user's first: those of the project, if the user trusts
    it. Reads none of them."""
    if config.safe:
        return []
    found = []
    for place in config.own_extensions:
        is_own = place == config.config_dir
        if is_own or place.name == ".claude":
            path = place / (OWN_FILE if is_own else CLAUDE_FILE)
            found.append(HookSource(path, ExtensionScope.USER, place, not is_own, _at_home(path)))
    if any(os.path.lexists(config.working_dir / name) for name in HOOK_FILES) and is_trusted(config):
        root = config.working_dir
        found += [HookSource(root / name, ExtensionScope.PROJECT, root, True, name) for name in HOOK_FILES]
    return list(_different_files(found))


def _different_files(sources: list[HookSource]) -> Iterator[HookSource]:
    """Yield those that exist, each real file once: a home directory may be the project."""
    seen: set[str] = set()
    for source in sources:
        real = os.path.realpath(source.path)
        if os.path.exists(real) and real not in seen:  # noqa: PTH110  most starts find none of them
            seen.add(real)
            yield source


def _at_home(path: Path) -> str:
    home = Path.home()
    return safe_line(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))
