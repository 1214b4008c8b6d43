"""An editor: the client of the SDK of the Agent Client Protocol, connected to Forge's server through pipes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.client.connection import ClientSideConnection

from forge_core.config.forge_config import ForgeConfig
from forge_core.integrations.acp.server import AcpServer
from forge_core.integrations.acp.stdio_lines import LineTransport
from forge_core.runtime import load_session_config

Chooser = Callable[[schema.ToolCallUpdate, Sequence[schema.PermissionOption]], str]
"""Returns the id of the option that the user chooses; empty: the request is dismissed."""


def the_first(call: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]) -> str:
    return options[0].option_id


@dataclass
class Editor:
    """What the agent sees of the editor, and what it has sent."""

    choose: Chooser = the_first
    buffers: dict[str, str] = field(default_factory=dict)
    """Path → the text of a file that is open."""
    form_answer: dict[str, Any] | None = None
    """The answer to a form; None declines it."""
    updates: list[Any] = field(default_factory=list)
    asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = field(default_factory=list)
    forms: list[Any] = field(default_factory=list)
    on_asked: Callable[[], None] = lambda: None

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self.on_asked()
        chosen = self.choose(tool_call, options)
        if chosen == "error":
            raise acp.RequestError(-32603, "the editor has crashed")
        if not chosen:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> schema.ReadTextFileResponse:
        if path not in self.buffers:
            raise acp.RequestError(-32002, "it is not open")
        return schema.ReadTextFileResponse(content=self.buffers[path])

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.forms.append((message, mode))
        if self.form_answer is None:
            return schema.DeclineElicitationResponse(action="decline")
        return schema.AcceptElicitationResponse(action="accept", content=self.form_answer)

    def on_connect(self, connection: Any) -> None:
        return

    def take(self, kind: type[Any]) -> list[Any]:
        """Return the updates of a kind, and forget them."""
        found = [one for one in self.updates if isinstance(one, kind)]
        self.updates = [one for one in self.updates if not isinstance(one, kind)]
        return found

    @property
    def said(self) -> str:
        """What the agent has said, as one text."""
        chunks = (one for one in self.updates if isinstance(one, schema.AgentMessageChunk))
        return "".join(one.content.text for one in chunks)


@asynccontextmanager
async def connected(
    editor: Editor,
    *,
    flags: dict[str, Any] | None = None,
    trust: bool = False,
    capabilities: schema.ClientCapabilities | None = None,
) -> AsyncIterator[ClientSideConnection]:
    """Connect an editor to a server in this process; each line of the server is checked by the SDK's models."""

    def load(folder: Path | None) -> ForgeConfig:
        return load_session_config(folder, flags=flags or {"model": "offline"}, trust=trust)

    to_server, from_server = os.pipe(), os.pipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_server[0], "rb")
    )
    writing, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(to_server[1], "wb")
    )
    writer = asyncio.StreamWriter(writing, protocol, None, loop)
    serving = asyncio.create_task(AcpServer(LineTransport(to_server[0], from_server[1]), load).run())
    connection = acp.connect_to_agent(editor, writer, reader, use_unstable_protocol=True)
    try:
        await connection.initialize(protocol_version=1, client_capabilities=capabilities)
        yield connection
    finally:
        await connection.close()
        writer.close()
        await serving
        reading.close()
        os.close(to_server[0])
        os.close(from_server[1])


def raw_line(method: str, number: int | None = 1, **params: Any) -> bytes:
    """Return a request, or a notification without a number, as its line."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if number is None else {**message, "id": number}).encode() + b"\n"
