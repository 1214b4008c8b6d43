"""A prompt never waits unseen below another screen, and nothing that was meant for that screen allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.approval import ApprovalReply
from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_core.redact import Redactor
from forge_core.session.rewinder import RewindPoint
from forge_core.session.saved_sessions import SavedSessions
from forge_tui.screens.diff.screen import DiffScreen
from forge_tui.screens.panels.help import HelpScreen, help_content
from forge_tui.screens.panels.rewind_picker import RewindPicker
from forge_tui.screens.panels.session_picker import SessionPicker
from forge_tui.screens.panels.theme_picker import ThemePicker
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.submitted_line import Command, parse_line
from tests.support.chat_app import ChatApp, command_request, make_app, ready, say_until, shown, until
from tests.support.scripted_session import Gate, answer
from tests.tui.test_session_picker import write

pytestmark = pytest.mark.slow

HELP = partial(help_content, commands=CommandTable())

REQUEST = command_request(always_rule="bash(pytest:*)")
FOLDER = Path("/home/ada/src/engine")
POINT = RewindPoint(1, "write b", 0.0, 1, (), ())
Arrange = Callable[[ChatApp, Pilot[None], Path], Awaitable[None]]


async def rename_a_session(app: ChatApp, pilot: Pilot[None], state: Path) -> None:
    write(state, "20261120-100000-00000a", "Fix the parser", folder=str(FOLDER))
    app.push_screen(SessionPicker(SavedSessions(state, Redactor()), FOLDER))
    await until(pilot, lambda: "Fix the parser" in shown(app))
    await pilot.press("ctrl+r")
    await until(pilot, lambda: "The new title" in shown(app))


async def choose_what_to_rewind(app: ChatApp, pilot: Pilot[None], state: Path) -> None:
    app.push_screen(RewindPicker([POINT]))
    await until(pilot, lambda: "write b" in shown(app))
    await pilot.press("enter")
    await until(pilot, lambda: "Continue in a copy" in shown(app))


async def try_a_theme(app: ChatApp, pilot: Pilot[None], state: Path) -> None:
    app.push_screen(ThemePicker(app.themes.names(), app.themes.chosen, app.themes.show))
    await until(pilot, lambda: "Enter keep" in shown(app))
    await pilot.press("down")


async def is_seen(app: ChatApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app.screen is app.chat and isinstance(app.focused, PermissionPrompt))
    assert "pytest -q" in shown(app)


@pytest.mark.parametrize("arrange", [rename_a_session, choose_what_to_rewind, try_a_theme])
async def test_a_prompt_closes_a_picker_whatever_is_being_chosen_in_it(
    config: ForgeConfig, tmp_path: Path, arrange: Arrange
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        theme = app.theme
        await arrange(app, pilot, tmp_path / "state")
        asked: asyncio.Task[ApprovalReply] = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: app.chat.query(PermissionPrompt))
        await pilot.pause(0.05)
        assert app.screen is app.chat and app.theme == theme
        await is_seen(app, pilot)
        app.clock.pass_(2)
        await pilot.press("enter")  # it was meant for the picker
        await pilot.pause()
        assert not asked.done()
        asked.cancel()


@pytest.mark.parametrize("late", [partial(HelpScreen, HELP), lambda: RewindPicker([POINT])])
async def test_a_screen_that_opens_after_the_prompt_does_not_cover_it(
    config: ForgeConfig, late: Callable[[], HelpScreen | RewindPicker]
) -> None:
    """As when a command was sent just before, and its result comes after the prompt."""
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        asked = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(2)
        app.push_screen(late())
        await pilot.pause()
        await is_seen(app, pilot)
        await pilot.press("1", "enter", "enter")  # for the screen that was to be expected
        await pilot.pause()
        assert not asked.done()
        asked.cancel()


@pytest.mark.parametrize("is_before", [True, False])
async def test_a_screen_and_a_prompt_may_open_at_the_same_moment(
    config: ForgeConfig, is_before: bool
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        if is_before:
            app.push_screen(RewindPicker([POINT]))
        asked = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await asyncio.sleep(0)
        if not is_before:
            app.push_screen(RewindPicker([POINT]))
        await is_seen(app, pilot)
        asked.cancel()


async def test_the_full_view_of_a_request_stays_open(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        asked = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(2)
        await pilot.press("ctrl+e")
        await pilot.pause(0.05)
        assert isinstance(app.screen, FullView)
        asked.cancel()


async def test_the_changes_do_not_cover_a_prompt_that_came_first(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        asked = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.chat.run_by_name("diff")
        await pilot.pause(0.2)
        await is_seen(app, pilot)
        assert not any(isinstance(one, DiffScreen) for one in app.screen_stack)
        asked.cancel()


async def test_a_picker_that_a_queued_command_opens_takes_no_enter_that_was_meant_for_something_else(
    config: ForgeConfig,
) -> None:
    gate = Gate()
    app = make_app(config, [[gate, *answer("done")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say_until(pilot, "go", gate)
        line = parse_line("/theme", CommandTable())
        assert isinstance(line, Command)
        app.chat.sending.queue.add(line)
        gate.open()
        await until(pilot, lambda: isinstance(app.screen, ThemePicker))
        app.clock.pass_(0.4)
        await pilot.press("enter")
        app.clock.pass_(0.4)  # a key that comes too early begins the time again
        await pilot.press("enter")
        assert isinstance(app.screen, ThemePicker)
        app.clock.pass_(1)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat)
