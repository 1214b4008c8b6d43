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
    try:
        matches(matcher, ("",))
    except re.error as error:
        return f"its matcher {matcher!r} is not a regular expression: {error}"
    return ""


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
