"""Real sessions with a scripted MCP server, whose requests and results a test writes down."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from forge_core.approval import Answer
from forge_core.events import AgentEvent
from forge_core.session.session import ForgeSession
from tests.support.mcp_bench import SERVER
from tests.support.scripted_llm import Piece
from tests.support.sessions import Answering, scripted_session


def declare(root: Path, script: dict[str, Any] | None = None, *, name: str = "bench") -> None:
    """Declare a server of the user that follows a script (see `tests.support.mcp_server`), and appends what it
    receives to `own/received`."""
    path = root / "own" / "mcp.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    (root / "own" / "script.json").write_text(json.dumps(script or {}))
    args = ["-S", SERVER, f"script={root / 'own' / 'script.json'}", f"record={root / 'own' / 'received'}"]
    path.write_text(json.dumps({"mcpServers": {name: {"command": sys.executable, "args": args}}}))


@asynccontextmanager
async def server_session(
    root: Path, *replies: Sequence[Piece], script: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[ForgeSession]:
    """A session in `root` whose server `bench` is connected; the user allows everything."""
    declare(root, script)
    options.setdefault("approver", Answering(Answer.ONCE))
    session = scripted_session(root, replies or [["ok"]], **options)
    await session.hooks.begin()
    assert await session.servers.settled(60) == []
    try:
        yield session
    finally:
        await session.aclose()


async def turn(session: ForgeSession, text: str = "go", **fields: Any) -> list[AgentEvent]:
    """The events of a turn."""
    return [event async for event in session.send(text, **fields)]


def called(content: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A script in which a call of the tool echo has a result of these blocks."""
    return {"tools/call echo": {"result": {"content": list(content), **more}}}
