"""`forge run` killed at any moment of a turn: its session opens again, and a strict host accepts the next turn."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forge_core.store.journal import read_journal
from tests.support.preloaded import PreloadedPopen
from tests.support.saved_journal import always, config_for, continue_session
from tests.support.sse_server import Reply, SseServer, answer, paced, tool_answer

pytestmark = [pytest.mark.network_server, pytest.mark.slow]

KILLS = 100 if os.environ.get("FORGE_FULL") else 6
_STEP_S = 0.004
_ALLOWED = ["--allow", "write(*)", "--allow", "edit(*)"]


def turn() -> list[Reply]:
    """A turn of four model calls with four tools, about half a second long."""
    write = {"file_path": "b.txt", "content": "x\n" * 50}
    edit = {"file_path": "a.txt", "old_string": "hello", "new_string": "bye"}
    replies = [
        tool_answer(("c1", "read", {"file_path": "a.txt"}), text="I look."),
        tool_answer(("c2", "write", write), ("c3", "edit", edit), piece=20),
        tool_answer(("c4", "grep", {"pattern": "bye"})),
        answer(*"All of it is done".partition(" ")),
    ]
    return [paced(reply, _STEP_S) for reply in replies]


def start(root: Path, server: SseServer) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "forge_tui.cli", "run", "go", "--base-url", server.base_url]
    command += ["--model", "test/model", "--output", "stream-json", *_ALLOWED]
    with (root / "events").open("wb") as events:
        return PreloadedPopen(
            command,
            cwd=root / "work",
            stdout=events,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "FORGE_HOME": str(root)},
        )


def begin(root: Path, server: SseServer) -> subprocess.Popen[bytes]:
    """Start a run and wait for its first request."""
    (root / "work").mkdir(parents=True)
    (root / "work" / "a.txt").write_text("hello\n")
    program = start(root, server)
    while not server.requests:
        assert program.poll() is None
        time.sleep(0.001)
    return program


async def test_a_session_killed_at_any_moment_of_a_turn_opens_and_continues(tmp_path: Path) -> None:
    with SseServer(*turn()) as server:
        program, began = begin(tmp_path / "whole", server), time.monotonic()
        assert program.wait(60) == 0
        whole_s = time.monotonic() - began
    chance = random.Random(14)
    was_cut = 0
    for number in range(KILLS):
        root = tmp_path / str(number)
        with SseServer(*turn()) as server:
            program = begin(root, server)
            time.sleep(chance.uniform(0, whole_s))
            os.kill(program.pid, signal.SIGKILL)
            was_cut += program.wait(60) == -signal.SIGKILL
        [path] = root.rglob("sessions/*.jsonl")
        before = read_journal(path)
        assert before.damaged <= 1
        _assert_nothing_is_lost(root / "events", [record["type"] for record in before.records])
        with SseServer(routes=always()) as strict:
            config = config_for(root, strict, state_dir=path.parent.parent)
            messages = await continue_session(config, strict, path.stem)
        assert "go" in [message["content"] for message in messages]
        after = read_journal(path)
        assert after.damaged == 0
        assert after.records[: len(before.records)] == before.records
    assert was_cut > KILLS // 2


def _assert_nothing_is_lost(printed: Path, recorded: list[str]) -> None:
    """No record of an event that a reader of the run has seen is missing."""
    lines = [line for line in printed.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    kinds = [json.loads(line)["type"] for line in lines]
    for kind in ("tool_start", "tool_end", "llm_end"):
        assert recorded.count(kind) >= kinds.count(kind)
    durable = [kind for kind in kinds if kind in ("tool_start", "tool_end", "llm_end", "agent_end")]
    kept = [kind for kind in recorded if kind in ("tool_start", "tool_end", "llm_end", "agent_end")]
    assert len(kept) >= len(durable)
