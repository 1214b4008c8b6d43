"""A long session in a small window, against a provider that refuses what is too long or breaks the protocol.

`python -m tests.bench.long_session` does the same with 300 turns on a terminal.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.forge_config import Endpoint
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEnd, AgentEvent, Compaction
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from tests.support.scripted_work import ScriptedWork, make_files, message
from tests.support.sse_server import KEY, SseServer

pytestmark = pytest.mark.network_server


async def allow(request: ApprovalRequest) -> ApprovalReply:
    return ApprovalReply(Answer.ONCE)


def session_at(root: Path, server: SseServer, window: int, resume: str | None = None) -> ForgeSession:
    (root / "work").mkdir(exist_ok=True)
    config = load_session_config(root / "work", flags={"model": "offline"})
    config = dataclasses.replace(
        config,
        endpoint=Endpoint("custom", server.base_url, KEY),
        model="test/model",
        context_window=window,
        permission_mode=PermissionMode.ACCEPT_EDITS,
        state_dir=root / "state",
    )
    return build_session(config, allow, resume=resume, shows_figures=False)


async def do_turn(session: ForgeSession, turn: int) -> list[AgentEvent]:
    events = [event async for event in session.send(message(turn))]
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert (last.result.stopped_reason, last.result.error) == ("complete", None)
    assert last.result.output.endswith(f"done{turn}z")
    return events


async def test_no_request_is_too_long_and_each_figure_is_the_providers(tmp_path: Path) -> None:
    work = ScriptedWork(16_000)
    with SseServer(routes={"POST /chat/completions": work}) as server:
        session = session_at(tmp_path, server, work.window)
        make_files(tmp_path / "work")
        compactions = 0
        for turn in range(1, 16):
            if turn == 10:
                await session.aclose()
                session = session_at(tmp_path, server, work.window, resume=session.id)
            events = await do_turn(session, turn)
            compactions += sum(isinstance(event, Compaction) for event in events)
            assert abs(session.status.context_used - work.held_tokens) <= work.held_tokens * 0.01
            assert session.spending().total.known_usd == work.cost_usd
        await session.aclose()
    assert work.problems == []
    assert compactions >= 3
    assert any(one.is_summary for one in work.requests)
    assert not any(one.is_refused for one in work.requests)


async def test_a_window_smaller_than_was_known_is_no_dead_end(tmp_path: Path) -> None:
    work = ScriptedWork(14_000)
    with SseServer(routes={"POST /chat/completions": work}) as server:
        session = session_at(tmp_path, server, 2 * work.window)
        make_files(tmp_path / "work")
        for turn in range(1, 13):
            await do_turn(session, turn)
        await session.aclose()
    assert work.problems == []
    assert any(one.is_refused for one in work.requests)
