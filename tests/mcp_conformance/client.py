"""The client that the conformance suite runs: `python client.py URL`, with the scenario in MCP_CONFORMANCE_SCENARIO.

It does with the bridge what a session does: it connects, signs in when the server asks for that, calls the tools,
and answers questions by the defaults.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from forge_core.mcp.bridge_process import BridgeError, BridgeProcess
from forge_core.mcp.sign_in import SignInDialog, sign_in
from forge_core.mcp.wire import BridgeEvent, Operation, ServerLaunch, ServerState
from forge_core.tools.shell.environment import network_environment

_LIMIT_S = 25.0
_SIGN_INS = 3
"""How often one run signs in: a server may want more each time."""
_METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The document about the client that one scenario expects to be named."""


class Client:
    """One server, and a user who agrees to everything."""

    def __init__(self, launch: ServerLaunch) -> None:
        self._launch = launch
        self._bridge = BridgeProcess(self._take, lambda reason: None)
        self._state: Mapping[str, Any] = {}
        self._tools: list[Mapping[str, Any]] = []
        self._changed = asyncio.Event()
        self._signed_in = 0

    async def run(self) -> None:
        """Connect, and call every tool. Raises BridgeError."""
        await self._bridge.start(network_environment())
        try:
            await self._connect()
            for tool in self._tools:
                await self._call(tool)
        finally:
            await self._bridge.aclose()

    async def _connect(self) -> None:
        await self._bridge.request(Operation.START, server=self._launch.to_json())
        while True:
            self._changed.clear()
            match self._state.get("state"):
                case ServerState.READY:
                    return
                case ServerState.FAILED:
                    raise BridgeError(self._state["error"])
                case ServerState.NEEDS_SIGN_IN:
                    self._state = {}
                    await self._sign_in()
            await self._changed.wait()

    async def _sign_in(self) -> None:
        self._signed_in += 1
        if self._signed_in > _SIGN_INS:
            raise BridgeError("the server asks for one sign-in after the other")
        await sign_in(self._launch, SignInDialog(_browse, _never, print), network_environment())

    async def _call(self, tool: Mapping[str, Any]) -> None:
        """Call a tool, after another sign-in if the server wants one. Raises BridgeError."""
        while True:
            try:
                await self._bridge.request(
                    Operation.CALL,
                    server=self._launch.name,
                    tool=tool["name"],
                    arguments=_arguments(tool["inputSchema"]),
                    timeout_s=None,
                )
                return
            except BridgeError as error:
                if "forge mcp login" not in str(error):
                    raise
                await self._sign_in()
                await self._connect()

    def _take(self, event: BridgeEvent, message: Mapping[str, Any]) -> None:
        match event:
            case BridgeEvent.STATE:
                self._state = message
            case BridgeEvent.TOOLS:
                self._tools = message["items"]
            case BridgeEvent.ASK:
                schema = message["params"].get("requestedSchema", {})
                value = {"action": "accept", "content": _defaults(schema)}
                self._bridge.send({"op": Operation.ANSWER, "id": message["id"], "value": value})
            case BridgeEvent.LOG:
                print(message["text"], file=sys.stderr)
        self._changed.set()


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a user who changes nothing in a form."""
    fields = schema.get("properties", {})
    return {name: field["default"] for name, field in fields.items() if "default" in field}


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    examples = {"number": 1, "integer": 1, "string": "text", "boolean": True}
    fields = schema.get("properties", {})
    return {name: examples.get(field.get("type")) for name, field in fields.items()}


async def _browse(url: str) -> None:
    """Do what a browser does in which the user agrees at once."""

    def visit() -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(url, timeout=20).close()

    try:
        await asyncio.to_thread(visit)
    except urllib.error.HTTPError as error:
        print(f"{url}: {error}", file=sys.stderr)


async def _never() -> str:
    await asyncio.Event().wait()
    return ""


async def main() -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as state:
        launch = ServerLaunch(
            name="conformance",
            url=sys.argv[1],
            protocol="auto",
            state_dir=state,
            client_id=context.get("client_id", ""),
            client_secret=context.get("client_secret", ""),
            client_metadata_url=_METADATA_URL if scenario == "auth/basic-cimd" else "",
        )
        try:
            async with asyncio.timeout(_LIMIT_S):
                await Client(launch).run()
        except (BridgeError, TimeoutError) as error:
            print(f"{scenario}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
