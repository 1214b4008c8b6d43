"""The mouse over the conversation: selecting past the edges, extending, clicking, the wheel and the bar."""

from __future__ import annotations

import gc
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMChunk, LLMStart
from forge_tui.terminal.clipboard import Route
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import Gate
from tests.support.transcripts import TranscriptApp, call_ended, said, tool_ended, tool_started

pytestmark = pytest.mark.slow


async def press(pilot: Pilot[None], at: tuple[int, int], **changes: bool) -> None:
    await pilot.mouse_down(offset=at, **changes)


async def drag(pilot: Pilot[None], places: Sequence[tuple[int, int]]) -> None:
    for place in places:
        await pilot.hover(offset=place)


async def test_dragging_past_the_end_keeps_scrolling_and_selecting() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(200)))
        app.transcript.scroll_to_start()
        await pilot.pause()
        await press(pilot, (3, 5))
        await drag(pilot, [(10, 9), (9, 14)])
        await until(pilot, lambda: app.transcript.frame.offset > 20)
        assert app.transcript.mouse.edge_timer is not None
        await pilot.hover(offset=(8, 8))
        assert app.transcript.mouse.edge_timer is None
        last = app.rows()[8].strip()
        await pilot.mouse_up(offset=(8, 8))
        lines = app.transcript.selected_text().split("\n")
        assert lines[0] == "line 5"
        assert lines == [f"line {n}" for n in range(5, 5 + len(lines) - 1)] + [last[:6]]


async def test_dragging_to_the_first_row_scrolls_up_and_stops_at_the_start() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(40)))
        await pilot.pause()
        await press(pilot, (9, 10))
        await drag(pilot, [(9, 5), (0, 0)])
        await until(pilot, lambda: app.transcript.frame.offset == 0)
        await pilot.pause(0.1)
        await pilot.mouse_up(offset=(0, 0))
        assert app.transcript.mouse.edge_timer is None
        assert app.transcript.selected_text().startswith("line 0\nline 1\n")


async def test_a_selection_stays_while_an_answer_grows_and_is_cut_into_blocks() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(said("First paragraph of it.\n\nSecond paragraph here"))
        await settled(app, pilot)
        row = next(y for y, text in enumerate(app.rows()) if "Second" in text)
        await press(pilot, (3, row))
        await drag(pilot, [(8, row)])
        await pilot.mouse_up(offset=(8, row))
        assert app.transcript.selected_text() == "Second"
        app.transcript.apply(said(" goes on.\n\nThird one.\n\n```py\nx = 1\n```\n\n" + "more\n\n" * 20))
        app.transcript.apply(call_ended())
        await settled(app, pilot)
        assert app.transcript.selected_text() == "Second"
        await pilot.resize_terminal(30, 12)
        await pilot.pause()
        assert app.transcript.selected_text() == "Second"


async def settled(app: TranscriptApp, pilot: Pilot[None]) -> None:
    while app.transcript._flush_handle is not None:
        await pilot.pause(0.01)
    await pilot.pause()


async def test_shift_click_extends_a_selection_and_a_plain_click_clears_it() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("alpha beta gamma\ndelta")
        await pilot.pause()
        await press(pilot, (3, 0))
        await drag(pilot, [(7, 0)])
        await pilot.mouse_up(offset=(7, 0))
        assert app.transcript.selected_text() == "alpha"
        await pilot.click(offset=(7, 1), shift=True)
        assert app.transcript.selected_text() == "alpha beta gamma\ndelta"
        await pilot.click(offset=(10, 8))
        assert app.transcript.selected_text() == ""


async def test_mouse_events_received_in_one_burst_are_all_handled(config: ForgeConfig) -> None:
    app = make_app(config, [[LLMChunk(text="alpha beta gamma delta\n")]])
    async with app.run_test(size=(60, 16)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "alpha beta" in shown(app) and not app.chat.has_turn)
        y = next(y for y, row in enumerate(shown(app).split("\n"), 1) if "alpha" in row)

        def mouse(*reports: str) -> None:
            for event in XTermParser().feed("".join(f"\x1b[<{report}" for report in reports)):
                app.post_message(event)

        selected = app.chat.transcript.selected_text
        mouse(f"0;4;{y}M", f"0;8;{y}m")
        await until(pilot, lambda: selected() == "alpha", "a drag without a way")
        mouse(f"4;13;{y}M", f"4;13;{y}m")
        await until(pilot, lambda: selected() == "alpha beta", "Shift and a click")
        mouse(f"0;4;{y}M", f"32;10;{y}M", f"32;60;{y}M")
        await until(pilot, lambda: app.mouse_captured is app.chat.transcript)
        mouse(f"0;60;{y}m")
        await until(pilot, lambda: selected() == "alpha beta gamma delta", "to the scroll bar")
        mouse(f"0;4;{y}M", f"0;4;{y}m")
        await until(pilot, lambda: selected() == "", "a click")


async def test_a_double_click_on_a_folded_card_selects_a_word_and_keeps_it_folded() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 30)) as pilot:
        app.transcript.apply(tool_started("read", path="src/engine.py"))
        app.transcript.apply(tool_ended("read", "\n".join(f"out {n}" for n in range(9))))
        await settled(app, pilot)
        before = app.rows()
        row = next(y for y, text in enumerate(before) if "engine" in text)
        await pilot.click(offset=(before[row].index("engine"), row), times=2)
        await pilot.pause()
        assert app.transcript.selected_text() == "src/engine.py"
        assert app.rows() == before


async def test_wide_characters_and_marks_are_selected_whole() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("日本語 cafe\u0301 end")
        await pilot.pause()
        await press(pilot, (4, 0))  # the right half of the first character
        await drag(pilot, [(13, 0)])
        await pilot.mouse_up(offset=(13, 0))
        assert app.transcript.selected_text() == "日本語 cafe\u0301"


async def test_the_scrollbar_can_be_dragged_to_both_ends() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        for number in range(600):
            app.transcript.add_markdown(f"paragraph {number} " + "word " * (number % 40))
        await pilot.pause()
        await until(pilot, lambda: app.transcript._scrollbar_handle is None)
        await pilot.mouse_down(offset=(59, 12))
        await pilot.hover(offset=(59, 6))
        await until(pilot, lambda: not app.transcript.at_end)
        assert 100 < app.transcript.frame.places[0][0] < 500
        await pilot.hover(offset=(59, 0))
        await until(pilot, lambda: "paragraph 0" in app.rows()[0])
        await pilot.hover(offset=(59, 15))
        await pilot.mouse_up(offset=(59, 15))
        await pilot.pause()
        assert app.transcript.at_end
        assert app.transcript.selected_text() == ""


async def test_something_new_below_is_shown_in_a_fixed_place_and_a_click_goes_there(
    config: ForgeConfig,
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.welcome.display = False
        app.chat.transcript.add_text("\n".join(f"line {n}" for n in range(99)))
        await pilot.pause()
        await pilot.press("pageup")
        await pilot.pause()
        assert "new below" not in shown(app)
        layouts, before = app.screen._layout_updates, shown(app).splitlines()[:20]
        app.chat.transcript.add_notice("look here")
        await pilot.pause()
        assert "↓ new below · Ctrl+End" in shown(app)
        assert app.screen._layout_updates == layouts
        after = shown(app).splitlines()[:20]  # without the bar: it follows later
        assert [row[:98].rstrip() for row in after] == [row[:98].rstrip() for row in before]
        line = app.chat.activity.region
        await pilot.click(offset=(line.right - 6, line.y))
        await pilot.pause()
        assert "look here" in shown(app)
        assert "new below" not in shown(app)


async def test_alt_up_and_alt_down_jump_between_prompts(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.welcome.display = False
        for number in range(12):
            app.chat.transcript.add_user(f"prompt {number}")
            app.chat.transcript.add_text("\n".join(f"line {n}" for n in range(40)))
        await pilot.pause()
        for key, first in (
            ("alt+up", 11),
            ("ctrl+up", 10),
            ("alt+up", 9),
            ("alt+down", 10),
            ("ctrl+down", 11),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert f"prompt {first}" in shown(app).splitlines()[0]
        await pilot.press("alt+down")
        await pilot.pause()
        assert app.chat.transcript.at_end


async def test_escape_a_click_elsewhere_and_copying_clear_a_selection(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.transcript.add_text("some words")
        await pilot.pause()
        for ending in ("escape", "ctrl+c", "click"):
            row = next(y for y, text in enumerate(shown(app).splitlines()) if "some words" in text)
            await press(pilot, (3, row))
            await drag(pilot, [(6, row)])
            await pilot.mouse_up(offset=(6, row))
            assert app.chat.transcript.selected_text() == "some"
            if ending == "click":
                await pilot.click(app.chat.composer)
            else:
                await pilot.press(ending)
            await pilot.pause()
            assert app.chat.transcript.selected_text() == ""
        assert app.clipboard == "some"
        assert isinstance(app.chat.composer, type(app.focused))


async def select_words(pilot: Pilot[None], app: ChatApp) -> None:
    row = next(y for y, text in enumerate(shown(app).splitlines()) if "some words" in text)
    await press(pilot, (3, row))
    await drag(pilot, [(6, row)])
    await pilot.mouse_up(offset=(6, row))
    assert app.chat.transcript.selected_text() == "some"


async def test_a_selection_reaches_only_the_primary_selection_for_middle_click_paste(
    config: ForgeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def into(name: str) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"cat > {shlex.quote(str(tmp_path / name))}")

    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        route = Route("tool", into("clipboard"), into("primary"))
        monkeypatch.setattr(app, "_environment", replace(app._environment, clipboard=lambda folder: route))
        app.chat.transcript.add_text("some words")
        await pilot.pause()
        await select_words(pilot, app)
        assert app.focused is app.chat.composer, "what is typed next is a message"
        primary = tmp_path / "primary"
        await until(pilot, lambda: primary.exists() and primary.read_text() == "some")
        assert not (tmp_path / "clipboard").exists()


async def test_escape_closes_one_thing_at_a_time_and_interrupts_the_turn_last(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[LLMStart(iteration=1, model="m"), LLMChunk(text="some words"), gate]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, gate.reached.is_set)
        await until(pilot, lambda: "some words" in shown(app))
        await pilot.press("ctrl+f")
        await type_text(pilot, "words")
        await until(pilot, lambda: "1/1" in shown(app))
        await select_words(pilot, app)
        await pilot.press("escape")
        assert app.chat.transcript.selected_text() == "" and app.chat.find.is_open
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.find.is_open)
        await type_text(pilot, "/he")
        await until(pilot, lambda: app.chat.popup.is_open)
        await pilot.press("escape")
        assert not app.chat.popup.is_open
        await select_words(pilot, app)
        await pilot.press("escape")
        assert app.chat.transcript.selected_text() == ""
        await pilot.pause()
        assert "Interrupting" not in shown(app) and app.chat.has_turn
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.has_turn)
        assert app.chat.composer.text == "/he"


async def test_a_double_click_on_the_fold_line_of_a_long_card_keeps_it_unfolded(config: ForgeConfig) -> None:
    async with (app := TranscriptApp()).run_test(size=(80, 50)) as pilot:
        app.transcript.apply(tool_started("read", path="a"))
        app.transcript.apply(tool_ended("read", "\n".join(f"line {n}" for n in range(40))))
        await settled(app, pilot)
        app.transcript.toggle_cards()
        await pilot.pause()
        row = next(y for y, text in enumerate(app.rows()) if "fold" in text)
        await pilot.click(offset=(6, row), times=2)
        assert "line 39" in "\n".join(app.rows())


async def test_a_second_click_after_a_clear_does_nothing(config: ForgeConfig) -> None:
    async with (app := TranscriptApp()).run_test(size=(80, 20)) as pilot:
        app.transcript.add_text("one\ntwo\nthree")
        app.transcript.add_text("four")
        await pilot.pause()
        await pilot.click(offset=(4, 4))
        app.transcript.clear_blocks()
        await pilot.click(offset=(4, 4), times=2)
        await press(pilot, (4, 2))
        app.transcript.clear_blocks()
        await drag(pilot, [(8, 3)])
        await pilot.mouse_up(offset=(8, 3))
        assert app.transcript.selected_text() == ""
        assert app.mouse_captured is None


async def test_rapid_selections_leave_no_unawaited_coroutine(config: ForgeConfig) -> None:
    """The copy for the middle mouse button that comes next may take the place of one that has not begun."""
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for text in "abc":
            await app.on_block_view_selection_made()
            app.copy_to_clipboard(text)
        await until(pilot, lambda: "Copied 1 character" in shown(app))
        gc.collect()  # a coroutine that nobody awaited is told of here
        assert app.clipboard == "c"
