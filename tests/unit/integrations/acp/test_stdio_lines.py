"""The lines of `forge acp`: what is no message is answered with an error, and what follows counts."""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any

import pytest

from forge_core.integrations.acp import stdio_lines
from forge_core.integrations.acp.server import AcpServer
from forge_core.integrations.acp.stdio_lines import InvalidLineError, LineTransport, parsed_message
from forge_core.runtime import load_session_config
from tests.support.acp_editor import raw_line

INITIALIZE = raw_line("initialize", protocolVersion=1)


async def answers_to(lines: bytes, max_line_bytes: int = stdio_lines.MAX_LINE_BYTES) -> list[dict[str, Any]]:
    """Return what a server writes that reads these lines, until it has ended."""
    to_server, from_server = os.pipe(), os.pipe()
    transport = LineTransport(to_server[0], from_server[1], max_line_bytes=max_line_bytes)
    server = AcpServer(transport, lambda folder: load_session_config(folder, flags={"model": "offline"}))
    serving = asyncio.create_task(server.run())

    def talk() -> bytes:
        with os.fdopen(to_server[1], "wb") as file:
            file.write(lines)
        return b""

    def listen() -> bytes:
        with os.fdopen(from_server[0], "rb") as file:
            return file.read()

    listening = asyncio.ensure_future(asyncio.to_thread(listen))
    await asyncio.to_thread(talk)
    await serving
    os.close(from_server[1])
    os.close(to_server[0])
    return [json.loads(line) for line in (await listening).splitlines()]


async def test_lines_that_are_no_messages_are_answered_and_what_follows_counts() -> None:
    bad = [
        b"{",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"id": []}',
        b'{"method": 5}',
        b"{}",
        b"[" * 100_000,
        b'{"id":1,',
    ]
    answers = await answers_to(b"\n".join([b"", *bad, b""]) + INITIALIZE + b'{"id": 7, "met')
    codes = sorted(one["error"]["code"] for one in answers if "error" in one)
    assert codes == [-32700] * 5 + [-32600] * 5
    assert [one["result"]["agentInfo"]["name"] for one in answers if one["id"] == 1] == ["forge"]


async def test_a_client_that_offers_version_2_is_answered_1() -> None:
    (only,) = await answers_to(raw_line("initialize", protocolVersion=2))
    assert only["result"]["protocolVersion"] == 1


async def test_methods_and_parameters_that_are_unknown_are_errors() -> None:
    lines = [
        raw_line("session/fly", 1),
        raw_line("session/prompt", 2, sessionId=5),
        raw_line("session/new", 3, cwd="relative", mcpServers=[]),
        raw_line("session/cancel", None, sessionId="none"),
        raw_line("no/such", None),
        b'{"jsonrpc": "2.0", "id": 9, "method": "session/prompt", "params": "text"}\n',
        b'{"jsonrpc": "2.0", "id": 77, "result": {}}\n',
        b'{"jsonrpc": "2.0", "id": 78, "error": "broken"}\n',
    ]
    answers = await answers_to(b"".join(lines))
    codes = {one["id"]: one["error"]["code"] for one in answers}
    assert codes == {1: -32601, 2: -32602, 3: -32602, 9: -32602}


async def test_two_hundred_mutated_lines_leave_the_server_running() -> None:
    rng = random.Random(18)
    session = raw_line(
        "session/prompt", 3, sessionId="20260101-000000-abcdef", prompt=[{"type": "text", "text": "x"}]
    )
    sources = [
        INITIALIZE,
        session,
        raw_line("session/cancel", None, sessionId="x"),
        raw_line("session/new", 4),
    ]
    lines = []
    for _ in range(200):
        line = bytearray(rng.choice(sources).rstrip(b"\n"))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(line))
            match rng.randrange(3):
                case 0:
                    line[at] = rng.randrange(256)
                case 1:
                    del line[at : at + rng.randint(1, 9)]
                case _:
                    line[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 5)))
            if not line:
                break
        lines.append(bytes(line).replace(b"\n", b" "))
    answers = await answers_to(b"\n".join(lines) + b"\n" + raw_line("initialize", 999, protocolVersion=1))
    assert [one["result"]["protocolVersion"] for one in answers if one["id"] == 999] == [1]
    codes = {one["error"]["code"] for one in answers if "error" in one}
    assert {-32700, -32602} <= codes <= {-32700, -32600, -32601, -32602}


async def test_a_line_that_is_too_long_is_skipped() -> None:
    answers = await answers_to(b'{"x": "' + b"y" * 300_000 + b'"}\n' + INITIALIZE, max_line_bytes=100_000)
    assert [one.get("error", {}).get("code") for one in answers] == [-32700, None]


async def test_a_client_that_does_not_read_delays_only_what_is_sent_to_it() -> None:
    read, write = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    transport = LineTransport(nothing, write)
    big = {"text": "x" * 400_000}
    sends = [asyncio.create_task(transport.send(big)) for _ in range(4)]
    await transport.receive()
    assert not all(task.done() for task in sends)
    os.close(read)
    await asyncio.gather(*sends)
    assert await transport.receive() is None
    os.close(write)
    os.close(nothing)


async def test_what_json_has_not_is_sent_as_text() -> None:
    read, write = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    transport = LineTransport(nothing, write, lambda value: value)
    await transport.send({"rawInput": {"number": float("nan")}})
    await transport.close()
    assert json.loads(os.read(read, 1000)) == {"rawInput": {"number": "nan"}}
    for descriptor in (read, write, nothing):
        os.close(descriptor)


def test_an_id_is_a_number_or_a_text() -> None:
    assert parsed_message(b'{"id": "a", "result": 1}')["id"] == "a"
    with pytest.raises(InvalidLineError):
        parsed_message(b'{"id": true, "method": "x"}')
