"""What a long conversation costs: the same acts with 10, 1,000 and 10,000 blocks, in CPU milliseconds.

Runs in process without a terminal: rendering and layout are the same, and CPU time is exact.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from textual.events import AppBlur, AppFocus
from textual.geometry import Size
from textual.pilot import Pilot

from forge_core.events import LLMChunk
from forge_tui.widgets.transcript import Transcript
from tests.bench import script
from tests.bench.app import BenchApp, parse

ACTS = ("focus", "theme", "resize", "page up", "jump", "stream 300 tokens")


def measure(blocks: int, rounds: int) -> dict[str, float]:
    """CPU milliseconds of each act, with `blocks` blocks of history; the best of `rounds`, since
    the rest is what others did to the machine."""
    return asyncio.run(_measure(blocks, rounds))


async def _measure(blocks: int, rounds: int) -> dict[str, float]:
    app = BenchApp(parse([]))
    Transcript.warm()
    async with app.run_test(size=(120, 40)) as pilot:
        for number in range(blocks):
            script.add_history(app.transcript, number)
        await pilot.pause()
        acts = _acts(app, pilot)
        figures: dict[str, float] = {}
        for name, act in acts.items():
            await act()
            samples = []
            for _ in range(rounds):
                started = time.process_time()
                await act()
                samples.append((time.process_time() - started) * 1000)
            figures[name] = min(samples)
        return figures


def _acts(app: BenchApp, pilot: Pilot[None]) -> dict[str, Callable[[], Awaitable[None]]]:
    async def focus() -> None:
        app.post_message(AppBlur())
        await pilot.pause()
        app.post_message(AppFocus())
        await pilot.pause()

    async def theme() -> None:
        app.action_switch_theme()
        await pilot.pause()

    async def resize() -> None:
        width = 100 if app.size == Size(120, 40) else 120
        await pilot.resize_terminal(width, 40)
        await pilot.pause()

    async def page_up() -> None:
        app.transcript.page_up()
        await pilot.pause()

    async def jump() -> None:
        app.transcript.scroll_to_start()
        await pilot.pause()
        app.transcript.scroll_to_end()
        await pilot.pause()

    async def stream() -> None:
        for number, piece in enumerate(script.pieces(300)):
            app.transcript.apply(LLMChunk(text=piece))
            if number % 6 == 0:
                await asyncio.sleep(0.034)
        await pilot.pause()

    return dict(zip(ACTS, (focus, theme, resize, page_up, jump, stream), strict=True))
