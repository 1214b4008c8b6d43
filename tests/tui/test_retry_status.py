"""A request that is sent again: one line, whatever comes of it."""

from __future__ import annotations

import pytest

from forge_core.events import AgentEvent, Error, LLMChunk, LLMStart, Notice, Retry
from forge_core.result import StoppedReason
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.tool_events import tool_start
from tests.support.transcripts import (
    STYLES,
    call_ended,
    drawn,
    layout_of,
    shown,
    tool_ended,
    tool_started,
    turn_ended,
)

BUSY = "OpenRouter (503): Busy."
SLOW = "OpenRouter (429): Slow down."
START = LLMStart(iteration=1, model="m")


def retry(attempt: int, *, wait_s: float = 4.0, reason: str = BUSY, at: float = 100.0) -> Retry:
    text = f"{reason} Trying again in {wait_s:.0f} s."
    return Retry(
        level="warning", text=text, attempt=attempt, max_retries=3, wait_s=wait_s, reason=reason, timestamp=at
    )


def lines(*events: AgentEvent) -> list[str]:
    return [line.strip() for line in shown(layout_of(*events), 100) if line.strip()]


def test_retries_of_one_request_share_one_line() -> None:
    waiting = lines(START, retry(1), retry(2, wait_s=1), retry(3, wait_s=9, reason=SLOW))
    assert waiting == [f"! {SLOW} Trying again in 9 s, retry 3 of 3."]


def test_the_retry_wait_counts_down() -> None:
    layout = Layout()
    layout.configure(100, 20, STYLES)
    conversation = TranscriptBuilder(layout)
    assert not conversation.has_clock
    conversation.apply(retry(1, at=100.0))
    (block,) = layout.blocks
    told = []
    assert conversation.has_clock
    for now in (100.0, 100.2, 101.0, 103.4, 103.6, 110.0):
        moved = conversation.tick(now)
        told.append((moved, drawn(block, 100)[-1].partition("again ")[2]))
    assert told == [
        (False, "in 4 s, retry 1 of 3."),
        (False, "in 4 s, retry 1 of 3."),
        (True, "in 3 s, retry 1 of 3."),
        (True, "in 1 s, retry 1 of 3."),
        (True, "now, retry 1 of 3."),
        (False, "now, retry 1 of 3."),
    ]


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ([LLMChunk(text="Hello")], ["· " + BUSY + " Retry 2 succeeded.", "Hello"]),
        ([LLMChunk(text="{", kind="tool_args")], ["· " + BUSY + " Retry 2 succeeded."]),
        ([call_ended(), turn_ended()], ["· " + BUSY + " Retry 2 succeeded."]),
        (
            [
                call_ended(),
                Error(error=BUSY + " Try again.", kind="E", recoverable=True),
                turn_ended("error"),
            ],
            ["! 2 retries failed.", "✗ " + BUSY + " Try again."],
        ),
        (
            [Error(error=SLOW, kind="E", recoverable=True), turn_ended("error")],
            ["! " + BUSY + " 2 retries failed.", "✗ " + SLOW],
        ),
        (
            [call_ended(), turn_ended("cancelled")],
            ["· " + BUSY + " Stopped at retry 2 of 3.", "· interrupted"],
        ),
    ],
)
def test_the_retry_line_states_the_outcome(after: list[AgentEvent], told: list[str]) -> None:
    assert lines(START, retry(1), retry(2), *after) == told


def test_each_request_has_its_own_retry_line() -> None:
    told = lines(
        START,
        retry(1),
        LLMChunk(text="I look."),
        call_ended(),
        tool_started("bash", command="ls"),
        tool_ended("bash", "a"),
        START,
        retry(1, reason=SLOW),
        Notice(level="info", text="beside it"),
        retry(2, reason=SLOW),
        turn_ended("cancelled"),
        START,
        retry(1),
    )
    assert [line for line in told if "etry" in line] == [
        "· " + BUSY + " Retry 1 succeeded.",
        "· " + SLOW + " Stopped at retry 2 of 3.",
        "! " + BUSY + " Trying again in 4 s, retry 1 of 3.",
    ]


def test_a_nested_call_does_not_complete_the_retry_line() -> None:
    inner = tool_start("2", "grep", {}, parent_id="1")
    assert lines(tool_started("task"), retry(1), inner)[-1].endswith("retry 1 of 3.")


@pytest.mark.parametrize("stopped", ["timeout", "max_iterations"])
def test_a_turn_that_stops_for_another_reason_ends_the_retry_countdown(stopped: StoppedReason) -> None:
    conversation = TranscriptBuilder(Layout())
    for event in (START, retry(1), turn_ended(stopped)):
        conversation.apply(event)
    assert not conversation.has_clock
