"""Help, palette and theme picker: opened by key and command, closed with Esc; the draft is kept."""

from __future__ import annotations

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.commands.specs import SPECS
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_tui.keymap import KeyContext, help_rows
from forge_tui.screens.panels.help import help_content
from forge_tui.widgets.welcome.welcome_text import rows_above
from tests.support.chat_app import (
    ChatApp,
    make_app,
    press_until,
    ready,
    say,
    shown,
    type_text,
    until,
)
from tests.support.scripted_session import answer

pytestmark = pytest.mark.slow


def test_help_lists_every_command_and_every_key() -> None:
    page = help_content(200, CommandTable()).plain
    for spec in SPECS:
        assert f"/{spec.name}" in page and spec.summary in page
    for where in KeyContext:
        for label, summary in help_rows(where):
            assert label in page and summary in page


@pytest.mark.parametrize("close", ["escape", "f1", "q", "ctrl+c"])
async def test_help_opens_over_the_conversation_and_closes(config: ForgeConfig, close: str) -> None:
    app = make_app(config, [answer("An answer underneath.")])
    async with app.run_test(size=(140, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "An answer underneath." in shown(app))
        await type_text(pilot, "draft")
        await pilot.press("f1")
        await until(pilot, lambda: "Commands" in shown(app))
        await pilot.press(close)
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await type_text(pilot, "ed")
        assert app.chat.composer.text == "drafted"


async def test_help_scrolls_where_it_does_not_fit(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(60, 15)) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: "Commands" in shown(app))
        assert "When Forge asks" not in shown(app)
        await press_until(pilot, "pagedown", lambda: "Scroll the request" in shown(app))
        assert "Scroll the request" in shown(app)


async def open_palette(app: ChatApp, pilot) -> None:  # type: ignore[no-untyped-def]
    await ready(pilot)
    await pilot.press("ctrl+p")
    await until(pilot, lambda: "Type to search" in shown(app))


async def test_the_palette_matches_substrings_and_runs_the_command(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await open_palette(app, pilot)
        assert all(f"/{spec.name}" in shown(app) for spec in SPECS[:12])
        await pilot.press("up")  # round to the end
        await until(pilot, lambda: all(f"/{spec.name}" in shown(app) for spec in SPECS[-12:]))
        await type_text(pilot, "price")
        await until(pilot, lambda: "/theme" not in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "No tokens used yet" in shown(app))


async def test_the_palette_reports_that_nothing_was_found(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await open_palette(app, pilot)
        await type_text(pilot, "zzz")
        await until(pilot, lambda: "Nothing found" in shown(app))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.scripted.sent == []


async def test_the_palette_runs_the_row_that_is_clicked(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await open_palette(app, pilot)
        await type_text(pilot, "price")
        await until(pilot, lambda: "/theme" not in shown(app))
        await pilot.click("ChoiceList", offset=(4, 0))
        await until(pilot, lambda: "No tokens used yet" in shown(app))
        assert "No tokens used yet" in shown(app)


async def test_the_theme_picker_applies_each_theme_and_keeps_the_selected(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme")
        await until(pilot, lambda: "Enter keep" in shown(app))
        await pilot.press("down", "down")
        assert app.theme == "forge-light"
        assert app.saved == []
        await pilot.press("enter")
        await until(pilot, lambda: app.saved == [("theme", "forge-light")])
        assert len(app.screen_stack) == 1


async def test_closing_the_theme_picker_restores_the_old_theme(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme")
        await until(pilot, lambda: "Enter keep" in shown(app))
        await pilot.press("down", "down", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.theme == "forge-dark" and app.saved == []


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), ConfigError("theme was not saved: the file is broken.")]
)
async def test_a_theme_that_cannot_be_saved_is_applied_with_a_notice(
    config: ForgeConfig, error: Exception
) -> None:
    app = make_app(config)

    def fail(name: str, value: str) -> None:
        raise error

    app.chat.save_setting = fail
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme forge-light")
        await until(pilot, lambda: "could not be kept" in shown(app))
        assert app.theme == "forge-light"


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36)])
async def test_the_welcome_keeps_the_composer_in_place(config: ForgeConfig, size: tuple[int, int]) -> None:
    app = make_app(config)
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        rows = shown(app).splitlines()
        assert "Forge 0.1.0" in rows[1 + rows_above(size[1])]
        assert any("asks before it writes" in row for row in rows)
        assert rows[-3].startswith("│❯ Ask about this folder") and "model · " in rows[-1]


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36), (20, 5), (10, 3)])
async def test_every_screen_survives_any_size(config: ForgeConfig, size: tuple[int, int]) -> None:
    app = make_app(config, [answer("Hello.\n\n```python\nx = 1\n```")])
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: not app.chat.has_turn)
        for key in ("f1", "ctrl+p"):
            await pilot.press(key)
            await pilot.pause()
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        await type_text(pilot, "/")
        await pilot.pause()
        assert app.crash is None


async def test_resizing_keeps_the_composer_and_status_in_view(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(120, 36)) as pilot:
        await ready(pilot)
        await type_text(pilot, "draft")
        for size in ((60, 15), (200, 50), (80, 24)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: len(shown(app).splitlines()) == size[1])  # type: ignore[misc]
            rows = shown(app).splitlines()
            assert "model · " in rows[-1] and "draft" in rows[-3]
