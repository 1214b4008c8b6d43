"""A tool of an MCP server, called by its name: `mcp__git__git_log {"repo_path": "."}`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from forge_core.offline import phrases
from forge_core.offline.conversation import Argument
from forge_core.offline.phrases import code
from forge_core.offline.steps import Skill, ask

PREFIX = "mcp__"
_REQUEST = re.compile(
    rf"\s*(?:please\s+)?(?:(?:call|use|run|try)\s+)?`?({PREFIX}[\w-]+)`?(?:\s+with\b)?\s*:?\s*(.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_MAX_LINES = 60


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A message that names a tool of a server."""

    name: str
    arguments: str
    """As typed: an object in JSON, or words such as `path=.`."""


def named_tool(message: str) -> NamedTool | None:
    """Return the tool that a message wants to be called by its name."""
    found = _REQUEST.match(message)
    return NamedTool(found[1], found[2].strip()) if found else None


def call(tool: NamedTool, offered: Collection[str]) -> Skill:
    """Call the tool and show what it returned."""
    try:
        arguments = _arguments(tool.arguments)
    except ValueError as error:
        example = code(f'{tool.name} {{"name": "value"}}')
        return f"I cannot read the arguments: {error}. Write them as in {example}, or as `name=value`."
    if tool.name in offered:
        outcome = yield from ask(tool.name, **arguments)
    elif "tool_run" in offered:
        outcome = yield from ask("tool_run", name=tool.name, arguments=arguments)
    else:
        return f"This session does not offer {code(tool.name)}. `/mcp` lists the servers and their tools."
    if outcome.failed:
        return phrases.failed(f"{code(tool.name)} failed", outcome.text, "`/mcp` describes the server.")
    lines = phrases.capped(outcome.text.strip().split("\n"), _MAX_LINES)
    return f"{code(tool.name)} returned:\n\n{phrases.fenced(chr(10).join(lines))}"


def _arguments(typed: str) -> Mapping[str, Argument]:
    if not typed:
        return {}
    if typed.startswith("{"):
        found = json.loads(typed)  # an object, as nothing else begins so
        assert isinstance(found, dict)
        return found
    pairs = [word.partition("=") for word in shlex.split(typed)]
    if wrong := next((name for name, equals, _ in pairs if not equals), ""):
        raise ValueError(f"{wrong!r} has no value")
    return {name: _value(text) for name, _, text in pairs}


def _value(text: str) -> Argument:
    try:
        found: Argument = json.loads(text)
    except ValueError:
        return text
    return found
