"""A tool of a server, as any other tool of Forge."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.mcp.server_files import ServerEntry
from forge_core.sanitize import safe_line, safe_text
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult, ToolUse
from forge_core.untrusted import escape_tags

MAX_NAME = 64
"""Characters; providers refuse longer names."""
_KEPT = MAX_NAME - 9
MAX_DESCRIPTION = 2_048
"""Characters of a tool's description that the model is sent."""
_SHOWN_CHARS = 200
"""Of a call's arguments, in the approval prompt's target line."""


class ToolCaller(Protocol):
    """Runs calls of servers' tools (the session's servers plug in here)."""

    async def call(
        self, tool: McpTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> ToolResult:
        """Run a call, and return its result. Raises ToolError."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it. All of it is untrusted, and a claim of the server."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    annotations: Mapping[str, Any]

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> ListedTool | None:
        """Return the tool of an item of the list; None for one without a name."""
        name, schema, output = item.get("name"), item.get("inputSchema"), item.get("outputSchema")
        if not isinstance(name, str) or not name:
            return None
        annotations = item.get("annotations")
        annotations = annotations if isinstance(annotations, dict) else {}
        return cls(
            name,
            str(item.get("title") or annotations.get("title") or ""),
            str(item.get("description") or ""),
            {"type": "object", "properties": {}, **(schema if isinstance(schema, dict) else {})},
            output if isinstance(output, dict) else None,
            annotations,
        )

    @property
    def digest(self) -> str:
        """sha256 of all that the user sees of it, in hex: what a saved approval is bound to."""
        content = [self.name, self.title, self.description, self.schema, self.output_schema, self.annotations]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


class McpTool(BaseTool):
    """A tool of a server: what it touches is unknown, so every call asks."""

    category = ToolCategory.OTHER
    effect = Effect.NETWORK
    kind = ToolKind.OTHER
    checks_own_arguments = True
    preview_rows = 3

    def __init__(self, name: str, listed: ListedTool, server: ServerEntry, caller: ToolCaller) -> None:
        self.name = name
        self.claude_names = (name,)
        self.listed = listed
        self.server = server
        self.title = f"{server.name} · {safe_line(listed.name)}"
        self.action = f"use the tool {safe_line(listed.name)!r} of the MCP server {server.name!r}"
        text = safe_text(listed.description).strip() or f"The tool {safe_line(listed.name)} of {server.name}."
        self.description = "\n".join(escape_tags(line) for line in text[:MAX_DESCRIPTION].splitlines())
        self._caller = caller

    def json_schema(self) -> dict[str, Any]:
        """Return the schema of the server."""
        return copy.deepcopy(dict(self.listed.schema))

    def target(self, arguments: Mapping[str, Any]) -> str:
        return _shown(arguments)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(self.effect, target=_shown(params))

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[()]:
        """Raise ToolError for arguments that the tool does not take."""
        if problem := await problem_in(params, self.listed.schema):
            raise ToolError(f"invalid arguments for {self.name}, so it was not called: {problem}")
        return ()

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        await self.preview(params, context)
        return await self._caller.call(self, params, context)


def tool_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return (server, tool) → name, each name once.

    Characters other than letters, digits, `_` and `-` become `_`. A name that is too long, or that two tools
    would share, ends in eight hexadecimal digits of the sha256 of its true name.
    """
    keys = list(dict.fromkeys(tools))
    plain = {key: "mcp__" + "__".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in key) for key in keys}
    shared = Counter(plain.values())
    return {
        key: name if len(name) <= MAX_NAME and shared[name] == 1 else _digested(name, key)
        for key, name in plain.items()
    }


def _digested(name: str, key: tuple[str, str]) -> str:
    digest = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[:_KEPT]}_{digest}"


async def problem_in(value: Any, schema: Mapping[str, Any]) -> str:
    """Return where a value differs from a schema; empty if it does not, or if the schema cannot be used."""
    return await asyncio.to_thread(_problem_in, value, schema)


def _problem_in(value: Any, schema: Mapping[str, Any]) -> str:
    from jsonschema import SchemaError
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema)
    try:
        kind.check_schema(dict(schema))
        # With an empty registry, references lead nowhere out of the schema.
        error = best_match(kind(dict(schema), registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable, RecursionError):
        return ""
    if error is None:
        return ""
    where = ".".join(map(str, error.absolute_path))
    return safe_line(f"{where}: {error.message}" if where else error.message)[:400]


def _shown(arguments: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    return shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
