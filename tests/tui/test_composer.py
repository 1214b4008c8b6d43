"""Writing: what sends, what makes a new line, pasting, history, growing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.color import Color
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Region

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.tools.output import OutputStore
from forge_tui.pastes.folded_text import plain_text
from forge_tui.screens.panels.model_picker import ModelPicker
from forge_tui.terminal.input import TerminalInput
from forge_tui.widgets.composer import LONGEST, Composer
from forge_tui.widgets.find_bar import FindLine
from tests.support.chat_app import make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import Gate

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("key", ["shift+enter", "alt+enter", "ctrl+enter", "ctrl+j"])
async def test_modified_enter_is_a_new_line(config: ForgeConfig, key: str) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await type_text(pilot, "ab")
        await pilot.press("left", key)
        assert app.chat.composer.text == "a\nb"


@pytest.mark.parametrize(
    ("sequence", "terminals"),
    [
        ("\x1b\r", "Alt+Enter nearly everywhere"),
        ("\n", "Ctrl+J"),
        ("\x1b[13;2u", "Shift+Enter, kitty"),
        ("\x1b[13;3u", "Alt+Enter, kitty"),
        ("\x1b[13;5u", "Ctrl+Enter, kitty"),
        ("\x1b[27;2;13~", "Shift+Enter, xterm and tmux"),
        ("\x1b[27;3;13~", "Alt+Enter, xterm and tmux"),
        ("\x1b[27;5;13~", "Ctrl+Enter, xterm and tmux"),
    ],
)
async def test_terminal_sequences_for_modified_enter_insert_a_new_line(
    config: ForgeConfig, sequence: str, terminals: str
) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        for key in XTermParser().feed(f"a{sequence}b"):
            app.post_message(key)
        await until(pilot, lambda: app.chat.composer.text == "a\nb", terminals)
        assert app.scripted.sent == []


async def test_a_backslash_before_enter_is_a_new_line(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await type_text(pilot, "one\\")
        await pilot.press("enter")
        await type_text(pilot, "two")
        assert app.chat.composer.text == "one\ntwo"
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["one\ntwo"])


async def test_a_backslash_elsewhere_does_not_stop_enter(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await say(pilot, "a\\b")
        await until(pilot, lambda: app.scripted.sent == ["a\\b"])
        assert app.scripted.sent == ["a\\b"]


async def test_a_paste_with_newlines_does_not_submit(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        app.chat.composer.post_message(events.Paste("rm -rf x\r\nls\rpwd\n"))
        await pilot.pause()
        assert app.chat.composer.text == "rm -rf x\nls\npwd\n"
        assert app.scripted.sent == []


async def test_a_paste_replaces_the_selection_and_shows_control_characters(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await type_text(pilot, "old")
        await pilot.press("shift+home")
        app.chat.composer.post_message(events.Paste("\x1b[31mred\x07"))
        await pilot.pause()
        assert app.chat.composer.text == "␛[31mred␇"


async def test_blank_text_is_not_sent(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await say(pilot, "   ")
        await pilot.press("enter")
        assert app.scripted.sent == []


async def test_the_composer_grows_to_eight_lines_and_then_scrolls(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        composer = app.chat.composer
        assert composer.size.height == 1
        for wanted in (2, 3, 4, 5, 6, 7, 8, 8, 8):
            await pilot.press("ctrl+j")
            await pilot.pause()
            assert composer.content_size.height == wanted
        await type_text(pilot, "end")
        assert "end" in shown(app)


async def test_the_cursor_does_not_blink(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test():
        assert app.chat.composer.cursor_blink is False
        assert app.chat.composer.has_focus


async def test_up_and_down_browse_the_history_and_return_to_the_draft(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        for text in ("one", "two"):
            await say(pilot, text)
            await until(pilot, lambda: not app.chat.has_turn)
        await type_text(pilot, "draft")
        seen = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            seen.append(app.chat.composer.text)
        assert seen == ["two", "one", "one", "two", "draft", "draft"]


async def test_up_moves_the_cursor_when_there_are_lines_above(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await say(pilot, "earlier")
        await until(pilot, lambda: not app.chat.has_turn)
        await type_text(pilot, "a")
        await pilot.press("ctrl+j")
        await type_text(pilot, "b")
        await pilot.press("up")
        assert app.chat.composer.text == "a\nb"
        await pilot.press("up")
        assert app.chat.composer.text == "earlier"


async def test_a_wrapped_line_counts_as_several_lines_for_up(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(40, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "earlier")
        await until(pilot, lambda: not app.chat.has_turn)
        await type_text(pilot, "word " * 12)
        await pilot.press("up")
        assert app.chat.composer.text.startswith("word")


async def test_up_browses_the_history_while_nothing_is_queued(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate]])
    async with app.run_test() as pilot:
        await ready(pilot)
        await say(pilot, "running")
        await until(pilot, gate.reached.is_set)
        await pilot.press("up")
        assert app.chat.composer.text == "running"


async def test_keys_typed_in_one_burst_arrive_in_order(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        for character in "/exit":
            app.post_message(events.Key(character, character))
        app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: app.chat.composer.is_blank)
    assert app.return_code == 0


async def test_no_letter_overtakes_a_key_before_it(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        for key in XTermParser().feed("abx\x7fc\x1b[Dd\nfirst\rsecond\rthird"):
            app.post_message(key)
        await until(pilot, lambda: app.chat.composer.text == "third")
        await until(pilot, lambda: app.scripted.sent == ["abd\nfirstc", "second"])
        assert app.scripted.sent == ["abd\nfirstc", "second"]


async def test_wide_and_combining_characters_can_be_written(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.chat.composer.post_message(events.Paste("日本語 e\u0301 👩‍💻"))
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["日本語 e\u0301 👩‍💻"])
        assert app.scripted.sent == ["日本語 e\u0301 👩‍💻"]


async def test_undo_restores_deleted_text(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await type_text(pilot, "keep me")
        await pilot.press("ctrl+u", "ctrl+underscore")
        assert app.chat.composer.text == "keep me"


async def test_alt_and_a_letter_runs_the_key_of_the_screen_and_types_nothing(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        app.post_message(events.Key("alt+p", "p"))  # as a terminal sends it: ESC p
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))
        assert app.chat.composer.text == ""


async def test_suspending_without_a_terminal_of_ours_does_nothing_but_say_so(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "There is no shell to go back to" in shown(app))


async def test_clicking_the_conversation_leaves_the_focus_in_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.click("Transcript")
        await pilot.click("StatusBar")
        await type_text(pilot, "still here")
        assert app.chat.composer.text == "still here"
        assert isinstance(app.focused, Composer)


WRITTEN = {
    "the ideographic space": "東京\u3000大阪",
    "an emoji of several": "👩\u200d💻 ❤\ufe0f",
    "a blank that does not break": "10\u00a0km",
    "joiners of Persian": "می\u200cخواهم",
    "a mark of direction": "a\u200fb",
    "a private letter": "\ue0a0 main",
    "an emoji of next year": "ok \U0001fae9\U0001fadf",
    "the flag of Wales": "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "a soft hyphen": "co\u00adop",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
async def test_typed_text_arrives_unchanged(config: ForgeConfig, text: str) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for key in TerminalInput().feed(f"{text}!".encode()):
            app.post_message(key)
        await until(pilot, lambda: app.chat.composer.text.endswith("!"))
        assert app.chat.composer.text == f"{text}!"
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == [f"{text}!"])
        await until(pilot, lambda: not app.chat.has_turn)
        await pilot.press("up")
        assert app.chat.composer.text == f"{text}!"


async def test_control_characters_insert_nothing(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        for key in TerminalInput().feed("a\x00\x07\x1c\x85\x9bb\u2028c".encode()):
            app.post_message(key)
        await until(pilot, lambda: app.chat.composer.text.endswith("c"))
        assert app.chat.composer.text == "abc"


async def test_pasted_text_arrives_unchanged(config: ForgeConfig) -> None:
    text = " ".join(WRITTEN[name] for name in list(WRITTEN)[:4])
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        for event in TerminalInput().feed(f"\x1b[200~{text}\x1b[201~".encode()):
            app.post_message(event)
        await until(pilot, lambda: bool(app.chat.composer.text))
        assert app.chat.composer.text == text


async def test_a_line_input_accepts_the_ideographic_space(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await pilot.press("ctrl+f")
        for key in TerminalInput().feed("東京\u3000大阪".encode()):
            app.post_message(key)
        line = app.screen.query_one(FindLine)
        await until(pilot, lambda: line.value.endswith("阪"))
        assert line.value == "東京\u3000大阪"


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_paste_longer_than_a_message_is_put_into_a_file(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    app = make_app(config)
    if not is_kept:
        monkeypatch.setattr(OutputStore, "keep", lambda *_: None)
    async with app.run_test(size=(120, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "see ")
        for event in TerminalInput().feed(b"\x1b[200~" + b"a line of a log\n" * 312_500 + b"\x1b[201~"):
            app.post_message(event)
        if not is_kept:
            await until(pilot, lambda: "Not pasted: 5,000,000 characters, at most 1,000,000." in shown(app))
            assert "Name a file instead" in shown(app)
            assert composer.text == "see "
            return
        await until(pilot, lambda: composer.text != "see ")
        path = Path(composer.text.removeprefix("see "))
        assert path.read_text() == "a line of a log\n" * 312_500
        assert path.stat().st_mode & 0o777 == 0o600
        await until(pilot, lambda: "5,000,000 characters are too many for a message" in shown(app))


async def test_the_longest_paste_is_accepted_and_rewrapped_only_when_its_width_changes(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[int] = []
    wrap = WrappedDocument.wrap

    def counting(document: WrappedDocument, width: int, tab_width: int | None = None) -> None:
        if document.document.line_count > 1:
            widths.append(width)
        wrap(document, width, tab_width)

    monkeypatch.setattr(WrappedDocument, "wrap", counting)
    text = ("y" * 99 + "\n") * (LONGEST // 100)
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.chat.composer.post_message(events.Paste(text))
        await until(pilot, lambda: app.chat.composer.has_chips)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.chat.composer.content_size.height == 8)
        await pilot.pause()
        assert app.chat.composer.text == text
        assert widths == [73]
        await pilot.resize_terminal(60, 24)
        await until(pilot, lambda: len(widths) > 1)
        assert widths[-1] == 53


async def test_the_limit_of_a_paste_counts_what_is_already_in_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        first, too_long = "a" * 600_000, "b" * (LONGEST - 600_000 + 1)
        composer.paste(first)
        composer.paste(too_long)
        assert plain_text(composer.typed) == first
        composer.restore_draft(too_long, 0)
        assert plain_text(composer.typed) == first


async def test_a_paste_into_an_unfocused_window_is_accepted(config: ForgeConfig) -> None:
    """As when a file is dropped on it: the terminal pastes its name, and tells of the focus later."""
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.post_message(events.AppBlur())
        app.post_message(events.Paste("notes.md"))
        app.post_message(events.AppFocus())
        await until(pilot, lambda: app.chat.composer.text)
        assert app.chat.composer.text == "notes.md" and app.focused is app.chat.composer


async def test_releasing_mouse_capture_ends_a_drag_selection_in_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await type_text(pilot, "some text here")
        y = app.chat.composer.region.y + 1
        await pilot.mouse_down(offset=(5, y))
        await pilot.hover(offset=(8, y))
        before = app.chat.composer.selection
        assert not before.is_empty
        await pilot.press("f9", "f9")
        await pilot.mouse_up(offset=(8, 2))  # above the composer
        await pilot.hover(offset=(12, y))
        assert app.chat.composer.selection == before


@pytest.mark.parametrize("mode", PermissionMode)
async def test_the_border_has_the_colour_of_the_mode(config: ForgeConfig, mode: PermissionMode) -> None:
    app = make_app(replace(config, permission_mode=mode))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: app.focused is app.chat.composer)
        wanted = app.theme_variables[f"mode-{mode}"]
        assert app.chat.composer.styles.border_top[1] == Color.parse(wanted)


async def test_the_mark_stays_where_an_overlay_has_covered_it(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "one")
        await pilot.press("ctrl+j")
        await until(pilot, lambda: composer.content_size.height == 2)
        whole = [strip.text for strip in composer.render_lines(composer.outer_size.region)]
        assert whole[1].startswith("│❯ one") and whole[2].startswith("│  ")
        for crop in (Region(0, 1, 10, 1), Region(1, 0, 4, 4), Region(2, 0, 5, 4), Region(0, 2, 9, 2)):
            rows = [strip.text for strip in composer.render_lines(crop)]
            assert rows == [row[crop.x : crop.right] for row in whole[crop.y : crop.bottom]]


async def test_undo_of_many_lines_restores_the_text_and_the_cursor(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "see ")
        composer.paste("\n".join(f"line {number}" for number in range(14)))
        await pilot.pause()
        composer.action_undo()
        await pilot.pause()
        assert (composer.text, composer.cursor_location) == ("see ", (0, 4))
        composer.action_redo()
        await pilot.pause()
        assert composer.cursor_location == (13, 7)


async def test_a_message_from_the_history_of_one_line_is_continued_at_its_end(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.composer.remember("first")
        app.chat.composer.remember("two\nlines")
        await pilot.press("up", "up")
        assert app.chat.composer.text == "first"
        await type_text(pilot, " more")
        assert app.chat.composer.text == "first more"
