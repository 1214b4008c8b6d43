"""Rules of the form `tool(pattern)`: parsed, matched, and made from a call.

For file tools the pattern is a glob on the real path relative to the folder (`src/**`, `*.py` at any depth);
one that starts with `/` or `~` speaks of absolute paths, and only such a one ever matches outside the folder.
For `bash`, `git status:*` means a command that starts with these words and adds nothing risky (additions.py);
anything else is the exact line, and a leading `=` makes it exact whatever follows. `network(npm install:*)`
is such a rule for commands that use the network. A bare `tool` or `tool(*)` means every call inside the
folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import ConfigError
from forge_core.permissions.paths import Place, is_secret
from forge_core.workspace.globs import compile_glob

SHELL_TOOL = "bash"
NETWORK = "network"
"""The name under which rules let a command use the network."""
EDITORS = frozenset({"edit", "multi_edit", "apply_patch"})
"""Faces of one engine: a rule for edit speaks of all three."""
WRITERS = EDITORS | {"write"}

_RULE = re.compile(r"\s*([A-Za-z_][\w.-]*|\*)\s*(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `pattern` None means any use of the tool."""

    tool: str
    pattern: str | None = None

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"

    @property
    def speaks_of_secrets(self) -> bool:
        """Whether the pattern itself names a file with keys: only then does it let such a file be touched."""
        return self.pattern is not None and is_secret(self.pattern)

    def names(self, tool: str, *, is_strict: bool = False) -> bool:
        """Whether the rule speaks of the tool; a rule that says no (`is_strict`) to one way of writing files
        says it to all."""
        if self.tool in ("*", tool) or (self.tool == "edit" and tool in EDITORS):
            return True
        return is_strict and self.tool in WRITERS and tool in WRITERS


def parse_rule(text: str) -> Rule:
    """Reads `tool` or `tool(pattern)`; raises ConfigError with what is wrong."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ConfigError(
            f"Rule {text!r} cannot be read. Write it as tool(pattern): bash(pytest:*), edit(src/**)."
        )
    tool, pattern = found[1], found[2]
    if pattern is not None and not pattern.strip():
        raise ConfigError(f"Rule {text!r} has an empty pattern. Write {tool} alone for every use of it.")
    return Rule(tool, None if pattern is None or pattern.strip() == "*" else pattern.strip())


def allows_paths(rule: Rule, places: Sequence[Place]) -> bool:
    """Whether an allow rule covers every place, judged by the real paths."""
    return bool(places) and all(_covers(rule, place, resolved_only=True) for place in places)


def denies_paths(rule: Rule, places: Sequence[Place]) -> bool:
    """Whether a deny rule matches any place, as given or resolved."""
    return any(_covers(rule, place, resolved_only=False) for place in places)


def matches_target(rule: Rule, target: str) -> bool:
    """For tools that are neither shell nor file tools: a glob on what the call acts on."""
    return rule.pattern is None or compile_glob(rule.pattern, any_depth=True).fullmatch(target) is not None


def rule_for_path(tool: str, place: Place) -> str:
    """The rule that "yes, for this session" adds for a file: this one file."""
    if place.relative is None:
        return f"{tool}({quoted(place.real.as_posix())})"
    return f"{tool}({'' if '/' in place.relative else './'}{quoted(place.relative)})"


def _covers(rule: Rule, place: Place, *, resolved_only: bool) -> bool:
    if place.is_secret and resolved_only and not rule.speaks_of_secrets:
        return False
    if rule.pattern is None:
        return place.is_inside or not resolved_only
    pattern = rule.pattern
    if pattern.startswith("~"):
        pattern = str(Path(pattern).expanduser())
    if pattern.endswith("/"):
        pattern += "**"
    if pattern.startswith("/"):
        absolute = [place.real.as_posix()] + ([] if resolved_only else [place.given.as_posix()])
        return any(compile_glob(pattern).fullmatch(path.lstrip("/")) for path in absolute)
    names = [place.relative] if place.relative is not None else []
    if not resolved_only:
        names.append(place.given.name)
    expression = compile_glob(pattern, any_depth=True)
    return any(expression.fullmatch(name) for name in names)


def quoted(path: str) -> str:
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
