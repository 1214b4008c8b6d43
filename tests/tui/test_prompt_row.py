"""The answers of a permission prompt in one row: which is selected, the arrow keys, clicks, the rules."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.strip import Strip

from forge_core.approval import Answer, ApprovalReply
from forge_core.config.forge_config import ForgeConfig
from forge_tui.keys.grace import GRACE_S
from forge_tui.widgets.choices import ChoiceList
from tests.support.asking import ask, asking
from tests.support.chat_app import ChatApp, command_request, shown, until

ROW = "1 once   2 session   4 no   5 no, because…"


def choices(app: ChatApp) -> ChoiceList:
    return app.screen.query_one("#permission ChoiceList", ChoiceList)


def chips(strip: Strip) -> list[str]:
    """The texts with a background of their own."""
    ground = strip._segments[-1].style.bgcolor if strip._segments[-1].style else None
    return [s.text for s in strip if s.style and s.style.bgcolor not in (None, ground)]


@pytest.mark.parametrize(("columns", "is_in_row"), [(99, False), (100, True), (200, True)])
async def test_the_answers_stand_in_one_row_from_100_columns(
    config: ForgeConfig, columns: int, is_in_row: bool
) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(columns, 30)) as pilot:
        await ask(pilot)
        assert (ROW in shown(app)) == is_in_row
        assert ("5 No, and tell it why" in shown(app)) != is_in_row
        assert "bash(pytest tests:*)" in shown(app)


async def test_the_arrows_select_an_answer_and_its_chip_shows_it(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        assert chips(choices(app).render_line(0)) == ["❯ 1 once "]
        await pilot.press("right")
        assert chips(choices(app).render_line(0)) == ["❯ 2 session "]
        await pilot.press("left", "left")
        assert chips(choices(app).render_line(0)) == ["❯ 5 no, because… "]
        await pilot.press("up")
        assert chips(choices(app).render_line(0)) == ["❯ 4 no "]
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO)])


@pytest.mark.parametrize(
    ("x", "replies"),
    [
        (3, [ApprovalReply(Answer.ONCE)]),
        (8, [ApprovalReply(Answer.ONCE)]),
        (9, [ApprovalReply(Answer.SESSION)]),
        (22, [ApprovalReply(Answer.NO)]),
        (60, []),
    ],
)
async def test_a_click_gives_the_answer_under_it(
    config: ForgeConfig, x: int, replies: list[ApprovalReply]
) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.clock.pass_(2 * GRACE_S)
        await pilot.click(choices(app), offset=(x, 0))
        await settled(pilot, app, len(replies))
        assert app.scripted.replies == replies


async def test_a_click_on_the_rules_below_answers_nothing(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.clock.pass_(2 * GRACE_S)
        await pilot.click(choices(app), offset=(4, 1))
        await settled(pilot, app, 0)
        assert app.scripted.replies == []


async def settled(pilot: Pilot[None], app: ChatApp, replies: int) -> None:
    await pilot.pause()
    await until(pilot, lambda: len(app.scripted.replies) >= replies)


async def test_rules_that_do_not_fit_below_the_answers_are_rows_of_the_body(config: ForgeConfig) -> None:
    rule = f"bash({'x' * 120}:*)"
    app = asking(config, command_request(session_rule=rule))
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        assert "Answer 2 would allow:" in shown(app)


@pytest.mark.parametrize("columns", [80, 120])
async def test_a_changed_window_keeps_the_selected_answer(config: ForgeConfig, columns: int) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(200 - columns, 30)) as pilot:
        await ask(pilot)
        await pilot.press("down", "down")
        await pilot.resize_terminal(columns, 30)
        await until(pilot, lambda: "❯ 4 " in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO)])
