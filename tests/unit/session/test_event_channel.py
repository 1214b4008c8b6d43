"""What the person reads while a request is tried again."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from forge_core.llm.http.retry import RetryNotice
from forge_core.session.event_channel import EventChannel


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
