"""A tool of a server, as any other tool of Forge."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from forge_core.approval import Effect, ServerTool, ToolKind
from forge_core.config.project_state import Scripts
from forge_core.errors import ToolError
from forge_core.mcp.argument_check import problem_in
from forge_core.mcp.sent_schema import sent_schema
from forge_core.mcp.server_files import ServerEntry, Transport
from forge_core.mcp.wire import ServerSandbox
from forge_core.permissions.rules.rule import ALL_TOOLS
from forge_core.permissions.rules.server_tools import TEXT_MARK, plain_name
from forge_core.sanitize import safe_line, safe_text
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult, ToolUse
from forge_core.untrusted import escape_tags

MAX_NAME = 64
"""Characters; providers refuse longer names."""
_KEPT = MAX_NAME - 9
_KEPT_CHARS = 2_000
"""Of a text of a tool, kept with what the user has allowed to show later what has changed."""
MAX_DESCRIPTION = 2_048
"""Characters of a tool's description that the model is sent."""
_SHOWN_CHARS = 200
"""Of a call's arguments, in the approval prompt's target line."""


class ToolCaller(Protocol):
    """Runs calls of servers' tools (the session's servers plug in here)."""

    def is_current(self, tool: McpTool) -> bool:
        """Return whether the server still lists the tool as it is."""

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
        """sha256 of all of it, in hex."""
        return _hash([self.name, *self.parts])

    @property
    def parts(self) -> Scripts:
        """All of it but the name, each part with its text or its hash: what a saved approval is bound to."""
        return (
            (f"{TEXT_MARK}its title", _kept_text(self.title)),
            (f"{TEXT_MARK}its description", _kept_text(self.description)),
            ("its parameters", _hash(self.schema)),
            ("its output schema", _hash(self.output_schema)),
            (f"{TEXT_MARK}its hints", _kept_text(json.dumps(self.annotations, indent=1, sort_keys=True))),
        )

    @property
    def only_reads(self) -> bool:
        """Whether the server says that a call changes nothing."""
        hints = self.annotations
        return hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True

    @property
    def hints(self) -> tuple[str, ...]:
        """What the server says about the effects of a call, in words to follow "says that it"."""
        known = {key: value for key, value in self.annotations.items() if isinstance(value, bool)}
        is_destructive = known.get("destructiveHint") is True
        found = ["may destroy data"] if is_destructive else ["only reads"] if self.only_reads else []
        return (*found, *(["reaches other systems"] if known.get("openWorldHint") else []))


class McpTool(BaseTool):
    """A tool of a server: what it touches is unknown, so every call asks."""

    category = ToolCategory.NETWORK
    kind = ToolKind.OTHER
    checks_own_arguments = True
    preview_rows = 3
    interrupt_grace_s = 0.01

    def __init__(
        self, name: str, listed: ListedTool, server: ServerEntry, caller: ToolCaller, fingerprint: str
    ) -> None:
        """`fingerprint` is that of the server as it was started (`approved_servers.fingerprint_of`)."""
        self.name = name
        self.listed = listed
        self.server = server
        self.fingerprint = fingerprint
        self.effect = Effect.RUN if server.transport is Transport.STDIO else Effect.NETWORK
        own_rule = plain_name(server.name, "")[:-2]
        self.claude_names = (name, own_rule, own_rule + ALL_TOOLS)
        self._rule = own_rule
        self.title = f"{server.name} · {safe_line(listed.name)}"
        self.action = f"call a tool of the MCP server {server.name!r}"
        text = safe_text(listed.description).strip() or f"The tool {safe_line(listed.name)} of {server.name}."
        self.description = "\n".join(escape_tags(line) for line in text[:MAX_DESCRIPTION].splitlines())
        self._caller = caller

    def is_same_as(self, other: McpTool) -> bool:
        """Return whether the user has to judge the other tool as this one."""
        mine, theirs = ((one.name, one.listed, one.server, one.fingerprint) for one in (self, other))
        return mine == theirs

    def json_schema(self) -> dict[str, Any]:
        """Return the schema for the model; the arguments are checked against that of the server."""
        return copy.deepcopy(self._sent_schema)

    @functools.cached_property
    def _sent_schema(self) -> dict[str, Any]:
        return sent_schema(self.listed.schema)

    def target(self, arguments: Mapping[str, Any]) -> str:
        return _shown(arguments)

    @functools.cached_property
    def judged(self) -> ServerTool:
        """What the policy and the user judge it by."""
        return ServerTool(
            server=self.server.name,
            source=self.server.source.label,
            name=self.listed.name,
            description=self.listed.description[:MAX_DESCRIPTION],
            hints=self.listed.hints,
            host="" if self.effect is Effect.RUN else self.server.url,
            is_sandboxed=self.server.sandbox is ServerSandbox.STRICT,
            only_reads=self.server.trusts_annotations and self.listed.only_reads,
            rule_name=plain_name(self.server.name, self.listed.name),
            server_rule=self._rule,
            seen=(("its server", self.fingerprint), *self.listed.parts),
        )

    def is_offered(self, context: ExecutionContext) -> bool:
        return context.denies is None or not context.denies(self.name, self.judged)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        text = json.dumps(params, ensure_ascii=False, default=str)
        return ToolUse(self.effect, target=text, server_tool=self.judged)

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[()]:
        """Raise ToolError for arguments that the tool does not take, and if its server has changed it."""
        if not self._caller.is_current(self):
            raise ToolError(
                f"{self.name} was not called: its server has changed it in the meantime. Repeat the call if "
                "it is still what you want."
            )
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
    plain = {key: plain_name(*key) for key in keys}
    shared = Counter(plain.values())
    return {
        key: name if len(name) <= MAX_NAME and shared[name] == 1 else _digested(name, key)
        for key, name in plain.items()
    }


def _digested(name: str, key: tuple[str, str]) -> str:
    digest = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[:_KEPT]}_{digest}"


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _kept_text(text: str) -> str:
    """Return a text that is bound to, with its end as a hash if it is long."""
    return text if len(text) <= _KEPT_CHARS else f"{text[:_KEPT_CHARS]}\n… {_hash(text)}"


def _shown(arguments: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    return shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
