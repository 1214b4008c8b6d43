"""Long outputs a page at a time, and odd calls: wrong arguments, ends without starts."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.events import LLMStart, Permission, ToolEnd, ToolProgress
from forge_tui.widgets.transcript.calls.paging import MOST_PAGES, PAGE_LINES, ItemSize, Pages, lines_of
from tests.support.tool_events import tool_start
from tests.support.transcripts import (
    TranscriptApp,
    drawn,
    layout_of,
    shown,
    tool_ended,
    tool_started,
    turn_ended,
)

pytestmark = pytest.mark.slow


ODD: list[Any] = [
    None, 7, 1e308, True, "", "x" * 50_000, "\x1b[2J\x00", "[red]x[/]", {"a": [{}]}, [[["x"]]], "\ud800", "a\nb", "日本" * 50,
]  # fmt: skip
NAMES = ["read", "grep", "glob", "ls", "bash", "edit", "todo", "ask_user", "apply_patch", "task", "", "\x1b"]
KEYS = ["path", "file_path", "pattern", "command", "items", "questions", "edits", "patch", "job_id", "odd"]


def test_every_line_of_a_long_output_can_be_reached_and_the_page_stays_small() -> None:
    output = "\n".join(f"line {n}" for n in range(5_000))
    (block,) = layout_of(tool_started("read", path="a"), tool_ended("read", output)).blocks
    assert block.toggle(0)
    seen: set[str] = set()
    for _ in range(30):
        rows = drawn(block)
        assert len(rows) <= MOST_PAGES * PAGE_LINES + 4
        seen.update(row.removeprefix(" │ ") for row in rows)
        on = next((at for at, row in enumerate(rows) if "more lines" in row), None)
        if on is None:
            break
        assert block.toggle(on)
        new = drawn(block)[block.row_to_keep(on)]
        assert new.removeprefix(" │ ") not in seen, "what was clicked becomes the first new line"
    assert {f"line {n}" for n in range(5_000)} <= seen
    back = next(at for at, row in enumerate(drawn(block)) if "earlier lines" in row)
    assert block.toggle(back)
    assert drawn(block)[block.row_to_keep(back)].endswith("line 4399")
    last = len(drawn(block)) - 1
    assert "fold" in drawn(block)[last] and block.toggle(last)
    assert len(drawn(block)) == 1


async def paged_through(app: TranscriptApp, pilot: Pilot[None], page: Callable[[], None]) -> str:
    """All rows that show until a press changes nothing any more."""
    seen: list[str] = []
    while (rows := app.rows()) != seen[-len(rows) :]:
        seen += rows
        page()
        await pilot.pause()
    return "\n".join(seen) + "\n"


async def test_page_down_and_page_up_cover_all_of_a_long_output() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(tool_started("read", path="a"))
        app.transcript.apply(tool_ended("read", "\n".join(f"line {n}" for n in range(1_000))))
        app.transcript.add_text("after it")
        app.transcript.toggle_cards()
        app.transcript.scroll_to_start()
        await pilot.pause()
        for direction, end in ((1, "after it"), (-1, "Read a")):
            seen = await paged_through(app, pilot, partial(app.transcript.page, direction))
            assert [n for n in range(1_000) if f" line {n}\n" not in seen] == []
            assert end in "\n".join(app.rows())


async def test_page_down_and_page_up_cover_all_calls_of_a_large_group() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        for number in range(450):
            app.transcript.apply(tool_started("read", str(number), path=f"{number}.py"))
            app.transcript.apply(tool_ended("read", "x", call_id=str(number)))
        app.transcript.add_text("after it")
        app.transcript.toggle_cards()
        app.transcript.scroll_to_start()
        await pilot.pause()
        for direction, end in ((1, "after it"), (-1, "Read 450")):
            seen = await paged_through(app, pilot, partial(app.transcript.page, direction))
            assert [n for n in range(450) if f" Read {n}.py" not in seen] == []
            assert end in "\n".join(app.rows())


def test_pages_cover_each_item_exactly_once() -> None:
    chance = random.Random(4)
    for _ in range(200):
        sizes = [
            ItemSize(chance.choice((1, 1, 7, 500)), chance.randrange(30_000))
            for _ in range(chance.randrange(90))
        ]
        pages = Pages(sizes)
        seen = set(range(pages.first, pages.end))
        while pages.turn_page(1):
            seen |= set(range(pages.first, pages.end))
        assert seen == set(range(len(sizes))) and pages.lines_after == 0
        while pages.turn_page(-1):
            assert pages.first < pages.end
        assert pages.first == pages.lines_before == 0


def test_a_very_long_line_is_split_without_loss() -> None:
    text = "a" * 100_000 + "\nb\n\n"
    assert "".join(lines_of(text)) == text.replace("\n", "")
    assert max(map(len, lines_of(text))) <= 8_000


def odd_event(chance: random.Random) -> Any:
    call_id, parent = str(chance.randrange(12)), chance.choice([None, None, str(chance.randrange(12))])
    name = chance.choice(NAMES)
    match chance.randrange(8):
        case 0 | 1 | 2:
            arguments = {chance.choice(KEYS): chance.choice(ODD) for _ in range(chance.randrange(4))}
            return tool_start(call_id, name, arguments, parent_id=parent, timestamp=1.0)
        case 3 | 4:
            outcome = chance.choice(
                [None, "done", "background", "failed", "denied", "interrupted", "unreadable"]
            )
            text = str(chance.choice(ODD))
            return ToolEnd(
                call_id=call_id, name=name, result=text, success=chance.random() < 0.6, duration_s=0.2,
                summary=text[:90], outcome=outcome, aside=text[:3], parent_id=parent,
            )  # fmt: skip
        case 5:
            return ToolProgress(call_id=call_id, text=str(chance.choice(ODD)))
        case 6:
            return Permission(call_id=call_id, decision="deny", rule="r", by="rule")
    return LLMStart(iteration=2, model="m")


def test_random_call_events_are_rendered_and_leave_no_call_running() -> None:
    for seed in range(60 if os.environ.get("FORGE_FULL") else 12):
        chance = random.Random(seed)
        layout = layout_of(*(odd_event(chance) for _ in range(80)), turn_ended())
        for _ in range(3):
            for block in layout.blocks:
                rows = drawn(block, chance.choice((12, 40, 120)))
                assert not any(
                    ord(sign) < 0x20 or 0xD800 <= ord(sign) < 0xE000 for row in rows for sign in row
                )
                block.toggle(chance.randrange(len(rows)))
                block.fold_at(chance.randrange(len(rows)))
                passage, _ = chance.choice(list(block.passages()))
                block.reveal(passage)
                block.end_reveal(is_kept=chance.random() < 0.5)
        assert not any("●" in row[:12] for row in shown(layout) if "todo" not in row and "│ ●" not in row)


def test_a_line_truncated_in_a_folded_card_can_be_unfolded() -> None:
    line = "".join(f"word{n:03} " for n in range(40))
    (block,) = layout_of(tool_started("bash", command="x"), tool_ended("bash", line)).blocks
    assert "word039" not in "".join(drawn(block))
    assert block.fold_at(1)
    assert "word039" in "".join(drawn(block))
    assert block.fold_at(1) and len(drawn(block)) == 2
    assert len(drawn(block, 400)) == 2 and not block.fold_at(1), "nothing is cut where there is room"
