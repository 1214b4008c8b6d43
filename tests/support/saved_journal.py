"""The journal of a real session against a loopback server, and what continues sessions from it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.approval import Answer, deny_all
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.events import AgentEnd
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.session.turn_recorder import message_record
from forge_core.store.saved_session import load_session
from tests.support.sessions import Answering
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.support.strict_host import violations

Record = dict[str, Any]
COMPLETIONS = "POST /chat/completions"
_TODO = {"items": [{"content": "Fix it", "status": "in_progress", "active_form": "Fixing it"}]}


def config_for(root: Path, server: SseServer, **changes: Any) -> ForgeConfig:
    """The settings of a session in `root/work` with its state in `root/state`."""
    work = root / "work"
    work.mkdir(exist_ok=True)
    config = load_session_config(work, flags={"model": "offline"})
    changed = {
        "endpoint": Endpoint("custom", server.base_url),
        "model": "test/model",
        "state_dir": root / "state",
        "sandbox": "off",
        "origins": {},
        **changes,
    }
    return dataclasses.replace(config, **changed)


async def record_session(config: ForgeConfig, server: SseServer) -> Path:
    """Run a turn with several tools and a second one; return the journal."""
    (config.working_dir / "a.txt").write_text("hello\n")
    server.add(
        tool_answer(
            ("c1", "read", {"file_path": "a.txt"}),
            ("c2", "todo", _TODO),
            ("c3", "edit", {"file_path": "a.txt", "old_string": "hello", "new_string": "bye"}),
            text="I look at it.",
        ),
        answer("It is ", "done."),
        answer("You are ", "welcome."),
    )
    session = build_session(config, Answering(Answer.SESSION))
    for text in ("Edit a.txt", "Thanks"):
        await say(session, text)
    session.save_input(draft="half a", queue=["next"])
    session.rename("A title")
    await session.aclose()
    return config.state_dir / "sessions" / f"{session.id}.jsonl"


async def say(session: ForgeSession, text: str) -> AgentEnd:
    """Run a turn to its end."""
    *_, last = [event async for event in session.send(text)]
    assert isinstance(last, AgentEnd)
    return last


async def continue_session(config: ForgeConfig, server: SseServer, session_id: str) -> list[dict[str, Any]]:
    """Continue a session with one turn, in a copy of its own of this process's state; return the messages of
    the request, which a strict host has accepted."""
    server.requests.clear()
    session = build_session(config, deny_all, resume=session_id)
    try:
        end = await say(session, "go on")
        assert end.result.stopped_reason == "complete", end.result.error
    finally:
        await session.aclose()
    body = server.requests[0].json
    assert violations(body) == []
    assert body["messages"][-1]["role"] == "user"
    messages: list[dict[str, Any]] = body["messages"]
    return messages


def assert_valid_on_disk(path: Path) -> None:
    """A strict host would take the messages of a journal as they are recorded."""
    messages = [message_record(message) for message in load_session(path).messages]
    assert violations({"messages": messages}) == [], messages


def always(text: str = "ok") -> Mapping[str, Any]:
    """The routes of a server that answers every request so."""
    return {COMPLETIONS: answer(text)}


def read_lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, records: list[Record]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
