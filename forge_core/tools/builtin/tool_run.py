"""The tool_run tool: calls a tool that the model was sent no definition of.

The agent calls the named tool itself, under its own name (`inner_call`): the policy, hooks, events and the
journal see no tool_run. What is executed here is only a call that names no tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.tools.arguments import text_of
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolParameter,
    ToolResult,
    ToolUse,
)


@dataclass(frozen=True, slots=True)
class InnerCall:
    """The call that a call of tool_run means; `problem` says why its arguments are unusable."""

    name: str
    arguments: dict[str, Any]
    problem: str | None = None


class ToolRunTool(BaseTool):
    """Calls a deferred tool. Offered only where there are some."""

    name = "tool_run"
    description = (
        "Calls a tool of an MCP server whose definition is not among your tools. Use tool_search first where "
        "you do not know its arguments. The call is checked and approved like any call of that tool."
    )
    parameters = (
        ToolParameter("name", "string", "The full name: mcp__SERVER__TOOL."),
        ToolParameter(
            "arguments", "object", "Its arguments, by the schema that tool_search returns.", required=False
        ),
    )
    effect = Effect.READ
    kind = ToolKind.SESSION
    for_agents = False
    title = "Run tool"

    def is_offered(self, context: ExecutionContext) -> bool:
        return context.deferred is not None and context.deferred.is_active

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        name = str(params["name"])
        near = () if context.deferred is None else context.deferred.nearest(name)
        names = ", ".join(tool.name for tool in near if tool.is_offered(context))
        hint = f"The nearest names are: {names}." if names else "Use tool_search to find one."
        error = f"there is no tool {name!r}, so nothing was run. {hint}"
        return ToolResult(False, error=error, summary="unknown tool", outcome="unknown_tool")

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(self.effect, target=self.target(params))

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "name")


def inner_call(arguments: Mapping[str, Any]) -> InnerCall | None:
    """Return the call that unchecked arguments of tool_run mean; None where they name no tool."""
    name = text_of(arguments, "name")
    if not name:
        return None
    if others := [key for key in arguments if key not in ("name", "arguments")]:
        return InnerCall(name, {}, f"{', '.join(map(repr, others))} must be in 'arguments' of tool_run")
    given = arguments.get("arguments")
    if isinstance(given, str):  # models of some providers send nested objects as text
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return InnerCall(name, {}, "'arguments' of tool_run is not valid JSON")
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return InnerCall(name, {}, "'arguments' of tool_run is not an object")
    return InnerCall(name, given)
