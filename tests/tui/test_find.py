"""Finding in the conversation: what is found, where the view goes, what it costs, and what it leaves alone."""

from __future__ import annotations

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import UserBlock
from forge_tui.widgets.blockview.finder import TextSearch
from forge_tui.widgets.find_bar import FindLine
from forge_tui.widgets.transcript.answer.answer_blocks import MarkdownBlock
from tests.support.chat_app import ChatApp, make_app, ready, shown, type_text, until
from tests.support.transcripts import STYLES, TranscriptApp, said, tool_ended, tool_started

pytestmark = pytest.mark.slow


def found(layout: Layout, needle: str) -> tuple[list[int], int]:
    finder = TextSearch(layout)
    finder.begin(needle, len(layout.blocks))
    while not finder.is_done:
        finder.step(0.01)
    return finder.hits, finder.total


def layout_with(*texts: str) -> Layout:
    layout = Layout()
    layout.configure(60, 10, STYLES)
    for text in texts:
        layout.append(MarkdownBlock(text))
    return layout


def test_lowercase_search_ignores_case_and_uppercase_search_respects_it() -> None:
    layout = layout_with("Parser and parser", "PARSER", "nothing")
    assert found(layout, "parser") == ([0, 1], 3)
    assert found(layout, "Parser") == ([0], 1)


def test_find_matches_the_rendered_text_and_not_its_markup() -> None:
    layout = layout_with("a **bo**ld word", "`code` & more", "[text](https://example.org/x)")
    assert found(layout, "bold") == ([0], 1)
    assert found(layout, "**") == ([], 0)
    assert found(layout, "code & more") == ([1], 1)
    assert found(layout, "text") == ([2], 1)


def test_extending_or_shortening_the_search_text_gives_correct_counts() -> None:
    layout = layout_with(*(f"number {n}" for n in range(100)))
    finder = TextSearch(layout)
    counts = []
    for needle in ("number", "number 7", "number 77", "number 7", "NUMBER", "number 99"):
        finder.begin(needle, 50)
        while not finder.is_done:
            finder.step(0.01)
        counts.append(finder.total)
    assert counts == [100, 11, 1, 11, 0, 1]


def test_a_search_step_does_not_scan_everything() -> None:
    layout = Layout()
    layout.configure(60, 10, STYLES)
    looked: list[int] = []

    class Dear(UserBlock):
        def find_text(self) -> str:
            looked.append(1)
            return super().find_text() * 2_000

    for _ in range(5_000):
        layout.append(Dear("some words"))
    finder = TextSearch(layout)
    finder.begin("nowhere", 0)
    finder.step(0.0)
    assert len(looked) < 50
    assert not finder.is_done


async def looked_for(app: TranscriptApp, pilot: Pilot[None], needle: str) -> None:
    app.transcript.finder.find(needle)
    while not app.transcript.finder.search.is_done:
        await pilot.pause(0.005)
    await pilot.pause()


async def test_find_starts_at_the_nearest_match_above_and_wraps_around() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        for number in range(60):
            app.transcript.add_user(f"needle {number}" if number % 10 == 5 else f"hay {number}\n\nmore")
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "needle")
        visited = []
        for _ in range(7):
            assert app.transcript.finder.current is not None
            visited.append((app.transcript.finder.current.block, app.transcript.find_status))
            assert any(f"needle {app.transcript.finder.current.block}" in row for row in app.rows())
            app.transcript.finder.step(-1)
            await pilot.pause()
        assert visited == [(n * 10 + 5, f"{n + 1}/6") for n in (5, 4, 3, 2, 1, 0, 5)]
        app.transcript.finder.step(1)
        assert app.transcript.find_status == "6/6"


async def test_a_folded_card_unfolds_for_its_match_and_folds_again_after_it() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_user("first marker")
        app.transcript.apply(tool_started("read", path="a.py"))
        app.transcript.apply(tool_ended("read", "\n".join(f"out {n}" for n in range(40)) + "\nmarker here"))
        app.transcript.add_text("\n".join(f"line {n}" for n in range(30)))
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "marker")
        assert app.transcript.find_status == "2/2"
        assert any("marker here" in row for row in app.rows())
        app.transcript.finder.step(-1)
        await pilot.pause()
        assert any("first marker" in row for row in app.rows())
        assert not any("out 3" in row for row in app.rows())
        app.transcript.finder.step(1)
        app.transcript.finder.end(is_kept=True)
        await pilot.pause()
        assert any("marker here" in row for row in app.rows())


async def test_closing_find_restores_the_previous_view() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        for number in range(80):
            app.transcript.add_user(f"text {number}")
        app.transcript.page(-1)
        await pilot.pause()
        before = app.rows()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "text 3")
        assert app.rows() != before
        app.transcript.finder.end(is_kept=False)
        await pilot.pause()
        assert app.rows() == before


async def test_matches_are_highlighted_and_the_current_one_more_strongly() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_markdown("one two one\n\ntwo one")
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "one")
        styles = app.transcript._current_styles()
        marks = [
            (y, segment.text, segment.style.bgcolor == styles.match_current.bgcolor)
            for y, strip in enumerate(app.screen._compositor.render_strips())
            for segment in strip
            if segment.style is not None
            and segment.style.bgcolor in (styles.match.bgcolor, styles.match_current.bgcolor)
        ]
        assert marks == [(0, "one", False), (0, "one", False), (2, "one", True)]
        app.transcript.finder.end(is_kept=True)
        await pilot.pause()
        assert not app.transcript.finder.search.hits


async def test_matches_in_streaming_text_are_counted_without_moving_the_view() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        for number in range(30):
            app.transcript.add_user(f"word {number}")
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "word 2")
        before, status = app.rows(), app.transcript.find_status
        assert status == "11/11"
        app.transcript.apply(said("An answer with word 2 in it.\n\nAnd more.\n\n" * 10))
        while app.transcript._flush_handle is not None:
            await pilot.pause(0.01)
        app.transcript.finder._follow()
        await pilot.pause()
        assert app.transcript.find_status == "11/21"
        assert app.rows() == before


async def test_a_later_match_is_counted_and_can_be_reached() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_user("nothing of the kind")
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "marker")
        assert app.transcript.find_status == "no match"
        app.transcript.add_notice("a marker\n" * 3)
        app.transcript.finder._follow()
        assert app.transcript.find_status == "–/3"
        app.transcript.finder.step(-1)
        assert app.transcript.find_status == "3/3"


# On the conversation screen


def view(app: ChatApp) -> list[str]:
    """The screen without the scroll bar, which comes later."""
    return [row[:98].rstrip() for row in shown(app).splitlines()]


async def with_conversation(pilot: Pilot[None]) -> ChatApp:
    app = await ready(pilot)
    for number in range(40):
        app.chat.transcript.add_user(f"prompt {number}")
        app.chat.transcript.add_markdown(f"answer {number}\n\nwith more\n\nlines")
    await pilot.pause()
    return app


async def test_ctrl_f_opens_the_find_line_without_moving_the_view_and_keeps_the_draft(
    config: ForgeConfig,
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await with_conversation(pilot)
        await type_text(pilot, "half a draft")
        region, before = app.chat.transcript.region, shown(app).splitlines()[:20]
        await pilot.press("ctrl+f")
        await pilot.pause()
        assert app.chat.transcript.region == region
        assert shown(app).splitlines()[:20] == before
        layouts = app.screen._layout_updates
        await type_text(pilot, "prompt 3")
        await until(pilot, lambda: "11/11" in shown(app))
        assert app.screen._layout_updates == layouts
        await pilot.press("enter", "up")
        await until(pilot, lambda: "9/11" in shown(app))
        await pilot.press("down")
        await until(pilot, lambda: "10/11" in shown(app))
        await pilot.press("escape")
        await pilot.pause()
        assert app.focused is app.chat.composer
        assert app.chat.composer.text == "half a draft"
        assert "prompt 38" in shown(app)
        await pilot.press("x")
        assert app.chat.composer.text == "half a draftx"


async def test_letters_typed_right_after_ctrl_f_are_searched(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await with_conversation(pilot)
        for key in ("ctrl+f", *"answer"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: "40/40" in shown(app))
        assert app.chat.composer.text == ""


async def test_ctrl_c_in_the_find_line_closes_it_and_does_not_interrupt(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await with_conversation(pilot)
        before = view(app)
        await pilot.press("ctrl+f")
        await type_text(pilot, "answer 3")
        await pilot.press("enter", "enter", "enter", "enter")
        await until(pilot, lambda: "prompt 35" in shown(app))
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert view(app) == before
        assert app.chat.transcript.at_end


async def test_the_last_search_text_is_restored_and_replaced_by_typing(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await with_conversation(pilot)
        await pilot.press("ctrl+f")
        await type_text(pilot, "prompt 1")
        await pilot.press("escape")
        await pilot.pause()
        place = view(app)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "/11" in shown(app))
        await type_text(pilot, "nowhere")
        await until(pilot, lambda: "no match" in shown(app))
        await pilot.press("escape")
        await pilot.pause()
        assert view(app) == place


async def test_clearing_the_conversation_clears_the_matches(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await with_conversation(pilot)
        await pilot.press("ctrl+f")
        await type_text(pilot, "prompt")
        await until(pilot, lambda: "/40" in shown(app))
        app.chat.start_over()
        await pilot.press("enter", "down", "escape")
        await pilot.pause()
        assert app.is_running
        assert app.focused is app.chat.composer


async def test_no_letter_overtakes_a_key_before_it(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: app.chat.find.is_open)
        for key in XTermParser().feed("needle\x7f\x7f\x7f\x1b[D\x1b[Dxyz\x7fabc\x1b[F!"):
            app.post_message(key)
        line = app.focused
        assert isinstance(line, FindLine)
        await until(pilot, lambda: line.value.endswith("!"))
        assert line.value == "nxyabcee!"
