"""Vim's keys in the composer: modes, Esc, undo, chips and the history of messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import make_app, ready, say, type_text, until
from tests.tui.test_chips import LINES, paste

pytestmark = pytest.mark.slow


@pytest.fixture
def vim_config(config: ForgeConfig) -> ForgeConfig:
    return replace(config, vim=True)


async def test_modes_edit_the_message_and_show_in_the_border(vim_config: ForgeConfig) -> None:
    app = make_app(vim_config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "one two three")
        assert composer.border_title is None
        await pilot.press("escape", "b", "b")
        assert (composer.border_title, composer.cursor_location) == ("NORMAL", (0, 4))
        await pilot.press("d", "w", "u")
        assert composer.text == "one two three"
        await pilot.press("ctrl+r")
        assert composer.text == "one three"
        await pilot.press("b", "v", "e")
        assert (composer.border_title, composer.selected_text) == ("VISUAL", "thre")
        await pilot.press("ctrl+c")
        assert (app.clipboard, composer.text) == ("three", "one three")
        await pilot.press("c", "i", "w", "2", "escape", "0", "r", "O")
        assert composer.text == "One 2"
        await pilot.press("o", "x", "escape", "V")
        assert (composer.border_title, composer.selected_text) == ("V-LINE", "x")
        await pilot.press("d")
        assert composer.text == "One 2"


async def test_a_sent_message_leaves_an_empty_one_in_insert_mode(vim_config: ForgeConfig) -> None:
    app = make_app(vim_config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "/help")
        await pilot.press("escape")
        assert not app.chat.popup.is_open
        await pilot.press("d", "d", "i")
        await type_text(pilot, "hello")
        await pilot.press("escape", "enter")
        assert (composer.text, composer.border_title) == ("", None)
        await type_text(pilot, "k")
        assert composer.text == "k"
        await pilot.press("escape", "k")
        assert composer.text == "hello"
        await pilot.press("j")
        assert composer.text == "k"


async def test_only_normal_mode_passes_escape_on(vim_config: ForgeConfig) -> None:
    app = make_app(vim_config)
    passed: list[None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.chat.rewinding.escape = lambda: passed.append(None)  # type: ignore[method-assign]
        await pilot.press("escape")
        assert not passed
        await pilot.press("d", "escape")
        assert not passed
        await pilot.press("escape")
        assert passed


async def test_a_chip_is_deleted_and_put_back_as_one_character(vim_config: ForgeConfig) -> None:
    app = make_app(vim_config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "a")
        await paste(pilot, LINES)
        before = composer.typed
        await pilot.press("escape", "x")
        assert composer.typed == "a"
        await pilot.press("p")
        assert composer.typed == before
        await pilot.press("y", "l", "ctrl+c", "escape", "p")
        assert composer.typed == LINES  # of another message: as text


async def test_the_command_turns_the_keys_on_and_off(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await say(pilot, "/vim")
        await until(pilot, lambda: composer.key_mode is not None)
        await type_text(pilot, "ab")
        await pilot.press("escape", "x")
        assert composer.text == "a"
        await pilot.press("i", "backspace")
        await pilot.press("d", "d", "ctrl+c")
        await say(pilot, "/vim off")
        await until(pilot, lambda: composer.key_mode is None)
        assert composer.border_title is None
