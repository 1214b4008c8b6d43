"""Decides which hooks an event concerns: by the matcher of a group, and by the rule of `if`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from forge_core.approval import ToolKind
from forge_core.errors import ConfigError
from forge_core.extensions.claude_rules import translate_rule
from forge_core.permissions.path_info import locate
from forge_core.permissions.rules.command_rules import RuleMatch, meets
from forge_core.permissions.rules.rule import Rule, denies_paths, matches_target
from forge_core.permissions.shell.syntax import read_line
from forge_core.tools.base import ToolUse
from forge_core.workspace.folders import WorkspaceFolders

_NAMES = re.compile(r"[A-Za-z0-9_,| -]*")
"""A matcher of these characters is a list of exact names; any other is a regular expression."""
MAX_PATTERN = 1_000
"""Characters of a matcher, and of an `if`."""
_MAX_WAYS = 2**16
_REPEAT_WAYS = 2**4
_PART = re.compile(r"(?P<repeat>[*+?]|\{\d*,?\d*\})|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\??|.", re.DOTALL)
"""A part of a regular expression: a repeat, an escape, a class, the beginning of a group, or a character."""
_UNREADABLE = re.compile(r"\(\?(?:#|[a-zA-Z-]*x)")
"""Comments, and the flag that allows them: what they hold is no part of the expression."""
_SEPARATOR = re.compile(r"[|,]")
_ALL_EDITS = "Edit"
"""The name whose rules mean every tool that changes files."""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call as `if` sees it."""

    names: Collection[str]
    """The tool's name in Forge and its names in Claude Code."""
    use: ToolUse
    folders: WorkspaceFolders


def matches(matcher: str, subjects: Collection[str]) -> bool:
    """Return whether a matcher means any of the names: all of them if it is empty or `*`."""
    if matcher.strip() in ("", "*"):
        return True
    if _NAMES.fullmatch(matcher):
        return not {name.strip() for name in _SEPARATOR.split(matcher)}.isdisjoint(subjects)
    return any(re.search(matcher, subject) for subject in subjects)


def matcher_problem(matcher: str) -> str:
    """Return why a matcher cannot be used; empty if it can."""
    if len(matcher) > MAX_PATTERN:
        return f"its matcher has more than {MAX_PATTERN:,} characters"
    if matcher.strip() == "*" or _NAMES.fullmatch(matcher):
        return ""
    try:
        re.compile(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        return f"its matcher {matcher!r} is not a regular expression: {error}"
    if may_be_slow(matcher):
        return f"its matcher {matcher!r} could take too long: it repeats a group, or has too many repeats"
    return ""


def may_be_slow(expression: str) -> bool:
    """Return whether an expression might be tried on a name in more than `_MAX_WAYS` ways: that many its
    repeats and alternatives, multiplied, allow. A repeat of a group is too many: it may hold others."""
    if _UNREADABLE.search(expression):
        return True
    earlier, ways = 0, 1
    choices: list[int] = []  # of each open group
    before, was_repeat = "", False
    for found in _PART.finditer(expression):
        part, is_repeat = found[0], found["repeat"] is not None
        if is_repeat and not was_repeat:  # a repeat of a repeat only makes it lazy or possessive
            if before == ")" and part != "?":
                return True
            ways *= 2 if part == "?" else _REPEAT_WAYS
        elif part.startswith("("):
            choices.append(1)
        elif part == ")" and choices:
            ways *= choices.pop()
        elif part == "|" and choices:
            choices[-1] += 1
        elif part == "|":
            earlier, ways = earlier + ways, 1
        if earlier + ways > _MAX_WAYS:
            return True
        before, was_repeat = part, is_repeat
    return False


def holds(condition: str, call: CalledTool) -> bool:
    """Return whether the rule of `if` covers a call: of a command line, any command in it.

    A rule that cannot be translated, or whose answer is in doubt, counts as met: the hook may be a check.
    """
    if not condition:
        return True
    name = condition.partition("(")[0].strip()
    is_edit = name == _ALL_EDITS and call.use.kind is ToolKind.WRITE
    if name not in call.names and not is_edit:
        return False
    try:
        rules = translate_rule(condition)
    except ConfigError:
        return True
    return any(_covers(rule, call) for rule in rules)


def _covers(rule: Rule, call: CalledTool) -> bool:
    use = call.use
    if rule.pattern is None:
        return True
    if use.kind is ToolKind.RUN:
        return meets(rule, read_line(use.target), call.folders.main) is not RuleMatch.NO
    if use.paths:
        return denies_paths(rule, [locate(path, call.folders) for path in use.paths])
    return matches_target(rule, use.target)
