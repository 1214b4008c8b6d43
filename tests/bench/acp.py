"""python -m tests.bench.acp: the times of `forge acp`, which an editor waits for.

Prints how long `initialize`, `session/new` and `session/load` of a conversation with 5,000 events take, in seconds,
with their bars, in a program that starts without anything imported.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp

from forge_core.events import AgentEvent, LLMChunk
from forge_core.store.journal import journal_path
from tests.support.acp_editor import Editor
from tests.support.transcripts import call_ended, tool_ended, tool_started

EVENTS = 5_000
SESSION = "20260101-000000-abcdef"
BARS = {"initialize": 1.5, "session/load": 2.0}
"""Seconds."""


def write_journal(path: Path, folder: Path) -> None:
    """Write a conversation with so many events, in turns of twenty calls."""
    path.parent.mkdir(parents=True, mode=0o700)
    at, count = 1_767_225_600.0, 0
    about = {"model": "forge/offline", "mode": "ask"}
    records: list[dict[str, Any]] = [
        {"v": 2, "type": "session", "timestamp": at, "data": {"working_dir": str(folder), **about}}
    ]

    def add(kind: str, data: dict[str, Any]) -> None:
        records.append({"v": 2, "type": kind, "timestamp": at + len(records), "data": data})

    def happened(event: AgentEvent) -> None:
        nonlocal count
        count += 1
        record = event.as_record()
        add(record["type"], record["data"])

    while count < EVENTS:
        add("user", {"text": "Go on with the work.", **about})
        for number in range(20):
            happened(LLMChunk(text="I look at the next file and say what I have found in it. " * 3))
            call_id = f"c{count}"
            happened(tool_started("read", call_id, file_path=f"src/file{number}.py"))
            happened(tool_ended("read", "x = 1\n" * 40, call_id=call_id))
        happened(call_ended())
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@asynccontextmanager
async def program(home: Path, editor: Editor) -> AsyncIterator[Any]:
    """A program of its own, started as an editor starts it."""
    command = (sys.executable, "-m", "forge_tui.cli", "acp", "--model", "offline")
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    async with acp.spawn_agent_process(
        editor,
        *command,
        env=environment,
        cwd=home,
        use_unstable_protocol=True,
        transport_kwargs={"stderr": None},
    ) as (agent, _):
        yield agent


async def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        home, took = Path(name), {}
        write_journal(journal_path(home / ".local" / "state" / "forge", SESSION), home)
        editor = Editor()
        began = time.monotonic()
        async with program(home, editor) as agent:
            await agent.initialize(protocol_version=1)
            took["initialize"] = time.monotonic() - began
            began = time.monotonic()
            await agent.new_session(cwd=name)
            took["session/new"] = time.monotonic() - began
            began = time.monotonic()
            await agent.load_session(cwd=name, session_id=SESSION, mcp_servers=[])
            took["session/load"] = time.monotonic() - began
    print(f"{len(editor.updates):,} updates of {EVENTS:,} events")
    for what, seconds in took.items():
        bar = BARS.get(what)
        verdict = "" if bar is None else f"bar {bar} s, {'kept' if seconds <= bar else 'MISSED'}"
        print(f"{what:14} {seconds:6.2f} s  {verdict}")
    return int(any(took[what] > bar for what, bar in BARS.items()))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
