"""Rules of the form `tool(pattern)`: parsed, matched, and made from a call.

For file tools the pattern is a glob on the real path relative to the folder (`src/**`, `*.py` at any depth);
one that starts with `/` or `~` speaks of absolute paths, and only such a one ever matches outside the folder.
For `bash`, `git status:*` means a command that starts with these words and adds nothing risky (additions.py);
anything else is the exact command, and a leading `=` makes it exact whatever follows. A bare `tool` or
`tool(*)` means every call inside the folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import ConfigError
from forge_core.permissions.additions import is_harmless, is_risky
from forge_core.permissions.paths import Place, is_secret
from forge_core.permissions.shell_syntax import words_of
from forge_core.workspace.globs import compile_glob

SHELL_TOOL = "bash"

_RULE = re.compile(r"\s*([A-Za-z_][\w.-]*|\*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_META = re.compile(r"[;&|<>$`\n\r(){}\x00]")


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

    def names(self, tool: str) -> bool:
        return self.tool in ("*", tool)


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


def allows_command(rule: Rule, command: str, root: Path, *, is_granted: bool = False) -> bool:
    """Whether an allow rule covers the whole command, run in `root`. Fails closed: what a prefix leaves over
    may hold no character by which the shell could start, feed or redirect anything else, and no risky word;
    of a rule that `is_granted` by a "yes, for this session" it lets through nothing but harmless words."""
    if rule.pattern is None:
        return True
    command = command.strip()
    prefix = _prefix(rule.pattern)
    if prefix is None:
        return command == rule.pattern.removeprefix("=")
    if not prefix or not command.startswith(prefix):
        return False
    rest = command[len(prefix) :]
    if rest and (rest[0] != " " or _META.search(rest)):
        return False
    return is_harmless(command, prefix, root) if is_granted else not is_risky(command, prefix, root)


def denies_command(rule: Rule, command: str) -> bool:
    """Whether a deny rule's words stand anywhere in the line, unquoted, also behind wrappers and within
    substitutions. Fails closed: words that are only mentioned count too."""
    if rule.pattern is None:
        return True
    pattern = _prefix(rule.pattern)
    wanted = words_of(rule.pattern.removeprefix("=") if pattern is None else pattern)
    if not wanted:
        return command.strip() == rule.pattern
    words = words_of(command)
    return any(_same(words[at : at + len(wanted)], wanted) for at in range(len(words) - len(wanted) + 1))


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
        return f"{tool}({_quoted(place.real.as_posix())})"
    return f"{tool}({'' if '/' in place.relative else './'}{_quoted(place.relative)})"


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


def _prefix(pattern: str) -> str | None:
    """The words that the command has to start with, or None for an exact pattern."""
    if pattern.startswith("=") or not pattern.endswith(":*"):
        return None
    return pattern.removesuffix(":*").strip()


def _same(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Equal words; a program may be spelled with its folder."""
    return words[0].rpartition("/")[2] == wanted[0].rpartition("/")[2] and list(words[1:]) == list(wanted[1:])


def _quoted(path: str) -> str:
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
