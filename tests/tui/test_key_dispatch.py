"""Keys of the user's file in the running app: rebound widgets, chords, the file followed while it changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.keymap import KeyContext
from forge_tui.keys.dispatch import CHORD_S
from forge_tui.keys.effective import EffectiveKeys, fold_key, use_keys
from forge_tui.keys.user_file import keys_from
from forge_tui.screens.diff.screen import footer_line
from forge_tui.screens.panels.command_palette import CommandPalette
from forge_tui.screens.panels.help import HelpScreen
from forge_tui.screens.panels.key_list import key_list
from forge_tui.screens.panels.session_picker import SessionPicker
from forge_tui.widgets.activity import idle_hints
from forge_tui.widgets.welcome.welcome_text import IDLE_HINTS
from tests.support.chat_app import ChatApp, command_request, make_app, ready, say, shown, type_text, until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def usual_keys() -> Iterator[None]:
    yield
    use_keys(EffectiveKeys())


@pytest.fixture
def file(config: ForgeConfig) -> Path:
    config.config_dir.mkdir(parents=True, exist_ok=True)
    return config.config_dir / "keys.toml"


def app_with(config: ForgeConfig, file: Path, text: str) -> ChatApp:
    file.write_text(text)
    return make_app(config)


async def test_a_key_of_the_file_works_and_the_old_one_does_not(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "f11"')
    async with app.run_test(size=(100, 200)) as pilot:
        await pilot.press("f1")
        assert not isinstance(app.screen, HelpScreen)
        await pilot.press("f11")
        assert isinstance(app.screen, HelpScreen)
        assert "  F11  " in shown(app) and "  F1  " not in shown(app)
        await pilot.press("f11")
        assert app.screen is app.chat, "the key that opens it closes it"


async def test_a_key_that_the_input_has_by_itself_can_be_assigned(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.palette" = "ctrl+k"\n"chat.help" = "f7"')
    async with app.run_test() as pilot:
        await type_text(pilot, "keep")
        await pilot.press("home", "ctrl+k")
        assert isinstance(app.screen, CommandPalette) and app.chat.composer.text == "keep"
        await pilot.press("escape", "f7")
        assert isinstance(app.screen, HelpScreen)


async def test_enter_can_begin_a_line_and_another_key_send(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"composer.submit" = "ctrl+s"\n"composer.newline" = "enter"')
    async with app.run_test() as pilot:
        await ready(pilot)
        await pilot.press("a", "enter", "b")
        assert app.chat.composer.text == "a\nb"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.chat.composer.is_blank)


async def test_a_chord_runs_its_action_and_shows_what_may_follow(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "ctrl+x f1"\n"chat.palette" = ["ctrl+p", "ctrl+x p q"]')
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "Ctrl+X … then" in shown(app))
        assert "F1" in app.chat.activity.note_text and "P Q" in app.chat.activity.note_text
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape", "ctrl+x", "p", "q")
        assert isinstance(app.screen, CommandPalette)


async def test_a_key_that_ends_no_chord_types_nothing(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "ctrl+x f1"')
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+x", "z", "y")
        assert app.chat.composer.text == "y"
        assert "Ctrl+X Z is no key" in app.chat.activity.note_text


async def test_escape_gives_a_chord_up(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "ctrl+x f1"')
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+x", "escape", "f1")
        assert not isinstance(app.screen, HelpScreen) and app.chat.activity.note_text == ""


async def test_a_chord_ends_after_a_while(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "ctrl+x f1"')
    async with app.run_test() as pilot:
        await pilot.press("ctrl+x")
        app.clock.pass_(CHORD_S + 0.1)
        await type_text(pilot, "z")
        assert app.chat.composer.text == "z"


async def test_ctrl_c_interrupts_in_the_middle_of_a_chord(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "ctrl+x f1"')
    async with app.run_test() as pilot:
        await pilot.press("ctrl+x", "ctrl+c", "ctrl+c")
    assert app.return_code == 0


async def test_the_beginning_of_a_chord_is_typed_where_the_chord_does_nothing(
    config: ForgeConfig, file: Path
) -> None:
    """`g g` is for the diff viewer: a g in a message is a letter."""
    app = app_with(config, file, 'preset = "vi"')
    async with app.run_test() as pilot:
        await type_text(pilot, "gg")
        assert app.chat.composer.text == "gg"


async def test_a_prompt_keeps_its_keys(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "f11"\n"prompt.answer_1" = "f3"\n"chat.find" = "ctrl+x f"')
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        workers = [app.run_worker(app.chat.prompts.ask(command_request("ls")))]
        await until(pilot, lambda: app.chat.prompts.is_taken)
        app.clock.pass_(1.0)
        await pilot.press("ctrl+x", "f3", "f11")
        assert app.chat.prompts.is_taken and app.screen is app.chat
        await pilot.press("escape")
        await until(pilot, lambda: workers[0].is_finished)


async def test_a_list_with_a_search_has_the_keys_of_the_file(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"sessions.folders" = "f4"')
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/resume")
        await until(pilot, lambda: isinstance(app.screen, SessionPicker))
        await pilot.press("f4")
        names = app.screen.active_bindings
        assert names["f4"].binding.action == "toggle_folders" and "tab" not in names


async def test_the_file_is_followed_while_it_changes(config: ForgeConfig, file: Path) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("a")
        file.write_text('"chat.help" = "f11"')
        app._follow_keys()
        await pilot.press("f11")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        file.write_text('"chat.help" = "f4"\nnonsense')
        app._follow_keys()
        await until(pilot, lambda: "line 2:" in shown(app))
        await pilot.press("f11")
        assert app.screen is app.chat
        await pilot.press("f4")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        file.unlink()
        app._follow_keys()
        await pilot.press("f4")
        assert app.screen is app.chat
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)


async def test_what_is_wrong_with_the_file_is_shown_at_the_start(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.palete" = "f11"')
    async with app.run_test(size=(110, 30)) as pilot:
        await ready(pilot)
        await until(
            pilot, lambda: "line 1: there is no key 'chat.palete'; did you mean chat.palette?" in shown(app)
        )
        assert "keys.toml" in shown(app)


async def test_emacs_keys_move_in_a_message(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, 'preset = "emacs"')
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "bd")
        await pilot.press("ctrl+b", "c", "ctrl+a", "a", "ctrl+e", "ctrl+j", "e", "ctrl+p", "ctrl+f", "x")
        assert app.chat.composer.text == "abxcd\ne"
        await pilot.press("alt+x")
        assert isinstance(app.screen, CommandPalette)


async def test_keys_lists_what_works_now_first_with_ids_and_marks(config: ForgeConfig, file: Path) -> None:
    app = app_with(config, file, '"chat.help" = "f11"')
    async with app.run_test(size=(100, 200)) as pilot:
        await ready(pilot)
        await say(pilot, "/keys")
        await until(pilot, lambda: "* F11 " in shown(app))
        page = shown(app)
        assert page.index("Writing a message · now") < page.index("Conversation · now")
        assert "* F11 " in page and "chat.help" in page and "marks what" in page
        assert "  Ctrl+P " in page
        await pilot.press("end")
        await pilot.press("q")
        await say(pilot, "/keys next HUNK")
        await until(pilot, lambda: "diff.previous_hunk" in shown(app))
        assert "Conversation" not in shown(app)


async def test_keys_with_a_text_that_no_key_has_says_so(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/keys [red]zzz")
        await until(pilot, lambda: "No key has '[red]zzz'" in shown(app))


@pytest.mark.parametrize("width", [20, 40, 76])
def test_the_list_of_keys_fits_its_width(width: int) -> None:
    lines = str(key_list([KeyContext.DIFF], "", width)).split("\n")
    assert next(line for line in lines if line.endswith(" · now")) == "Changes (/diff) · now"
    assert max(map(len, lines)) <= max(width, 24 + 40)


async def test_hints_name_the_keys_in_effect(config: ForgeConfig, file: Path) -> None:
    app = app_with(
        config, file, '"chat.help" = "f11"\n"composer.newline" = "alt+enter"\n"chat.toggle_cards" = ""'
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "Enter send · Alt+Enter new line · / commands · F11 help" in shown(app))
        assert fold_key() == "no key"


def test_hints_of_unchanged_keys_are_those_of_the_first_frame() -> None:
    assert idle_hints() == IDLE_HINTS
    assert "n p file" in str(footer_line(120, is_raw=False, is_whole=False))


def test_hints_of_changed_keys_name_the_new_ones() -> None:
    keys, _ = keys_from('"diff.next_file" = "m"\n"diff.previous_file" = ""\n"diff.close" = "ctrl+x ctrl+k"')
    use_keys(keys)
    line = str(footer_line(120, is_raw=False, is_whole=False))
    assert " · M file" in line and line.endswith("Ctrl+X Ctrl+K close")
