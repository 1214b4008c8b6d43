"""A burst of fragments: the first is painted at once, the others as frames are paid for. No clock but ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from rich.console import RenderableType
from textual.screen import Screen

from forge_tui.widgets.pacing import LOAD, SHORTEST_S
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.chat_app import FakeClock
from tests.support.skipped_time import run_skipping, use_clock
from tests.support.transcripts import TranscriptApp, said

LEAST_S = SHORTEST_S * 0.999
"""Sums of floating seconds are not exact."""


@dataclass(slots=True)
class Painted:
    """What came onto the screen, and when."""

    clock: FakeClock
    frames: list[tuple[float, str]] = field(default_factory=list)
    """The time and the transcript's text, whenever that has changed."""

    def note(self, text: str) -> None:
        if not self.frames or self.frames[-1][1] != text:
            self.frames.append((self.clock.now, text))

    @property
    def gaps(self) -> list[float]:
        times = [time for time, _ in self.frames]
        return [later - earlier for earlier, later in pairwise(times)]


class WatchedApp(TranscriptApp):
    """Tells of each frame."""

    painted: Painted

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if renderable is not None and self.transcript.is_attached and self.transcript.region.height:
            self.painted.note("".join(map(str.strip, self.rows())))


Work = Callable[[WatchedApp], Coroutine[Any, Any, None]]


def watched(monkeypatch: pytest.MonkeyPatch, work: Work) -> Painted:
    """Runs `work` in the app, long after its last frame; gives what was painted from then on."""
    clock = FakeClock()
    use_clock(monkeypatch, clock, 0.0)

    async def run() -> Painted:
        app = WatchedApp()
        app.painted = Painted(clock)
        async with app.run_test(size=(60, 16)):
            await asyncio.sleep(5.0)
            app.painted.frames.clear()
            await work(app)
            await asyncio.sleep(5.0)
        return app.painted

    return run_skipping(clock, run())


def test_the_first_fragment_of_a_burst_is_painted_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[float] = []

    async def work(app: WatchedApp) -> None:
        for burst in range(3):
            sent.append(app.painted.clock.now)
            app.transcript.apply(said(f"burst{burst} "))
            await asyncio.sleep(1.0)

    painted = watched(monkeypatch, work)
    assert [time for time, _ in painted.frames] == sent
    assert painted.frames[-1][1] == "burst0 burst1 burst2"


def test_following_fragments_share_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(app: WatchedApp) -> None:
        for number in range(200):
            app.transcript.apply(said("abcdefghij"[number % 10]))
            await asyncio.sleep(0.001)

    painted = watched(monkeypatch, work)
    assert painted.frames[0][1] == "a"
    assert min(painted.gaps) >= LEAST_S
    assert max(painted.gaps) <= SHORTEST_S + 0.002
    assert len(painted.frames) == pytest.approx(0.2 / SHORTEST_S, abs=3)
    assert painted.frames[-1][0] - painted.frames[0][0] <= 0.2 + SHORTEST_S


def test_a_slow_redraw_is_followed_by_a_longer_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    cost_s = 0.05
    flush = TranscriptBuilder.flush

    async def work(app: WatchedApp) -> None:
        def slow(conversation: TranscriptBuilder) -> None:
            flush(conversation)
            app.painted.clock.pass_(cost_s)

        monkeypatch.setattr(TranscriptBuilder, "flush", slow)
        for _ in range(100):
            app.transcript.apply(said("x"))
            await asyncio.sleep(0.01)

    painted = watched(monkeypatch, work)
    assert len(painted.frames) > 3
    assert min(painted.gaps) >= LOAD * cost_s * 0.999  # as long again for all else


def test_fragments_slower_than_the_frame_rate_are_painted_individually(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(app: WatchedApp) -> None:
        for number in range(50):
            app.transcript.apply(said("abcdefghij"[number % 10]))
            await asyncio.sleep(0.020)

    painted = watched(monkeypatch, work)
    assert [len(text) for _, text in painted.frames] == list(range(1, 51))
