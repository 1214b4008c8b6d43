"""A server made with the SDK, over HTTP: `/mcp` speaks Streamable HTTP, `/sse` the older transport. Run as a program.

It prints its origin as the first line.
"""

from __future__ import annotations

import socket
import warnings
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import Field

server = MCPServer("sdk", version="1.0")
QUESTION = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Who?",
        requested_schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    )
)


@server.tool()
async def ask(rounds: int, context: Context) -> str | InputRequiredResult:
    """Ask the user in several rounds of the request."""
    done = int(context.request_state or 0)
    names = [one.model_dump() for one in (context.input_responses or {}).values()]
    if done < rounds:
        return InputRequiredResult(input_requests={f"q{done}": QUESTION}, request_state=str(done + 1))
    return f"{done} rounds, the last answer: {names[-1]['content']['name'] if names else None}"


@server.tool()
async def change(context: Context) -> str:
    """Add a tool, and say so."""
    server.add_tool(lambda: "new", name="added", description="New.")
    await context.notify_tools_changed()
    return "changed"


@server.tool()
async def swap_headers() -> str:
    """Let a parameter of `where` travel in another header, without saying so."""

    async def where(place: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Other"})]) -> str:
        return place

    server.remove_tool("where")
    server.add_tool(where, name="where", description="Return the place.")
    return "swapped"


@server.tool()
async def where(place: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Place"})]) -> str:
    """Return the place."""
    return place


@server.tool()
async def crash() -> str:
    """End the server during the call."""
    import os

    os._exit(3)


def main() -> None:
    warnings.simplefilter("ignore")
    app = server.streamable_http_app()
    app.router.routes += server.sse_app().routes
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
