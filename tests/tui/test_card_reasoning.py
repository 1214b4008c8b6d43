"""Reasoning between reads and searches: taken into their group, where it can still be read and found."""

from __future__ import annotations

from typing import Any

import pytest

from forge_core.config.settings import ThinkingSetting
from forge_core.events import LLMChunk
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import TextBlock
from forge_tui.widgets.blockview.rows import Row
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from forge_tui.widgets.transcript.calls.tool_group import ToolGroup
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.tool_events import tool_start
from tests.support.transcripts import (
    STYLES,
    TranscriptApp,
    call_ended,
    drawn,
    row_text,
    said,
    tool_ended,
    tool_started,
)


def thought(text: str = "so it is the other file", seconds: float = 5.0) -> list[Any]:
    """A model call that reasons."""
    return [LLMChunk(text=text, kind="reasoning", timestamp=100.0), call_ended(timestamp=100.0 + seconds)]


def read(name: str) -> list[Any]:
    return [tool_started("read", name, path=name), tool_ended("read", f"text of {name}", call_id=name)]


def conversation_of(*events: Any, thinking: ThinkingSetting = "folded") -> tuple[TranscriptBuilder, Layout]:
    layout = Layout()
    layout.configure(100, 20, STYLES)
    conversation = TranscriptBuilder(layout)
    conversation.show_thinking(thinking)
    for event in events:
        conversation.apply(event)
        conversation.flush()
    return conversation, layout


def kinds(layout: Layout) -> list[type]:
    return [type(block) for block in layout.blocks]


def words(row: str) -> str:
    return " ".join(row.split())


def test_folded_reasoning_between_reads_is_shown_in_the_group_header() -> None:
    _, layout = conversation_of(
        *thought(), *read("a"), *thought(seconds=4), *read("b"), *thought(), *read("c")
    )
    assert kinds(layout) == [ReasoningBlock, ToolGroup]
    assert [words(row) for row in drawn(layout.blocks[1], 100)] == [
        "",
        "✓ Read 3 files a, b, c · thought 9.0 s 0.4 s",
    ]


def test_in_an_unfolded_group_reasoning_is_between_its_calls_and_unfolds() -> None:
    _, layout = conversation_of(*read("a"), *thought("first\nsecond"), *read("b"))
    (group,) = layout.blocks
    drawn(group)
    assert group.toggle(0)
    assert [words(row) for row in drawn(group)[1:]] == [
        "│ ✓ Read a 0.4 s",
        "│ ▸ Thought for 5.0 s (~3 tokens)",
        "│ ✓ Read b 0.4 s",
    ]
    assert group.toggle(2)
    assert drawn(group)[2:5] == [" │ ▾ Thought for 5.0 s (~3 tokens)", " │   first", " │   second"]
    assert not group.toggle(3), "what is unfolded is text, as it is outside of a group"
    assert group.fold_at(3), "the key folds it from there too"
    assert group.row_to_keep(3) == 2
    assert len(drawn(group)) == 4


def test_text_an_edit_or_an_unfolded_card_ends_a_group() -> None:
    for between in ([said("Now b.")], [tool_started("edit", "e", path="x"), tool_ended("edit", call_id="e")]):
        _, layout = conversation_of(*read("a"), *thought(), *between, *read("b"))
        assert ToolGroup not in kinds(layout)
    conversation, layout = conversation_of(*read("a"), *thought())
    assert layout.blocks[1].toggle(1)
    conversation.apply(tool_start("b", "read", {"path": "b"}))
    assert kinds(layout) == [ToolCard, ReasoningBlock, ToolCard]


def test_fully_shown_reasoning_stays_outside_and_ends_the_group() -> None:
    _, layout = conversation_of(*read("a"), *thought(), *read("b"), thinking="full")
    assert kinds(layout) == [ToolCard, ReasoningBlock, ToolCard]


def test_the_thinking_setting_applies_to_reasoning_inside_groups() -> None:
    conversation, layout = conversation_of(*read("a"), *thought("needle"), *read("b"), thinking="hidden")
    (group,) = layout.blocks
    assert "thought" not in drawn(group, 100)[0] and "needle" not in "".join(
        text for _, text in group.passages()
    )
    conversation.show_thinking("full")
    assert any("needle" in row for row in drawn(group, 100)), "in full it shows without a click"
    conversation.show_thinking("folded")
    assert [words(row) for row in drawn(group, 100)] == ["✓ Read 2 files a, b · thought 5.0 s 0.4 s"]
    assert group.toggle(0) and len(drawn(group)) == 4
    conversation.show_thinking("hidden")
    assert [words(row) for row in drawn(group)[1:]] == ["│ ✓ Read a 0.4 s", "│ ✓ Read b 0.4 s"]


def test_reasoning_is_found_and_shown_in_its_place() -> None:
    _, layout = conversation_of(*read("a"), *thought("the needle"), *read("b"))
    (group,) = layout.blocks
    passage = next(passage for passage, text in group.passages() if "the needle" in text)
    assert group.reveal(passage) and any("the needle" in row for row in drawn(group))
    group.end_reveal(is_kept=False)
    assert len(drawn(group)) == 1


def test_a_narrow_group_header_omits_the_reasoning_part() -> None:
    _, layout = conversation_of(*read("a"), *thought(), *read("b"))
    (row,) = drawn(layout.blocks[0], 38)
    assert "thought" not in row and "Read 2 files" in row


def frame_rows(layout: Layout) -> list[str]:
    return [row_text(row) for row in layout.frame().rows]


@pytest.mark.parametrize("above_end", range(1, 12))
def test_a_slightly_scrolled_up_view_does_not_move_while_a_group_grows(above_end: int) -> None:
    conversation, layout = conversation_of()
    conversation.add(TextBlock("\n".join(f"line {n}" for n in range(40))))
    for event in [*read("a"), *thought()]:
        conversation.apply(event)
    layout.frame()
    layout.scroll(-above_end)
    before = frame_rows(layout)
    assert not layout.follows_end
    for event in [*read("b"), *thought(), *read("c")]:
        conversation.apply(event)
        changed = [(old, new) for old, new in zip(before, frame_rows(layout), strict=True) if old != new]
        assert all("Read" in old and "Read" in new for old, new in changed), "only a header says more"


async def test_the_view_follows_the_end_while_reasoning_joins_a_group() -> None:
    async with (app := TranscriptApp()).run_test(size=(80, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(40)))
        for name in "abc":
            for event in [*thought(), *read(name)]:
                app.transcript.apply(event)
                while app.transcript._flush_handle is not None:
                    await pilot.pause(0.01)
                assert app.transcript.at_end and app.rows()[-1].strip(), "the last row is at the bottom"
        assert "Read 3 files" in app.rows()[-1]


def test_an_event_re_renders_only_the_call_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for n in range(60) for event in [*read(f"{n}.py"), *thought()]]
    conversation, layout = conversation_of(*events, tool_started("read", "last", path="last.py"))
    (group,) = layout.blocks
    drawn(group)
    assert group.toggle(0)
    before = group.render(100, STYLES)
    headers: list[object] = []
    original = ToolCard.draw_header
    monkeypatch.setattr(
        ToolCard, "draw_header", lambda card, *rest: headers.append(card) or original(card, *rest)
    )
    conversation.apply(tool_started("read", "x", path="x.py"))
    after = group.render(100, STYLES)
    assert len(headers) <= 1
    assert [row_text(row) for row in after.rows[1:101]] == [row_text(row) for row in before.rows[1:101]]
    assert all(
        isinstance(row, Row) and row is old
        for row, old in zip(after.rows[1:101], before.rows[1:101], strict=True)
    )
    assert group.fold_at(1), "a click still finds what it is over"
    lines = group.render(100, STYLES)
    assert all(
        row.line < len(lines.lines) and lines.lines[row.line] in row_text(row)
        for row in lines.rows[1:]
        if row.line >= 0
    )


def test_the_group_header_shows_all_counts_before_any_names() -> None:
    events = [*read("a.py"), tool_started("grep", "g", pattern="def x"), tool_ended("grep", "x", call_id="g")]
    _, layout = conversation_of(
        *events, tool_started("ls", "l", path="src"), tool_ended("ls", "x", call_id="l")
    )
    for width in (64, 70, 80):
        assert "Read 1 file, searched 1 pattern, listed 1 folder" in drawn(layout.blocks[0], width)[0]
