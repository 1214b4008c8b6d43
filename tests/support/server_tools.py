"""Tools of MCP servers without a server: the calls go to a recorder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.mcp.mcp_tool import ListedTool, McpTool
from forge_core.mcp.server_files import ServerEntry, ServerScope, ServerSource, read_entry
from forge_core.tools.base import ExecutionContext, ToolResult

LOG: Mapping[str, Any] = {
    "name": "log",
    "description": "Show the commits of a repository.",
    "inputSchema": {
        "type": "object",
        "properties": {"repo": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["repo"],
    },
}
PROGRAM: Mapping[str, Any] = {"command": "mcp-server-git"}


class Recorder:
    """Takes calls in place of servers."""

    def __init__(self) -> None:
        self.calls: list[Mapping[str, Any]] = []
        self.has_changed = False
        """Whether the server lists other tools by now."""

    def is_current(self, tool: McpTool) -> bool:
        return not self.has_changed

    async def call(
        self, tool: McpTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> ToolResult:
        self.calls.append(arguments)
        return ToolResult(True, "done")


def declared(
    folder: Path,
    entry: Mapping[str, Any] = PROGRAM,
    *,
    name: str = "git",
    scope: ServerScope = ServerScope.PROJECT,
    file: str = ".mcp.json",
) -> ServerEntry:
    """A server as a file in the folder declares it."""
    server = read_entry(name, entry, ServerSource(folder / file, scope, folder, file))
    assert isinstance(server, ServerEntry), server
    return server


def server_tool(
    server: ServerEntry, caller: Recorder, listed: Mapping[str, Any] = LOG, *, fingerprint: str = "f"
) -> McpTool:
    """A tool as its server lists it."""
    tool = ListedTool.read(listed)
    assert tool is not None
    return McpTool(f"mcp__{server.name}__{tool.name}", tool, server, caller, fingerprint)
