"""How much of what a server writes beside its answers reaches the session."""

from __future__ import annotations

from typing import Any

from forge_core.mcp.bridge.side_output import CallProgress, ServerLog


def test_a_flood_of_texts_is_cut_to_what_a_second_may_bring() -> None:
    sent: list[dict[str, Any]] = []
    now = 0.0
    log = ServerLog("one", sent.append, lambda: now)
    for text in ("a" * 8_192, "\n" * 8_192, "b\n"):
        now += 1
        sent.clear()
        for _ in range(10_000):
            log(text)
        texts = [one["text"] for one in sent]
        assert sum(map(len, texts)) < 75_000 and sum(one.count("\n") for one in texts) < 5_000
        assert len(texts) <= 20

    now += 1
    log("calm", stream="message")
    assert sent[-1] == {
        "event": "log",
        "server": "one",
        "stream": "message",
        "text": "[19,960 characters left out]\ncalm",
    }


async def test_a_flood_of_progress_is_cut_to_what_can_be_shown() -> None:
    shown: list[tuple[float, float | None, str | None]] = []
    now = 0.0

    async def show(progress: float, total: float | None, message: str | None) -> None:
        shown.append((progress, total, message))

    report = CallProgress(show, lambda: now)
    for step in range(10_000):
        await report(step, None, "x" * 10_000)
    now += 1
    await report(10_000, 10_000, None)

    assert [one[0] for one in shown] == [*range(50), 10_000]
    assert {one[2] for one in shown} == {"x" * 500, None}
