"""What a decision on a command line depends on, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from forge_core.config.project_state import Scripts
from forge_core.config.settings import PermissionMode
from forge_core.permissions.rules.rule import SHELL_TOOL
from forge_core.permissions.rules.rule_book import RuleBook
from forge_core.permissions.shell.syntax import SimpleCommand
from forge_core.permissions.verdict import By, Decision

Strength: TypeAlias = Literal["full", "weak", "off"]


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision depends on but the line."""

    root: Path
    mode: PermissionMode
    sandbox: Strength
    book: RuleBook
    tool: str = SHELL_TOOL
    needs_network: bool = False
    scripts: Mapping[str, Scripts] = field(default_factory=dict)
    """Allow rule → the scripts that its line named when it was allowed."""

    @property
    def is_sandboxed(self) -> bool:
        return self.sandbox == "full"


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a line, and what was decided of it."""

    text: str
    decision: Decision
    reason: str
    rule: str = ""
    by: By = "policy"
    notes: tuple[str, ...] = ()
    """What was found on the way: wrappers taken off, files written, where it stands."""
    words: tuple[str, ...] = ()
    is_named: bool = False
    """A rule names it, rather than a list or a mode."""


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """The decision on the line, and on its parts."""

    decision: Decision
    reason: str
    rule: str = ""
    by: By = "policy"
    parts: tuple[Part, ...] = ()
    deciding: Part | None = None
    is_destructive: bool = False
    is_single: bool = False
    """It asks each time, whatever rule is added."""
    is_read_only: bool = False
    asking: tuple[SimpleCommand, ...] = ()
    """The commands that nothing allows yet."""
    problem: str = ""
