"""Tools of MCP servers without any server: hundreds of them, whose calls one object answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forge_core.mcp.mcp_tool import ListedTool, McpTool, tool_names
from forge_core.mcp.server_files import ServerScope
from forge_core.tools.base import ExecutionContext, ToolResult
from tests.support.server_tools import declared

_VERBS = (
    *("list", "get", "create", "update", "delete", "search", "merge", "close", "assign", "export"),
    *("import", "archive", "restore", "share", "rename", "copy", "move", "lock", "watch", "comment"),
)
_NOUNS = (
    *("issue", "branch", "commit", "pipeline", "release", "milestone", "project", "user", "team", "label"),
    *("board", "card", "page", "space", "ticket", "incident", "alert", "dashboard", "query", "bucket"),
    *("invoice", "order", "customer", "calendar", "meeting"),
)
SERVERS = ("github", "jira", "wiki", "pager", "grafana", "storage", "billing", "calendar", "admin", "git-lab")
"""Names of servers among which 500 tools are divided."""


class AnsweringCaller:
    """Answers each call with its arguments; `calls` holds them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def is_current(self, tool: McpTool) -> bool:
        return True

    async def call(
        self, tool: McpTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> ToolResult:
        self.calls.append((tool.name, dict(arguments)))
        return ToolResult(True, f"{tool.listed.name} got {dict(arguments)}")


def listed_tool(name: str, description: str = "", **properties: Any) -> ListedTool:
    """A tool that takes these properties, the first of which is required."""
    schema = {"type": "object", "properties": properties, "required": [*properties][:1]}
    found = ListedTool.read({"name": name, "description": description, "inputSchema": schema})
    assert found is not None
    return found


def server_tools(
    caller: AnsweringCaller, server: str, tools: Sequence[ListedTool], *, always_load: bool = False
) -> list[McpTool]:
    fields = {"command": "serve", "alwaysLoad": always_load}
    entry = declared(Path("/own"), fields, name=server, scope=ServerScope.USER)
    names = tool_names((server, tool.name) for tool in tools)
    return [McpTool(names[server, tool.name], tool, entry, caller, "f") for tool in tools]


def many_tools(caller: AnsweringCaller, count: int = 500, servers: Sequence[str] = SERVERS) -> list[McpTool]:
    """So many tools with names, descriptions and arguments like those of public servers, in the order of the
    servers."""
    pairs = [(verb, noun) for noun in _NOUNS for verb in _VERBS][:count]
    share = -(-len(pairs) // len(servers))
    return [
        tool
        for index, server in enumerate(servers)
        for tool in server_tools(
            caller, server, [_listed(*pair) for pair in pairs[index * share : (index + 1) * share]]
        )
    ]


def _listed(verb: str, noun: str) -> ListedTool:
    text = (
        f"{verb.capitalize()} one {noun} of the workspace. The {noun} is found by its id, and the caller needs "
        f"the right to {verb} it. Returns the {noun} as it is after the call."
    )
    return listed_tool(
        f"{verb}_{noun}",
        text,
        **{
            f"{noun}_id": {"type": "string", "description": f"The id of the {noun}."},
            "fields": {"type": "array", "items": {"type": "string"}, "description": "What is returned."},
            "dry_run": {"type": "boolean", "description": "Only say what would happen."},
        },
    )
