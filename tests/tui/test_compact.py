"""`/compact` on the screen: it runs like a turn, and the bar shows that a compaction is coming."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import Compaction
from forge_tui.widgets.status_text import Figures, context_part
from tests.support.chat_app import make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, ScriptedSession, Step, answer, end_of_turn

DONE = Compaction(before=86_000, after=9_000, pinned=("the goal", "2 files"))


async def test_a_compaction_can_be_interrupted_and_queues_what_is_sent(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate, DONE, end_of_turn()], answer("hello")])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/compact the parser")
        await gate.reached.wait()
        session = app.chat.session
        assert isinstance(session, ScriptedSession)
        assert session.compactions == [("the parser", False)]
        await until(pilot, lambda: "Compacting" in shown(app))
        await say(pilot, "and then this")
        assert session.sent == []
        await say(pilot, "/compact")
        assert "/compact works between turns" in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.has_turn)
        assert "interrupted" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: session.sent == ["and then this"])


async def test_the_result_is_one_line_and_the_screen_keeps_all(config: ForgeConfig) -> None:
    script: list[list[Step]] = [answer("An old answer"), [DONE, end_of_turn()]]
    app = make_app(config, script)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "An old answer" in shown(app))
        await say(pilot, "/compact fast")
        await until(pilot, lambda: "~9,000 tokens" in shown(app))
        screen = shown(app)
        assert "Conversation summarised: ~86,000 → ~9,000 tokens. Still there: the goal, 2 files" in screen
        assert "An old answer" in screen


FIGURES = Figures(context_window=200_000, compacts_at=170_000)


@pytest.mark.parametrize(
    ("used", "text"),
    [
        (12_430, "▰▱▱▱▱▱▱▱▱▱ 6%"),
        (144_000, "▰▰▰▰▰▰▰▱▱▱ 72%"),
        (145_000, "▰▰▰▰▰▰▰▱▱▱ 72% compacts at 85%"),
        (171_000, "▰▰▰▰▰▰▰▰▰▱ 86% compacts at 85%"),
    ],
)
def test_the_bar_shows_that_a_compaction_is_coming(used: int, text: str) -> None:
    assert context_part(replace(FIGURES, context_used=used)).text == text


def test_without_a_threshold_the_bar_says_nothing() -> None:
    assert context_part(replace(FIGURES, context_used=199_000, compacts_at=None)).text == "▰▰▰▰▰▰▰▰▰▱ 100%"
