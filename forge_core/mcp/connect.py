"""MCP servers for programs that use Forge as a library."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forge_core.errors import ConfigError
from forge_core.mcp.mcp_tool import McpTool
from forge_core.mcp.results import ResultReader
from forge_core.mcp.server_files import ServerEntry, ServerScope, ServerSource, UnusableServer, read_entry
from forge_core.mcp.server_launch import LaunchSettings
from forge_core.mcp.server_questions import ServerQuestion
from forge_core.mcp.servers import McpServers, ServerHost
from forge_core.sanitize import safe_line
from forge_core.tools.shell.environment import child_environment, network_environment


@contextlib.asynccontextmanager
async def connect_servers(
    servers: Mapping[str, Mapping[str, Any]], *, folder: Path | None = None, timeout_s: float = 60.0
) -> AsyncIterator[Sequence[McpTool]]:
    """Start MCP servers, and yield their tools once all are connected; end the servers afterwards.

    The calling program decides what starts: nothing is asked. Questions of servers are cancelled. Files in
    results are kept until the end.

    Args:
        servers: name → entry, as in the `mcpServers` of an `.mcp.json`. Variables such as `${TOKEN}` are
            looked up in the environment of this process; of that, programs are given only what is no secret.
        folder: where programs start, and the root that servers are told of; by default the current folder.
        timeout_s: how long all servers together may take to connect.

    Raises:
        ConfigError: an entry cannot be used, or a server has not connected.
    """
    place = await asyncio.to_thread(lambda: Path.cwd() if folder is None else folder.resolve())
    entries = [_entry(name, entry, place) for name, entry in servers.items()]
    with tempfile.TemporaryDirectory(prefix="forge-mcp-", ignore_cleanup_errors=True) as files:
        connected = McpServers(_host(place, Path(files)))
        try:
            await connected.start(entries)
            await connected.settled(timeout_s)
            failed = [
                f"{name}: {safe_line(one.report.error) or f'not connected after {timeout_s:g} s'}"
                for name, one in connected.statuses.items()
                if not one.is_ready
            ]
            if failed:
                raise ConfigError(f"MCP servers have not connected: {'; '.join(failed)}.")
            yield tuple(connected.tools())
        finally:
            await connected.aclose()


def _entry(name: str, entry: Mapping[str, Any], folder: Path) -> ServerEntry:
    source = ServerSource(folder, ServerScope.SESSION, folder, "the program")
    found = read_entry(name, dict(entry), source)
    if isinstance(found, UnusableServer):
        raise ConfigError(f"The MCP server {found.name!r} cannot be used: {found.reason}.")
    return found


def _host(folder: Path, files: Path) -> ServerHost:
    numbers = itertools.count(1)

    async def cancel(question: ServerQuestion) -> Any:
        return {"action": "cancel"}

    def keep_file(data: bytes, ending: str) -> Path | None:
        path = files / f"{next(numbers):04d}{ending}"
        try:
            path.write_bytes(data)
        except OSError:
            return None
        return path

    settings = LaunchSettings(
        environment=os.environ, child_environment=child_environment(), roots=(str(folder),)
    )
    return ServerHost(
        settings=settings,
        bridge_environment=network_environment(),
        reader=lambda: ResultReader(keep_file),
        ask=cancel,
        log=lambda server, text: None,
        changed=lambda: None,
        refusal=lambda entry: "",
    )
