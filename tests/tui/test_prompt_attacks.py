"""Input that was not meant as a Yes to this request: none of it allows anything."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.pilot import Pilot

from forge_core.approval import Answer, ApprovalReply
from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.widgets.choices import ChoiceList
from tests.support.asking import ask, asking
from tests.support.chat_app import (
    ChatApp,
    command_request,
    make_app,
    ready,
    shown,
    until,
)

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ALWAYS = "bash(pytest:*)"
REQUEST = command_request(always_rule=ALWAYS)


def mouse(
    kind: type[events.MouseDown | events.MouseUp], at: tuple[int, int], button: int = 1
) -> events.MouseEvent:
    x, y = at
    return kind(None, x, y, 0, 0, button, False, False, False, x, y)


def row(app: ChatApp, index: int) -> tuple[int, int]:
    """Return a cell of the prompt's answer with this index."""
    region = app.chat.query_one("PermissionPrompt ChoiceList", ChoiceList).region
    return region.x + 5, region.y + index


async def press_and_release(
    pilot: Pilot[None], down: tuple[int, int], up: tuple[int, int] | None = None, button: int = 1
) -> None:
    pilot.app.post_message(mouse(events.MouseDown, down, button))
    pilot.app.post_message(mouse(events.MouseUp, up or down, button))
    await pilot.pause()
    await pilot.pause()


def assert_nothing_is_allowed(app: ChatApp) -> None:
    assert all(reply.answer is Answer.NO for reply in app.scripted.replies), app.scripted.replies


@pytest.mark.parametrize("button", [2, 3, 8])
async def test_only_the_main_button_answers(config: ForgeConfig, button: int) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        for index in range(5):
            await press_and_release(pilot, row(app, index), button=button)
        assert app.scripted.replies == [] and not app.chat.query_one(PermissionPrompt).is_writing
        await press_and_release(pilot, row(app, 0))
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


@pytest.mark.parametrize(("down", "up"), [(3, 0), (4, 1), (0, 2), (1, 0)])
async def test_a_drag_over_several_answers_does_not_answer(config: ForgeConfig, down: int, up: int) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await press_and_release(pilot, row(app, down), row(app, up))
        assert app.scripted.replies == []


async def test_a_button_released_after_the_answers_moved_does_not_answer(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        at = row(app, 3)
        app.post_message(mouse(events.MouseDown, at))
        await pilot.resize_terminal(80, 26)
        await pilot.pause()
        app.post_message(mouse(events.MouseUp, at))
        await pilot.pause()
        assert_nothing_is_allowed(app)


@pytest.mark.parametrize("rows", [25, 26, 27])
async def test_a_click_right_after_the_answers_moved_does_not_answer(config: ForgeConfig, rows: int) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        at = row(app, 3)
        await pilot.resize_terminal(80, rows)
        await until(pilot, lambda: row(app, 3) != at)
        await press_and_release(pilot, at)
        assert_nothing_is_allowed(app)


async def test_a_click_on_no_after_scrolling_to_the_end_allows_nothing(config: ForgeConfig) -> None:
    """The complaint disappears once all was shown, and the answers move down."""
    app = asking(config, command_request("\n".join("echo x" for _ in range(20)), always_rule=ALWAYS))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("1", "enter")
        await until(pilot, lambda: "Not all of it" in shown(app))
        app.clock.pass_(5)
        at = row(app, 3)
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown")
        await until(pilot, lambda: "Not all of it" not in shown(app))
        await press_and_release(pilot, at)
        assert_nothing_is_allowed(app)


@pytest.mark.parametrize("clicks", [2, 3, 4])
async def test_more_clicks_on_the_same_place_do_not_answer_the_next_prompt(
    config: ForgeConfig, clicks: int
) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        first, second = (asyncio.ensure_future(app.chat.prompts.ask(REQUEST)) for _ in range(2))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(1)
        at = row(app, 0)
        await press_and_release(pilot, at)
        assert (await first).answer is Answer.ONCE
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        for _ in range(clicks):
            app.clock.pass_(0.3)
            await press_and_release(pilot, at)
        assert not second.done()
        second.cancel()


async def test_a_click_made_before_the_prompt_could_be_seen_does_not_answer(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        down, up = mouse(events.MouseDown, row(app, 0)), mouse(events.MouseUp, row(app, 0))
        down.time -= 2  # they have waited that long in the queue
        up.time -= 2
        app.post_message(down)
        app.post_message(up)
        await pilot.pause()
        await pilot.pause()
        assert app.scripted.replies == []


@pytest.mark.parametrize("key", ["enter", "1", "2"])
@pytest.mark.parametrize("delay_s", [0.25, 0.4, 0.5, 0.66, 0.75])
async def test_the_key_that_answered_does_not_answer_the_next_prompt_when_it_repeats(
    config: ForgeConfig, key: str, delay_s: float
) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        first, second = (asyncio.ensure_future(app.chat.prompts.ask(REQUEST)) for _ in range(2))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(1)
        await pilot.press(*("1", "enter")[: 1 + (key == "enter")] if key != "2" else ("2",))
        if key != "enter":
            app.clock.pass_(0.2)
            await pilot.press("enter")
        assert (await first).answer is not Answer.NO
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(delay_s)
        for _ in range(20):
            await pilot.press(key)
            app.clock.pass_(0.03)
        assert not second.done()
        second.cancel()


@pytest.mark.parametrize("delay_s", [0.25, 0.5, 0.66, 0.75])
async def test_the_enter_that_sent_the_message_does_not_answer_when_it_repeats(
    config: ForgeConfig, delay_s: float
) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, armed=False)
        app.clock.pass_(delay_s)
        for _ in range(20):
            await pilot.press("enter")
            app.clock.pass_(0.03)
        assert app.scripted.replies == []


@pytest.mark.parametrize(
    ("before", "after"), [((120, 24), (40, 60)), ((120, 40), (60, 60)), ((80, 24), (40, 40))]
)
async def test_a_narrower_taller_full_view_does_not_count_as_shown(
    config: ForgeConfig, before: tuple[int, int], after: tuple[int, int]
) -> None:
    length = (before[0] - 8) * (before[1] + 2)
    app = asking(config, command_request("echo " + "a" * length + "; python3 evil.py"))
    async with app.run_test(size=before) as pilot:
        await ask(pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, FullView) and "rows 1" in shown(app))
        await pilot.resize_terminal(*after)
        await pilot.pause()
        if "evil.py" in shown(app):
            pytest.fail("the end must not fit")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FullView))
        app.clock.pass_(2)
        await pilot.press("1", "enter")
        await pilot.pause()
        assert app.scripted.replies == []


@pytest.mark.parametrize("width", [8, 10, 12, 16, 20, 30])
async def test_a_terminal_that_cuts_rows_off_accepts_no_yes(config: ForgeConfig, width: int) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    app = asking(config, command_request(letters, session_rule=""))
    async with app.run_test(size=(80, 40)) as pilot:
        await ask(pilot)
        await pilot.resize_terminal(width, 40)
        await pilot.pause()
        rows = [line.strip("│ ╭╮─$↪▂▁") for line in shown(app).split("\n") if "│" in line]
        is_whole = "".join(rows).startswith(letters)
        app.clock.pass_(2)
        prompt = app.chat.query_one(PermissionPrompt)
        assert is_whole or not prompt.is_answerable, rows


@pytest.mark.parametrize("keys", [["enter"], ["1", "enter"], ["2"], ["up", "up", "enter"], ["tab", "enter"]])
async def test_keys_right_after_ctrl_c_allow_nothing(config: ForgeConfig, keys: list[str]) -> None:
    """They come before the prompt is gone, and are meant for the composer."""
    app = asking(config, REQUEST)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        for key in ["ctrl+c", *keys]:
            app.post_message(events.Key(key, key if key.isdigit() else None))
        await until(pilot, lambda: not app.chat.has_turn)
        app.clock.pass_(1)
        await pilot.pause(0.1)
        assert_nothing_is_allowed(app)
