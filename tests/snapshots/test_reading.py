"""How reading looks: finding, selecting, something new below, a long output unfolded, every kind of notice.

The pictures are written by Python 3.11; `pytest tests/snapshots --snapshot-update` renews them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import Compaction, Notice
from tests.snapshots.test_snapshots import tool
from tests.support.chat_app import make_app, ready, say, type_text, until
from tests.support.scripted_session import Step, answer, end_of_turn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

Compare = Callable[..., bool]

LINES = "\n".join(f"{number:>4}  module_{number} = load({number})" for number in range(1, 260))
TURN: list[Step] = [
    *answer("The module is loaded **once**, at the start; a module that is missing is told by name."),
    *tool("c1", "read", {"path": "src/engine/modules.py"}, LINES, summary="259 lines"),
    *answer("There are 259 of them."),
]


async def reads(pilot: Pilot[None]) -> None:
    """Plays the turn, to its end."""
    app = await ready(pilot)
    await say(pilot, "which modules are there?")
    await until(pilot, lambda: not app.chat.has_turn and len(app.chat.transcript.model.blocks) == 4)


def test_finding(snap_compare: Compare, config: ForgeConfig) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await reads(pilot)
        app = await ready(pilot)
        await pilot.press("ctrl+f")
        await type_text(pilot, "module")
        await until(pilot, lambda: "/" in app.chat.transcript.find_status)
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.transcript._scrollbar_handle is None)

    assert snap_compare(make_app(config, [TURN]), terminal_size=(100, 24), run_before=run)


def test_a_selection_with_something_new_below(snap_compare: Compare, config: ForgeConfig) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await reads(pilot)
        app = await ready(pilot)
        transcript = app.chat.transcript
        transcript.toggle_cards()
        transcript.scroll_to_start()
        await pilot.mouse_down(transcript, offset=(3, 2))
        await pilot.hover(transcript, offset=(22, 6))
        await pilot.mouse_up(transcript, offset=(22, 6))
        transcript.add_notice("The model is asked again in 4 s.", "warning")
        await until(pilot, lambda: transcript._scrollbar_handle is None)

    assert snap_compare(make_app(config, [TURN]), terminal_size=(100, 24), run_before=run)


def test_the_end_of_a_page(snap_compare: Compare, config: ForgeConfig) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await reads(pilot)
        app = await ready(pilot)
        app.chat.transcript.toggle_cards()
        app.chat.transcript.scroll_to_end()
        await until(pilot, lambda: app.chat.transcript._scrollbar_handle is None)

    assert snap_compare(make_app(config, [TURN]), terminal_size=(80, 24), run_before=run)


def test_notices(snap_compare: Compare, config: ForgeConfig) -> None:
    turn: list[Step] = [
        Notice(text="The provider is busy: asked again in 4 s.", level="info"),
        Notice(text="80 % of the budget is spent.", level="warning"),
        Notice(text="[red]rules.toml[/red] can't be read.", level="error"),
        Compaction(before=160_000, after=12_000),
        *answer("Half an answer"),
        end_of_turn("length"),
    ]

    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        await say(pilot, "go on")
        await until(pilot, lambda: not app.chat.has_turn and len(app.chat.transcript.model.blocks) == 7)

    assert snap_compare(make_app(config, [turn]), terminal_size=(80, 24), run_before=run)
