"""A bridge to MCP servers in a process of its own, and what it has sent."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.mcp.bridge_process import BridgeProcess
from forge_core.mcp.wire import RESTART, BridgeEvent, Operation, Protocol, ServerLaunch
from forge_core.tools.shell.environment import child_environment

SERVER = str(Path(__file__).with_name("mcp_server.py"))


class Bench:
    """A bridge and what it has sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ends: list[str] = []
        self.events: list[Mapping[str, Any]] = []
        self.answers: list[Any] = []
        self.bridge = BridgeProcess(self._take, self.ends.append)
        self._came = asyncio.Event()

    def _take(self, event: BridgeEvent, message: Mapping[str, Any]) -> None:
        self.events.append(message)
        if event is BridgeEvent.ASK and message["kind"] == RESTART:
            self.bridge.send({"op": Operation.ANSWER, "id": message["id"], "value": ""})
        elif event is BridgeEvent.ASK and self.answers:
            self.bridge.send({"op": Operation.ANSWER, "id": message["id"], "value": self.answers.pop(0)})
        self._came.set()

    async def start(self, *faults: str, name: str = "one", **fields: Any) -> None:
        launch = ServerLaunch(
            name=name,
            **{
                "argv": (sys.executable, "-S", SERVER, *faults),
                "environment": child_environment(),
                "folder": str(self.folder),
                "roots": (str(self.folder),),
                **fields,
            },
        )
        await self.bridge.request(Operation.START, server=launch.to_json())

    async def connect(
        self, url: str, *, name: str = "one", protocol: Protocol = "auto", **fields: Any
    ) -> None:
        """Start the server at a URL."""
        launch = ServerLaunch(name=name, url=url, protocol=protocol, **fields)
        await self.bridge.request(Operation.START, server=launch.to_json())

    async def until(self, event: BridgeEvent, *, server: str = "one", **fields: Any) -> Mapping[str, Any]:
        """Return the last message of this kind with these fields, once there is one."""
        async with asyncio.timeout(60):
            while True:
                for message in reversed(self.events):
                    has_fields = all(message.get(key) == value for key, value in fields.items())
                    if message["event"] == event and message.get("server") == server and has_fields:
                        return message
                self._came.clear()
                await self._came.wait()

    async def call(self, tool: str, *, server: str = "one", **arguments: Any) -> Any:
        return await self.bridge.request(
            Operation.CALL, server=server, tool=tool, arguments=arguments, timeout_s=None
        )
