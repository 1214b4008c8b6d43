"""The line of a command above what it prints, and commands that print nothing."""

from __future__ import annotations

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_tui.widgets.blockview.blocks import CommandBlock, NoticeBlock, TextBlock
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, answer
from tests.tui.conftest import OpenChat


def command_lines(app: ChatApp) -> list[str]:
    return [
        block.find_text() for block in app.chat.transcript.model.blocks if isinstance(block, CommandBlock)
    ]


async def test_the_line_of_a_command_is_directly_above_its_output(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        await say(pilot, "/cost")
        await until(pilot, lambda: command_lines(app))
        line, output = app.chat.transcript.model.blocks[-2:]
        assert isinstance(line, CommandBlock) and isinstance(output, TextBlock)
        assert line.find_text() == "/cost" and output.gap == 0
        await say(pilot, "/cost")
        await until(pilot, lambda: command_lines(app) == ["/cost", "/cost"])
        assert app.chat.transcript.model.blocks[-2].gap == 1


@pytest.mark.parametrize("typed", ["/hlep", "/mode maybe", "/copy 3", "/rename"])
async def test_what_a_command_refuses_has_its_line_too(chat: OpenChat, typed: str) -> None:
    async with chat() as (app, pilot):
        await say(pilot, typed)
        await until(pilot, lambda: isinstance(app.chat.transcript.model.blocks[-1], NoticeBlock))
        assert command_lines(app) == [typed]


async def test_a_command_that_waits_for_the_end_of_the_turn_says_which_one(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate, *answer("Done.")]) as (app, pilot):
        await say(pilot, "go")
        await gate.reached.wait()
        await say(pilot, "/undo")
        await until(pilot, lambda: "works between turns" in shown(app))
        assert command_lines(app) == ["/undo"]
        gate.open()


async def test_a_change_that_the_bar_shows_leaves_no_block(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        before = len(app.chat.transcript.model.blocks)
        await say(pilot, "/mode plan")
        await until(pilot, lambda: app.chat.session.policy.mode is PermissionMode.PLAN)
        await until(pilot, lambda: "Mode plan: reads and searches only" in app.chat.activity.text)
        assert "plan" in app.chat.status_bar.figures.mode
        await say(pilot, "/afk on")
        await until(pilot, lambda: "You are away" in app.chat.activity.text)
        assert len(app.chat.transcript.model.blocks) == before


async def test_mode_auto_without_a_sandbox_leaves_its_explanation(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        await say(pilot, "/mode auto")
        await until(pilot, lambda: "without a full sandbox" in shown(app))
        assert command_lines(app) == ["/mode auto"]


async def test_a_key_in_a_command_is_redacted(config: ForgeConfig) -> None:
    app = make_app(config)  # whose key is sk-test-123456
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/resume sk-test-123456 ghp_abcdefghijklmnopqrstuvwx")
        await say(pilot, "/permissions test curl sk-test-123456 ghp_abcdefghijklmnopqrstuvwx")
        await until(pilot, lambda: command_lines(app))
        assert command_lines(app)[-1] == "/permissions test curl [redacted] [redacted]"


async def test_a_long_or_hostile_line_is_one_safe_row(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        app.chat.composer.replace_text("/budget \x1b]0;x\x07[bold] " + "x" * 500 + "\nmore")
        await pilot.press("enter")
        await until(pilot, lambda: command_lines(app))
        (line,) = command_lines(app)
        assert len(line) < 300 and line.endswith("…") and "\x1b" not in line and "[bold]" in line
        assert "[bold]" in shown(app)


async def test_what_comes_later_has_no_line(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        await say(pilot, "/theme forge-light")
        await until(pilot, lambda: app.theme == "forge-light")
        app.chat.say("A notice of something else.")
        await pilot.pause()
        assert command_lines(app) == []
