"""The output stage shows what Textual's own output shows, through everything that an hour of work brings.

Each frame of the real app goes to two emulated terminals, once by the output stage and once by Textual. The
hour is one of the app's own clock, with all that is timed: spinner, notes, ticking cards, scrolling at an edge.
"""

from __future__ import annotations

import asyncio
import os
import random
import time as wall
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_app import make_app, make_config
from tests.support.compared_app import ComparedApp
from tests.support.recording import (
    EPOCH,
    GROUND_SIZE,
    HOUR_S,
    Action,
    Close,
    Keys,
    Next,
    Recording,
    Size,
    record,
)
from tests.support.skipped_time import run_skipping, use_clock

pytestmark = pytest.mark.slow


IS_FULL = bool(os.environ.get("FORGE_FULL"))
TURNS = 24 if IS_FULL else 1
SHORT_PAUSE_S = 0.3
ESCAPE = "\x1b"


@dataclass(slots=True)
class Player:
    """Plays a recording through the app."""

    app: ComparedApp
    recording: Recording

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs the app around `work`."""
        running = asyncio.create_task(self.app.run_async(size=GROUND_SIZE))
        while self.app.session is None or self.app._early is not None:
            assert not running.done(), self.app.crash
            await asyncio.sleep(0.05)
        await work()
        self.app.exit()
        await running
        assert self.app.crash is None

    async def play(self, pause_s: float) -> None:
        """Every action, each followed by a pause; then the two screens are the same."""
        for number, action in enumerate(self.recording.actions):
            await self.do(action)
            await asyncio.sleep(pause_s)
            self.check(f"after step {number} ({action!r})")
        for _ in self.recording.gates:  # messages that still wait for their turn
            if not self.app.chat.has_turn:
                break
            for action in (Next(), Close()):
                await self.do(action)
                await asyncio.sleep(SHORT_PAUSE_S)
            self.check("behind the last action")

    async def storm(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Sizes that nothing waits for, while an answer stands open."""
        for action in (Keys("go on\r"), Next(), Next()):
            await self.do(action)
            await asyncio.sleep(SHORT_PAUSE_S)
        for number, size in enumerate(sizes):
            self.app.resize(*size)
            for _ in range(number % 7):
                await asyncio.sleep(0)  # the app gets as far as it gets
        await asyncio.sleep(1.0)
        self.check("after the storm")

    async def do(self, action: Action) -> None:
        match action:
            case Keys(text):
                await self.app.type(text)
            case Size(width, height):
                self.app.resize(width, height)
            case Next():
                for gate in self.recording.gates:
                    if gate.reached.is_set() and not gate.opened.is_set():
                        gate.open()
            case Close():
                for _ in range(3):
                    if self.app.chat.prompts.is_taken:
                        await self.app.type(ESCAPE)
                        await asyncio.sleep(1.0)

    def check(self, when: str) -> None:
        assert self.app.crash is None, when
        self.app.compare(range(self.app.ours.emulator.screen.lines))
        assert not self.app.difference, f"{when}:\n{self.app.difference}"


def compared(recording: Recording, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Player:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    app = make_app(make_config(folder), recording.scripts, kind=ComparedApp)
    assert isinstance(app, ComparedApp)
    use_clock(monkeypatch, app.clock, EPOCH)
    app.compare_from(GROUND_SIZE, monkeypatch)
    return Player(app, recording)


@pytest.mark.parametrize("seed", [1])
def test_an_hour_of_work_looks_the_same_with_and_without_the_output_stage(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = record(TURNS, seed)
    player = compared(recording, tmp_path, monkeypatch)
    app, began = player.app, wall.perf_counter()
    pause_s = HOUR_S / len(recording.actions) if IS_FULL else SHORT_PAUSE_S
    run_skipping(app.clock, player.run(lambda: player.play(pause_s)))
    print(
        f"{TURNS} turns, {sum(map(len, recording.scripts))} steps of the session, "
        f"{sum(gate.opened.is_set() for gate in recording.gates)} of {len(recording.gates)} gates, "
        f"{len(recording.actions)} actions, {app.clock.now - 1000.0:.0f} s played in "
        f"{wall.perf_counter() - began:.0f} s, {app.frames} frames compared ({app.halves} of Textual's with half a character), "
        f"{app.ours.bytes} bytes written instead of {app.theirs.bytes}"
    )
    assert app.pieces, "answers were painted past the compositor"
    assert not app.chat.has_turn
    # Escape stops a turn, and messages sent meanwhile may go together: not every script gets its turn.
    assert len(app.scripted.scripts) <= TURNS / 2
    assert sum(gate.opened.is_set() for gate in recording.gates) > len(recording.gates) / 2
    assert app.ours.bytes < app.theirs.bytes / 2


def test_many_resizes_leave_a_correct_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes down to a single cell."""
    chance = random.Random(7)
    sizes = [(chance.randint(1, 160), chance.randint(1, 50)) for _ in range(50)]
    sizes += [(1, 1), (1, 40), (150, 1), (20, 5), GROUND_SIZE]
    player = compared(record(1, 3), tmp_path, monkeypatch)
    run_skipping(player.app.clock, player.run(lambda: player.storm(sizes)))
    screen = "\n".join(player.app.ours.emulator.lines())
    hints = ("Ask about this folder", "Queue a message", "Waiting for your answer")
    assert any(hint in screen for hint in hints)
    assert "/" * 9 not in screen
    assert "#" * 9 not in "\n".join(player.app.theirs.emulator.lines())
