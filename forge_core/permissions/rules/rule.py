"""Rules of the form `tool(pattern)`: parsed, matched, and made from a call.

For file tools the pattern is a glob on the real path relative to the folder (`src/**`, `*.py` at any depth);
one that starts with `/` or `~` speaks of absolute paths, and only such a one ever matches outside the folder.
In a folder that the user has added, a relative pattern of a deny or ask rule matches relative to that folder;
an allow rule covers files there by an absolute pattern, or without a pattern.
For `bash`, `git status:*` means a command that starts with these words and adds nothing risky
(extra_arguments.py); anything else is the exact line, and a leading `=` makes it exact whatever follows.
`network(npm install:*)` is such a rule for commands that use the network. A bare `tool` or `tool(*)` means
every call inside the folder.
`mcp__git__log` is a tool of the MCP server git, and `mcp__git` and `mcp__git__*` are all of its tools; these
take no pattern.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forge_core.config.permission_mode import RULE_FORM
from forge_core.errors import ConfigError
from forge_core.home_paths import expand_home
from forge_core.permissions.path_info import PathInfo, is_secret
from forge_core.permissions.tool_files import acting_program, folded_name
from forge_core.workspace.globs import compile_glob, expand_braces

SHELL_TOOL = "bash"
NETWORK = "network"
"""The name under which rules let a command use the network."""
EDIT = "edit"
"""The name of the right to change a path: a rule for it covers every tool that changes files."""
_MAX_LISTED = 16
"""Files that one rule lists by name."""

_GLOB = re.compile(r"(?<!\\)[*?\[{]|/$")
SERVER_PREFIX = "mcp__"
"""The beginning of the names of servers' tools."""
ALL_TOOLS = "__*"
"""The end of a rule for all tools of a server."""
_RULE = re.compile(r"\s*([A-Za-z_][\w.-]*|mcp__[\w.-]+__\*|\*)\s*(?:\((.*)\))?\s*", re.DOTALL)


class EditToolsUnknown(Container[str]):
    """The names of the tools that change files where they are not known: any tool may be one, apart from the
    rights to read and to run and the tools of servers, so that no deny rule is lost."""

    def __contains__(self, name: object) -> bool:
        return name not in ("read", SHELL_TOOL, NETWORK) and not str(name).startswith(SERVER_PREFIX)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `pattern` None means any use of the tool."""

    tool: str
    pattern: str | None = None

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"

    @property
    def prefix(self) -> str | None:
        """The words that a command has to start with; None where the pattern is none of that form."""
        pattern = self.pattern or ""
        if pattern.startswith("=") or not pattern.endswith(":*"):
            return None
        return pattern.removesuffix(":*").strip()

    @property
    def line(self) -> str | None:
        """The command line that the pattern names exactly; None for a prefix and for any use."""
        if self.pattern is None or self.prefix is not None:
            return None
        return self.pattern.removeprefix("=").strip()

    @property
    def names_secrets(self) -> bool:
        """Whether the pattern names a file with keys, or one file exactly: only then does it let a file with
        keys be touched."""
        return self.pattern is not None and (is_secret(self.pattern) or self.names_one_file)

    @property
    def names_one_file(self) -> bool:
        """Whether the pattern can match one path only."""
        return self.pattern is not None and _GLOB.search(self.pattern) is None

    def names(
        self,
        tool: str,
        *,
        is_edit: bool = False,
        edit_tools: Container[str] = (),
        other_names: Container[str] = (),
    ) -> bool:
        """Return whether the rule covers the tool. Where the tool changes files (`is_edit`), so does a rule
        for `edit` or for one of `edit_tools`; a rule for one of `other_names` does in any case."""
        if self.tool in ("*", tool) or self.tool in other_names:
            return True
        return is_edit and (self.tool == EDIT or self.tool in edit_tools)


def parse_rule(text: str) -> Rule:
    """Read `tool` or `tool(pattern)`; raises ConfigError with what is wrong."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ConfigError(f"Rule {text!r} cannot be read. Write it as {RULE_FORM}.")
    tool, pattern = found[1], found[2]
    if pattern is not None and not pattern.strip():
        raise ConfigError(f"Rule {text!r} has an empty pattern. Write {tool} alone for every use of it.")
    if pattern is None or pattern.strip() == "*":
        return Rule(tool)
    if tool.startswith(SERVER_PREFIX):
        raise ConfigError(
            f"Rule {text!r} has a pattern, which tools of MCP servers do not take. Write {tool}."
        )
    return Rule(tool, pattern.strip())


def is_server_rule(rule: Rule) -> bool:
    """Return whether a rule is for an MCP server or a tool of one."""
    return rule.tool.startswith(SERVER_PREFIX)


def allows_paths(rule: Rule, places: Sequence[PathInfo]) -> bool:
    """Return whether an allow rule covers every place, judged by the real paths."""
    return bool(places) and all(_covers(rule, place, resolved_only=True) for place in places)


def names_tool_file(rule: Rule, place: PathInfo) -> bool:
    """Return whether an allow rule covers the place by a pattern that itself names a file that programs act
    on: `edit(.vscode/**)`, but not `edit(**)`."""
    return any(
        acting_program(pattern, folds=place.folds_case)
        and _covers(Rule(rule.tool, pattern), place, resolved_only=True)
        for pattern in expand_braces(rule.pattern or "")
    )


def denies_paths(rule: Rule, places: Sequence[PathInfo]) -> bool:
    """Return whether a deny rule matches any place, as given or resolved."""
    return any(_covers(rule, place, resolved_only=False) for place in places)


def matches_target(rule: Rule, target: str) -> bool:
    """For tools that are neither shell nor file tools: a glob on what the call acts on."""
    return rule.pattern is None or compile_glob(rule.pattern, any_depth=True).fullmatch(target) is not None


def rule_for_paths(tool: str, places: Sequence[PathInfo]) -> str:
    """Return the rule that "yes, for this session" adds for files: exactly these. "" for none, for too
    many, and for several of which one is outside the folder or holds keys."""
    names = list(dict.fromkeys(_exact_name(one) for one in places))
    if len(names) == 1:
        return f"{tool}({names[0]})"
    if not 0 < len(names) <= _MAX_LISTED or any(one.is_private for one in places):
        return ""
    return f"{tool}({{{','.join(name.replace(',', f'{chr(92)},') for name in names)}}})"


def _exact_name(place: PathInfo) -> str:
    """Return the pattern that matches this file only."""
    if place.relative is None or place.is_added:
        return quoted(place.real.as_posix())
    return f"{'' if '/' in place.relative else './'}{quoted(place.relative)}"


def _covers(rule: Rule, place: PathInfo, *, resolved_only: bool) -> bool:
    if resolved_only and not rule.names_secrets and place.is_secret:
        return False
    if rule.pattern is None:
        return place.is_inside or not resolved_only
    pattern = _with_home(rule.pattern)
    if pattern.endswith("/"):
        pattern += "**"
    if pattern.startswith("/"):
        names = [place.real.as_posix()] + ([] if resolved_only else [place.given.as_posix()])
        names = [name.lstrip("/") for name in names]
    else:
        is_named = place.relative is not None and not (resolved_only and place.is_added)
        names = [place.relative] if place.relative is not None and is_named else []
        names += [] if resolved_only else [place.given.name]
    if place.folds_case:
        pattern, names = folded_name(pattern), [folded_name(name) for name in names]
    expression = compile_glob(pattern, any_depth=not pattern.startswith("/"))
    return any(expression.fullmatch(name) for name in names)


def _with_home(pattern: str) -> str:
    """Return a pattern with the path of a home folder in the place of ~."""
    if not pattern.startswith("~"):
        return pattern
    return str(expand_home(pattern)) + ("/" if pattern.endswith("/") else "")


def moved_rules(rules: Iterable[str], folder: Path, to: Path) -> Iterator[str]:
    """Yield those of the rules whose pattern is a path below a folder, for another folder."""
    for text in rules:
        rule = parse_rule(text)
        pattern = _with_home(rule.pattern or "")
        for prefix in dict.fromkeys((folder.as_posix(), quoted(folder.as_posix()))):
            if pattern == prefix or pattern.startswith(f"{prefix}/"):
                yield str(replace(rule, pattern=quoted(to.as_posix()) + pattern[len(prefix) :]))


def quoted(path: str) -> str:
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
