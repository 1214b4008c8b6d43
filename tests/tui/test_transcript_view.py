"""The transcript on a screen: streaming, following, scrolling, themes, clicks, selection and copying."""

from __future__ import annotations

import os
import random
from functools import partial

import pytest
from textual.events import MouseScrollUp
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import Input

from tests.bench.script import MARKDOWN
from tests.support.chat_app import until
from tests.support.transcripts import (
    TranscriptApp,
    call_ended,
    said,
    tool_ended,
    tool_started,
    turn_ended,
)

pytestmark = pytest.mark.slow


async def settle(app: TranscriptApp, pilot: Pilot[None]) -> None:
    """Waits until what was streamed is on the screen."""
    while app.transcript._flush_handle is not None:
        await pilot.pause(0.01)
    await pilot.pause()


async def test_a_streamed_answer_appears_and_is_followed() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_user("go")
        for number in range(60):
            app.transcript.apply(said(f"- item {number}\n"))
        app.transcript.apply(call_ended())
        app.transcript.apply(turn_ended())
        await settle(app, pilot)
        assert "item 59" in app.rows()[-1]
        assert app.transcript.at_end
        assert not app.transcript.new_below


async def test_scrolling_up_holds_the_view_and_indicates_new_content_below() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(100)))
        await pilot.pause()
        app.transcript.page(-1)
        await pilot.pause()
        before = app.rows()
        app.transcript.apply(said("An answer."))
        await settle(app, pilot)
        assert app.rows() == before
        assert app.transcript.new_below
        app.transcript.scroll_to_end()
        await pilot.pause()
        assert "An answer." in app.rows()[-1]
        assert not app.transcript.new_below


async def test_rows_that_were_left_keep_no_strip() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(900)))
        await pilot.pause()
        rows = set()
        for _ in range(60):
            app.transcript.page(-1)
            await pilot.pause()
            rows.update(app.transcript.frame.rows)
        assert len(rows) > 600
        assert sum(row.final is not None for row in rows) <= 300
        assert all(row.final is not None for row in app.transcript.frame.rows)


async def test_a_new_line_triggers_no_layout_and_reuses_the_other_strips() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(100)))
        await settle(app, pilot)
        layouts = app.screen._layout_updates
        region = Region(0, 0, *app.transcript.size)
        before = app.transcript.render_lines(region)
        for number in range(3):
            app.transcript.apply(said(f"- item {number}\n"))
            await settle(app, pilot)
        after = app.transcript.render_lines(region)
        assert "item 2" in after[-1].text
        assert all(new is old for new, old in zip(after[:-4], before[4:], strict=True))
        assert app.screen._layout_updates == layouts


async def test_the_wheel_scrolls_by_exact_rows_and_the_composer_keeps_the_focus() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(100)))
        await pilot.pause()
        bottom = app.rows()
        await pilot._post_mouse_events([MouseScrollUp], app.transcript)
        await pilot.pause()
        moved = bottom.index(app.rows()[-1])
        assert moved < len(bottom) - 1
        assert not app.transcript.at_end
        assert isinstance(app.focused, Input)


async def test_textual_s_own_scroll_methods_work() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(100)))
        await pilot.pause()
        app.transcript.scroll_home(animate=False)
        await pilot.pause()
        assert "line 0" in app.rows()[0]
        app.transcript.scroll_page_down(animate=False)
        await pilot.pause()
        assert "line 13" in app.rows()[0]
        app.transcript.scroll_end(animate=False)
        await pilot.pause()
        assert "line 99" in app.rows()[-1]
        assert app.transcript.at_end


async def test_events_before_the_first_layout_are_shown_later() -> None:
    app = TranscriptApp()
    app.transcript.add_user("early")
    async with app.run_test(size=(60, 16)) as pilot:
        await pilot.pause()
        assert any("early" in row for row in app.rows())


async def test_a_theme_change_recolours_the_visible_rows() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_markdown("### Title\n\n`code`")
        await pilot.pause()

        def colours() -> set[object]:
            strips = app.screen._compositor.render_strips()
            return {segment.style.color for segment in strips[0] if segment.text.strip() == "Title"}

        app.theme = "textual-dark"
        await pilot.pause()
        dark, rows = colours(), app.rows()
        app.theme = "textual-light"
        await pilot.pause()
        assert colours() != dark
        assert app.rows() == rows


async def test_a_resize_wraps_again_and_stays_at_the_end() -> None:
    async with (app := TranscriptApp()).run_test(size=(100, 16)) as pilot:
        app.transcript.add_markdown("\n\n".join(f"paragraph {n} " + "word " * 20 for n in range(30)))
        await pilot.pause()
        await pilot.resize_terminal(40, 16)
        await until(pilot, lambda: all(len(row) <= 40 for row in app.rows()))
        assert app.rows()[-1].strip().endswith("word")
        assert app.transcript.at_end


async def test_a_click_unfolds_a_card_and_leaves_its_header_where_it_is() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(50)))
        app.transcript.apply(tool_started("read", path="a.py"))
        app.transcript.apply(tool_ended("read", "\n".join(f"out {n}" for n in range(40))))
        await settle(app, pilot)
        header = next(y for y, row in enumerate(app.rows()) if "Read a.py" in row)
        await pilot.click(app.transcript, offset=(5, header))
        await pilot.pause()
        assert "Read a.py" in app.rows()[header]
        app.transcript.scroll_to_end()
        await pilot.pause()
        assert "out 39" in app.rows()[-2]


async def test_all_cards_unfold_and_fold() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 30)) as pilot:
        for number in ("1", "2"):
            app.transcript.apply(tool_started("write", number, path=f"{number}.py"))
            app.transcript.apply(tool_ended("write", f"body {number}", call_id=number))
        await settle(app, pilot)
        app.transcript.toggle_cards()
        await pilot.pause()
        assert sum("body" in row for row in app.rows()) == 2
        app.transcript.toggle_cards()
        await pilot.pause()
        assert sum("body" in row for row in app.rows()) == 0


async def test_clearing_removes_everything_and_new_content_shows() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(said("half an answer"))
        app.transcript.clear_blocks()
        app.transcript.add_user("again")
        app.transcript.apply(said("fresh"))
        await settle(app, pilot)
        assert [row.strip(" ▎") for row in app.rows() if row.strip()] == ["again", "fresh"]


async def test_a_notice_during_streaming_does_not_split_the_answer() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(said("One **bol"))
        await settle(app, pilot)
        app.transcript.add_notice("Model changed.")
        app.transcript.apply(said("d** word.\n\nNext."))
        app.transcript.apply(call_ended())
        await settle(app, pilot)
        text = [row.strip() for row in app.rows() if row.strip()]
        assert text == ["One bold word.", "Next.", "· Model changed."]


async def test_an_open_block_shows_every_fragment() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        for number in range(8):
            app.transcript.apply(said(f"word{number} "))
            await settle(app, pilot)
            assert app.rows()[0].strip().endswith(f"word{number}")


async def test_nothing_is_laid_out_while_an_answer_streams() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        await pilot.pause()
        layouts = app.screen._layout_updates, app.transcript._layout_updates
        for number in range(80):
            app.transcript.apply(said(f"line {number}\n"))
        await settle(app, pilot)
        assert (app.screen._layout_updates, app.transcript._layout_updates) == layouts


async def test_dragging_selects_logical_text_without_decoration() -> None:
    async with (app := TranscriptApp()).run_test(size=(40, 20)) as pilot:
        app.transcript.add_user("the question")
        app.transcript.add_markdown("1. one two three four five six seven eight nine\n2. ten\n\n> quoted")
        await pilot.pause()
        await drag(pilot, (0, 0), (39, 7))
        assert app.transcript.selected_text() == (
            "the question\n\n1. one two three four five six seven eight nine\n2. ten\n\nquoted"
        )


async def test_part_of_a_wrapped_line_can_be_selected() -> None:
    async with (app := TranscriptApp()).run_test(size=(24, 20)) as pilot:
        app.transcript.add_markdown("alpha beta gamma delta epsilon")
        await pilot.pause()
        assert [row.strip() for row in app.rows() if row.strip()] == ["alpha beta gamma", "delta epsilon"]
        await drag(pilot, (9, 0), (7, 1))
        assert app.transcript.selected_text() == "beta gamma delta"


async def test_code_is_copied_with_its_tabs() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 20)) as pilot:
        app.transcript.add_markdown("```go\nif x {\n\treturn\n}\n```")
        await pilot.pause()
        await drag(pilot, (0, 0), (50, 3))
        assert app.transcript.selected_text() == "if x {\n\treturn\n}"


async def test_a_selection_stays_on_its_text_while_rows_above_change() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 30)) as pilot:
        app.transcript.apply(tool_started("bash", command="make"))
        app.transcript.apply(tool_ended("bash", "\n".join("abcdefghij")))
        app.transcript.add_markdown("keep this text")
        await settle(app, pilot)
        row = next(y for y, text in enumerate(app.rows()) if "keep" in text)
        await drag(pilot, (3, row), (11, row))
        assert app.transcript.selected_text() == "keep this"
        app.transcript.toggle_cards()
        await pilot.resize_terminal(50, 30)
        await pilot.pause()
        assert app.transcript.selected_text() == "keep this"


@pytest.mark.parametrize(("times", "selected"), [(2, "src/a_b.py"), (3, "see src/a_b.py now")])
async def test_double_click_selects_a_word_and_triple_click_a_paragraph(times: int, selected: str) -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 20)) as pilot:
        app.transcript.add_markdown("other\n\nsee src/a_b.py now")
        await pilot.pause()
        row = next(y for y, text in enumerate(app.rows()) if "see" in text)
        await pilot.click(app.transcript, offset=(10, row), times=times)
        await pilot.pause()
        assert app.transcript.selected_text() == selected


async def test_only_the_selection_is_highlighted() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 20)) as pilot:
        app.transcript.add_markdown("one two three")
        await pilot.pause()
        await drag(pilot, (7, 0), (9, 0))
        await pilot.pause()
        background = app.transcript._current_styles().selection.bgcolor
        strip = app.screen._compositor.render_strips()[0]
        marked = "".join(s.text for s in strip if s.style is not None and s.style.bgcolor == background)
        assert marked == "two"


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    await pilot.pause()


@pytest.mark.parametrize("seed", range(4 if os.environ.get("FORGE_FULL") else 2))
async def test_random_actions_during_streaming_leave_a_correct_screen(seed: int) -> None:
    """Keys, clicks, wheel, resizes, themes, selections, notices, clearing: no exception, no torn row."""
    chance = random.Random(seed)
    async with (app := TranscriptApp()).run_test(size=(70, 20)) as pilot:
        transcript = app.transcript

        async def resize() -> None:
            size = (chance.randrange(24, 120), chance.randrange(8, 40))
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: app.screen._compositor.size == size)

        async def select() -> None:
            width, height = app.size
            await drag(pilot, (chance.randrange(width), 0), (chance.randrange(width), min(4, height - 4)))

        async def theme() -> None:
            app.theme = chance.choice(("textual-dark", "textual-light", "nord"))

        async def click() -> None:
            await pilot.click(offset=(3, chance.randrange(0, 4)), times=chance.choice((1, 2, 3)))

        calls = 0
        for _ in range(120):
            match chance.randrange(14):
                case 0:
                    await resize()
                case 1:
                    await select()
                case 2:
                    await theme()
                case 3:
                    await click()
                case 4:
                    pages = partial(transcript.page, -1), partial(transcript.page, 1)
                    chance.choice((*pages, transcript.scroll_to_start))()
                case 5:
                    transcript.scroll_to_end()
                case 6:
                    transcript.toggle_cards()
                case 7:
                    transcript.add_notice("notice " * chance.randrange(30))
                case 8:
                    calls += 1
                    transcript.apply(tool_started("bash", str(calls), command="make"))
                case 9:
                    transcript.apply(tool_ended("bash", "out\n" * 30, call_id=str(calls)))
                case 10:
                    transcript.apply(chance.choice((call_ended, turn_ended))())
                case 11 if chance.random() < 0.1:
                    transcript.clear_blocks()
                case _:
                    start = chance.randrange(len(MARKDOWN))
                    transcript.apply(said(MARKDOWN[start : start + chance.randrange(200)]))
            if chance.random() < 0.3:
                await pilot.pause()
                frame = transcript.frame
                assert 0 <= frame.offset <= max(0, frame.total - len(frame.rows))
                transcript.selected_text()
        transcript.scroll_to_end()
        await settle(app, pilot)
        assert transcript.at_end
