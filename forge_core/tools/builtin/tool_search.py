"""The tool_search tool: finds deferred tools, and gives the model their definitions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from forge_core.approval import Effect, ToolKind
from forge_core.tools.arguments import text_of
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    ToolUse,
)

DEFAULT_LIMIT = 5
MAX_LIMIT = 20
MAX_CHARS = 20_000
"""Of the definitions in one result; the first one is always there."""
MAX_NAMES = 40
"""Of further matches, named without their definitions."""


class DeferredTools(Protocol):
    """The tools of one conversation whose definitions the model is not sent."""

    @property
    def is_active(self) -> bool:
        """Whether the model is offered the tools that stand in for them."""

    def ranked(self, query: str) -> Sequence[BaseTool]:
        """Return those that match, the best first. May take a moment."""

    def nearest(self, name: str) -> Sequence[BaseTool]:
        """Return those with names similar to one that does not exist."""


class ToolSearchTool(BaseTool):
    """Finds deferred tools by name or words. Offered only where there are some."""

    name = "tool_search"
    claude_names = ("ToolSearch",)
    description = (
        "Finds tools of MCP servers whose definitions you do not have yet, and returns name, description and "
        "arguments of the best matches. The query is a name, a server, or words for what is to be done. Use "
        "tool_run to call what was found, or call it directly by its full name. Search once: a definition "
        f"stays valid. At most {MAX_LIMIT} definitions; the names of {MAX_NAMES} more matches follow."
    )
    parameters = (
        ToolParameter("query", "string", 'What to look for: "github create issue", or a full name.'),
        ToolParameter(
            "limit",
            "integer",
            f"How many definitions to return: {DEFAULT_LIMIT} by default, at most {MAX_LIMIT}.",
            required=False,
            default=DEFAULT_LIMIT,
            minimum=1,
            maximum=MAX_LIMIT,
        ),
    )
    category = ToolCategory.NETWORK
    effect = Effect.READ
    kind = ToolKind.SESSION
    for_agents = False
    title = "Search tools"

    def is_offered(self, context: ExecutionContext) -> bool:
        return context.deferred is not None and context.deferred.is_active

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        query, found = str(params["query"]), list[BaseTool]()
        if context.deferred is not None:
            ranked = await asyncio.to_thread(context.deferred.ranked, query)
            found = [tool for tool in ranked if tool.is_offered(context)]
        if not found:
            text = "No tool matches. Try other words: a server, a thing, or what is to be done with it."
            return ToolResult(True, text, summary="no match", is_in_header=True)
        shown = _shown(found, int(params["limit"]))
        parts = [f"{len(shown)} of {len(found)} matches, the best first:", *shown]
        if others := [tool.name for tool in found[len(shown) :]]:
            more = f" and {len(others) - MAX_NAMES} more" if len(others) > MAX_NAMES else ""
            parts.append(f"Other matches: {', '.join(others[:MAX_NAMES])}{more}")
        return ToolResult(True, "\n\n".join(parts), summary=f"{len(shown)} of {len(found)} matches")

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(self.effect, target=self.target(params))

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "query")


def definition_text(tool: BaseTool) -> str:
    """Return the definition of a tool, for the model. It is the same each time, and untrusted."""
    schema = json.dumps(tool.json_schema(), ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}: {tool.description}\nArguments: {schema}"


def _shown(found: Sequence[BaseTool], limit: int) -> list[str]:
    """Return the definitions of the first ones that a result has room for."""
    texts, size = list[str](), 0
    for tool in found[:limit]:
        text = definition_text(tool)
        size += len(text)
        if texts and size > MAX_CHARS:
            break
        texts.append(text)
    return texts
