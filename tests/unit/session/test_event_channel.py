"""What a session reports beside the events of its turns."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.events import AgentEnd, Notice
from forge_core.llm.http.retry import RetryNotice
from forge_core.runtime import build_session
from forge_core.session.event_channel import EventChannel
from tests.support.agent_server import AgentServer, config_for, saying


@pytest.mark.parametrize(
    ("reason", "wait_s", "told"),
    [
        (
            "OpenRouter (429): Slow down. Try again shortly, or choose another model.",
            4.0,
            "OpenRouter (429): Slow down. Trying again in 4 s.",
        ),
        (
            "local server (503): Busy. Try again in 9 s.",
            9.0,
            "local server (503): Busy. Trying again in 9 s.",
        ),
        ("It broke. Try again.", 0.1, "It broke. Trying again at once."),
        ("Try again. No. Check the URL.", 1.0, "Try again. No. Check the URL. Trying again in 1 s."),
    ],
)
async def test_a_retry_notice_does_not_repeat_advice_to_retry(reason: str, wait_s: float, told: str) -> None:
    channel = EventChannel()
    channel.retry(RetryNotice(1, wait_s, reason, 2))
    async with aclosing(channel.notices()) as notices:
        assert (await anext(notices)).text == told


async def test_a_notice_after_the_end_of_the_run_is_not_in_the_stream_and_not_lost(tmp_path: Path) -> None:
    with AgentServer({"go": [saying("0.01", "Done.")]}) as server:
        session = build_session(config_for(tmp_path, server), deny_all)
        events = []
        async for event in session.send("go"):
            events.append(event)
            if isinstance(event, AgentEnd):
                session.notify(Notice(level="info", text="late"))
        await session.aclose()
    assert isinstance(events[-1], AgentEnd)
    assert [one.text for one in session.waiting_notices()] == ["late"]
