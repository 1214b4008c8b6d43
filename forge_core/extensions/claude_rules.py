"""Translates rules and tool names in the spelling of Claude Code (`Bash(git *)`, `Edit(src/**)`).

Source: https://docs.claude.com/en/docs/claude-code/settings#permission-settings. A rule that cannot be
translated exactly is refused with the reason, so that a file never grants more than it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from forge_core.approval import ToolKind
from forge_core.errors import ConfigError
from forge_core.permissions.rules.rule import SERVER_PREFIX, Rule, parse_rule
from forge_core.tools.base import BaseTool
from forge_core.tools.registry import builtin_tools

_RULE = re.compile(r"\s*([A-Za-z_][\w.-]*|mcp__[\w.-]+__\*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def forge_names(name: str, tools: Iterable[BaseTool] | None = None) -> tuple[str, ...]:
    """Return the tools of Forge that a name means, one of Claude Code's or of Forge's; none if it is unknown.

    `tools` are those that exist, by default the built-in ones.
    """
    known = builtin_tools() if tools is None else tools
    return tuple(tool.name for tool in _tools(name, known))


def claude_name(tool: BaseTool) -> str:
    """Return the name of a tool in Claude Code; its own name if it has none there."""
    return tool.claude_names[0] if tool.claude_names else tool.name


def translate_rule(text: str) -> tuple[Rule, ...]:
    """Return rules of Forge that together mean the same as one of Claude Code's or of Forge's.

    Raises:
        ConfigError: there is no such tool, or no rule of Forge means exactly the same.
    """
    found = _RULE.fullmatch(text)
    if found is None:
        raise ConfigError(f"Rule {text!r} cannot be read. Write it as Tool(pattern): Bash(git status).")
    name, pattern = found[1], (found[2] or "*").strip() or "*"
    if name.startswith(SERVER_PREFIX):
        return (parse_rule(text),)
    tools = _tools(name, builtin_tools())
    if not tools:
        raise ConfigError(f"Rule {text!r} names the tool {name!r}, which Forge does not have.")
    if pattern == "*":
        return tuple(Rule(tool.name) for tool in tools)
    if [tool.name for tool in tools] == [name]:
        return (Rule(name, pattern),)
    return tuple(Rule(tool.name, _pattern(tool, pattern, text)) for tool in tools)


def _tools(name: str, known: Iterable[BaseTool]) -> list[BaseTool]:
    return [tool for tool in known if name == tool.name or name in tool.claude_names]


def _pattern(tool: BaseTool, pattern: str, rule: str) -> str:
    if tool.kind is ToolKind.RUN:
        return _command_pattern(pattern, rule)
    if tool.kind in (ToolKind.LOOK, ToolKind.WRITE):
        return _path_pattern(pattern)
    if tool.takes_pattern and "*" not in pattern:
        return pattern
    raise ConfigError(f"Rule {rule!r} has a pattern, which Forge does not support for {tool.name}.")


def _command_pattern(pattern: str, rule: str) -> str:
    """Return the pattern of a command: `git:*` and `git *` are prefixes of whole words, other text is the
    exact line."""
    prefix = pattern.removesuffix(":*") if pattern.endswith(":*") else pattern.removesuffix(" *")
    if "*" in prefix:
        raise ConfigError(
            f"Rule {rule!r} has a * inside the command. Forge supports it only at the end, after a space or "
            "a colon: Bash(git log:*)."
        )
    return f"{prefix}:*" if prefix != pattern else f"={pattern}"


def _path_pattern(pattern: str) -> str:
    """Return the pattern of a path: `//` begins an absolute path, `/` one in the project."""
    if pattern.startswith("//"):
        return pattern[1:]
    if pattern.startswith("~"):
        return pattern
    relative = pattern.removeprefix("/").removeprefix("./")
    # Without a slash, a pattern matches at any depth, unless it is anchored.
    is_anchored = relative != pattern and "/" not in relative.rstrip("/")
    return f"./{relative}" if is_anchored else relative
