"""What stands out among cards: failures, then what runs; what is done is quiet."""

from __future__ import annotations

from typing import Any

import pytest
from rich.style import Style
from textual.color import Color

from forge_core.events import LLMStart
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.styles import TranscriptStyles
from tests.support.transcripts import layout_of, row_text, tool_ended, tool_started, turn_ended

COLOURS = {"error": "#ff0000", "warning": "#ffaa00", "success": "#00ff00", "foreground": "#ffffff"}
RED = TranscriptStyles.from_theme(COLOURS, Color.parse("#101010"))


def failed() -> list[Any]:
    return [
        tool_started("bash", command="false"),
        tool_ended("bash", "Error: exit code 1", success=False, summary="exit 1"),
    ]


def words_in(layout: Layout) -> list[tuple[str, Style]]:
    """The words of the first row, each with its style."""
    segments = layout.blocks[0].render(60, RED).rows[0].segments
    return [(segment.text.strip(), segment.style or Style()) for segment in segments if segment.text.strip()]


def test_a_failure_keeps_its_red_sign_and_is_muted_once_the_turn_continues() -> None:
    fresh = words_in(layout_of(*failed()))
    muted = words_in(layout_of(*failed(), LLMStart(iteration=2, model="m")))
    assert (
        [text for text, _ in fresh] == [text for text, _ in muted] == ["✗", "Run", "false", "exit 1", "0.4 s"]
    )
    assert [style.color == RED.error.color for _, style in fresh] == [True, False, False, True, False]
    assert [style.color == RED.error.color for _, style in muted] == [True, False, False, False, False]
    assert {style.color for _, style in muted[1:]} == {RED.muted.color}


def test_a_call_that_is_done_is_quieter_than_one_that_runs_or_has_failed() -> None:
    start = tool_started("bash", command="true")
    running, done = words_in(layout_of(start)), words_in(layout_of(start, tool_ended("bash", "ok")))
    assert [(text, style.bold) for text, style in running] == [("●", None), ("Run", True), ("true", None)]
    assert running[0][1].color == RED.warning.color
    assert [text for text, _ in done[:2]] == ["✓", "Run"]
    assert done[0][1].color == RED.success.color
    assert done[1][1] == RED.muted


def test_a_plan_that_was_not_approved_has_no_sign_of_success() -> None:
    start = tool_started("exit_plan_mode")
    end = tool_ended("exit_plan_mode", "…", outcome="declined", summary="not approved yet")
    words = words_in(layout_of(start, end))
    assert words[0][0] == "⊘" and words[0][1].color != RED.success.color
    assert "not approved yet" in [text for text, _ in words]


@pytest.mark.parametrize(("reason", "is_red"), [("loop", True), ("denied", True), ("complete", False)])
def test_the_words_of_a_failure_are_red_at_the_end_only_if_it_ended_the_turn(
    reason: str, is_red: bool
) -> None:
    layout = layout_of(*failed(), turn_ended(reason))  # type: ignore[arg-type]
    assert [style.color == RED.error.color for text, style in words_in(layout) if text == "exit 1"] == [
        is_red
    ]


def body_of_failure(output: str) -> list[tuple[str, bool]]:
    """The rows below the header of a failed command, and whether each is as bright as text."""
    start = tool_started("bash", command="make")
    layout = layout_of(start, tool_ended("bash", f"Error: {output}", success=False, summary="exit 2"))
    rows = layout.blocks[0].render(60, RED).rows[1:]
    bright = RED.text.color
    return [
        (text.removeprefix(" │ "), any(part.style and part.style.color == bright for part in row.segments))
        for row in rows
        if (text := row_text(row).rstrip())
    ]


def test_the_first_error_line_of_a_failure_is_bright() -> None:
    rows = body_of_failure("cc a.c\na.c:3: error: no such thing\na.c:4: error: nor that\nmake: *** stop")
    assert rows == [
        ("cc a.c", False),
        ("a.c:3: error: no such thing", True),
        ("a.c:4: error: nor that", False),
        ("make: *** stop", False),
    ]


def test_the_first_error_line_stands_above_the_last_lines_of_a_long_output() -> None:
    noise = "".join(f"ok {n}\n" for n in range(20))
    rows = body_of_failure(f"{noise}E   assert 1 == 2\n{noise}end")
    assert rows[0] == ("E   assert 1 == 2", True)
    assert rows[1][0].startswith("… 37 more lines")
    assert [text for text, _ in rows[2:]] == ["ok 17", "ok 18", "ok 19", "end"]
    assert not any(is_bright for _, is_bright in rows[1:])


def test_a_command_that_succeeds_has_no_error_line() -> None:
    start = tool_started("bash", command="make")
    layout = layout_of(start, tool_ended("bash", "error: found none, as it should be", summary="exit 0"))
    rows = layout.blocks[0].render(60, RED).rows[1:]
    assert not any(part.style and part.style.color == RED.text.color for row in rows for part in row.segments)
