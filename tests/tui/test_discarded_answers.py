"""An answer that breaks off: dimmed, replaced by the next attempt's, and the turn resumed from there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from forge_core.events import AgentEnd, AgentEvent, Error, LLMChunk, LLMStart, Retry
from forge_core.session.replay import ReplayedTurn, replayed_turns
from forge_core.store.saved_session import session_of
from forge_core.workspace.record_file import Record
from forge_tui.submitted_line import UserText
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import UserBlock
from forge_tui.widgets.transcript.transcript_builder import RESUMABLE, TranscriptBuilder
from tests.support.chat_app import ChatApp, say, shown, until
from tests.support.scripted_session import Step, answer, end_of_call, end_of_turn
from tests.support.transcripts import STYLES, call_ended, tool_started, turn_ended
from tests.support.transcripts import shown as rows_of
from tests.tui.conftest import OpenChat

REASON = "The connection broke in mid-answer."


def start(iteration: int = 1) -> LLMStart:
    return LLMStart(iteration=iteration, model="m")


def retry(attempt: int = 1, *, discards: bool = True) -> Retry:
    made = Retry.of(REASON, attempt=attempt, max_retries=2, wait_s=4.0, discards_answer=discards)
    return replace(made, timestamp=100.0)


def said(text: str, kind: str = "answer") -> LLMChunk:
    return LLMChunk(text=text, kind=kind, timestamp=100.0)  # type: ignore[arg-type]


def kept(end: AgentEnd) -> AgentEnd:
    return replace(end, result=replace(end.result, is_resumable=True))


FAILED: tuple[AgentEvent, ...] = (
    Error(error=f"{REASON} Try again.", kind="E", recoverable=True),
    kept(turn_ended("error")),
)


class Shown:
    """A conversation drawn without a screen."""

    def __init__(self, *events: AgentEvent) -> None:
        self.layout = Layout()
        self.layout.configure(100, 20, STYLES)
        self.conversation = TranscriptBuilder(self.layout)
        self.apply(*events)

    def apply(self, *events: AgentEvent) -> Shown:
        for event in events:
            self.conversation.apply(event)
            self.conversation.flush()
        return self

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in rows_of(self.layout, 100) if line.strip()]

    def is_dim(self, text: str) -> bool:
        """Whether the row with `text` is drawn in the muted colour alone."""
        for block in self.layout.blocks:
            for row in block.render(100, STYLES).rows:
                if text in "".join(segment.text for segment in row.segments):
                    return {s.style for s in row.segments if s.text.strip()} == {STYLES.muted}
        raise AssertionError(f"{text!r} does not show")


def test_partial_text_is_dimmed_and_then_replaced() -> None:
    chat = Shown(start(), said("## The first\n\nhalf of `it`"))
    assert not chat.is_dim("half of")
    chat.apply(call_ended(), retry())
    assert chat.is_dim("The first") and chat.is_dim("half of")
    chat.apply(start())
    assert chat.is_dim("half of")
    chat.apply(said("The whole answer."))
    assert chat.lines == [f"! {REASON} Retry 1 of 2.", "The whole answer."]
    assert not chat.is_dim("whole")
    assert [text.source for text in chat.conversation.answers] == ["The whole answer."]


def test_reasoning_of_a_failed_attempt_is_removed_too() -> None:
    chat = Shown(start(), said("hm", "reasoning"), said("ha"), call_ended(), retry(), start())
    chat.apply(said("hm hm", "reasoning"), said("Whole."), call_ended(), turn_ended())
    assert [line.partition(" (")[0] for line in chat.lines] == [
        f"· {REASON} Retry 1 succeeded.",
        "▸ Thought briefly",
        "Whole.",
    ]


def test_the_retry_line_stays_until_the_answer_is_complete() -> None:
    chat = Shown(start(), said("a"), call_ended(), retry(1))
    assert chat.lines[-1] == f"! {REASON} Trying again in 4 s, retry 1 of 2."
    chat.apply(start(), said("b"), call_ended(), retry(2))
    assert chat.lines == [f"! {REASON} Trying again in 4 s, retry 2 of 2.", "b"]
    chat.apply(start(), said("c", "tool_args"), call_ended(), tool_started("ls"))
    assert chat.lines[0] == f"· {REASON} Retry 2 succeeded."
    assert "b" not in chat.lines


def test_a_failure_before_the_first_token_updates_the_same_retry_line() -> None:
    chat = Shown(start(), said("a"), call_ended(), retry(1), start(), retry(2, discards=False))
    assert chat.lines == ["a", f"! {REASON} Trying again in 4 s, retry 2 of 2."]
    assert chat.is_dim("a")
    chat.apply(said("b"))
    assert chat.lines == [f"! {REASON} Retry 2 of 2.", "b"]
    chat.apply(call_ended(), start(2))
    assert chat.lines == [f"· {REASON} Retry 2 succeeded.", "b"]


def test_text_of_earlier_steps_is_never_touched() -> None:
    chat = Shown(
        start(1), said("I look."), call_ended(), tool_started("ls"), start(2), said("a"), call_ended()
    )
    chat.apply(retry(), start(2), said("Done."), call_ended(), turn_ended())
    assert chat.lines[0] == "I look."
    assert chat.lines[-1] == "Done."
    assert not chat.is_dim("I look.")


def test_when_all_retries_fail_the_last_text_stays_and_a_hint_says_how_to_resume() -> None:
    chat = Shown(start(), said("a"), call_ended(), retry(2), start(), said("b"), call_ended(), *FAILED)
    assert chat.lines == ["! 2 retries failed.", "b", f"✗ {REASON} Try again.", f"· {RESUMABLE}"]


def test_a_resumed_turn_replaces_the_text_that_it_repeats() -> None:
    chat = Shown(start(3), said("half"), call_ended(), *FAILED)
    chat.conversation.resume_turn()
    assert chat.is_dim("half")
    chat.apply(start(3), said("whole"), call_ended(), turn_ended())
    assert "half" not in chat.lines
    assert "whole" in chat.lines


def test_partial_text_of_a_failed_turn_stays_after_the_next_message() -> None:
    chat = Shown(start(1), said("half"), call_ended(), *FAILED)
    chat.conversation.begin_turn()
    chat.apply(start(1), said("other"), call_ended(), turn_ended())
    assert "half" in chat.lines
    assert not chat.is_dim("half")


RUNS: list[list[AgentEvent]] = [
    [start(3), said("half"), call_ended(), *FAILED],
    [start(3), said("another half"), call_ended(), *FAILED],
    [start(3), said("whole"), call_ended(), turn_ended()],
]


def replayed(runs: list[list[AgentEvent]]) -> list[ReplayedTurn]:
    """The turns of a journal with one turn that was resumed until its last run."""
    records: list[Record] = [{"type": "user", "timestamp": 1.0, "data": {"text": "go"}}]
    for number, run in enumerate(runs):
        records += [{"type": "retry", "timestamp": 1.0, "data": {}}] if number else []
        records += [event.as_record() for event in run]
    return replayed_turns(session_of(Path("x"), records))


async def test_a_resumed_turn_of_a_continued_session_shows_as_it_did() -> None:
    live = Shown()
    live.conversation.add(UserBlock("go"))
    for number, run in enumerate(RUNS):
        if number:
            live.conversation.resume_turn()
        live.apply(*run)
    continued = Shown()
    await continued.conversation.prepend_turns(replayed(RUNS))
    assert continued.lines == live.lines
    assert not any("half" in line for line in live.lines)
    assert [text.source for text in continued.conversation.answers] == ["whole"]


async def test_the_failed_turn_at_the_end_of_a_continued_session_offers_no_retry() -> None:
    continued = Shown()
    await continued.conversation.prepend_turns(replayed(RUNS[:2]))
    assert "another half" in continued.lines and "half" not in continued.lines
    assert continued.lines.count(f"· {RESUMABLE}") == 1  # of the run that was resumed


# In the app

KEPT: list[Step] = [
    start(),
    LLMChunk(text="Half an answer"),
    end_of_call(),
    Error(error=REASON, kind="E", recoverable=True),
    kept(end_of_turn("error", REASON)),
]


async def break_off(app: ChatApp, pilot: Pilot[None]) -> None:
    """Send the message whose turn fails and is kept."""
    await say(pilot, "go")
    await until(pilot, lambda: RESUMABLE in shown(app))


async def test_enter_on_an_empty_composer_resumes_a_failed_turn(chat: OpenChat) -> None:
    async with chat(KEPT, answer("The whole answer.")) as (app, pilot):
        await break_off(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "The whole answer." in shown(app))
        assert "Half an answer" not in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert (app.scripted.sent, app.scripted.retries) == (["go"], 1)


async def test_the_retry_command_resumes_a_turn_or_reports_that_there_is_none(chat: OpenChat) -> None:
    async with chat(KEPT, answer("The whole answer.")) as (app, pilot):
        await say(pilot, "/retry")
        await until(pilot, lambda: "There is nothing to retry" in shown(app))
        await break_off(app, pilot)
        await say(pilot, "/retry")
        await until(pilot, lambda: "The whole answer." in shown(app))
        assert (app.scripted.sent, app.scripted.retries) == (["go"], 1)


async def test_queued_messages_are_sent_before_a_failed_turn_is_resumed(chat: OpenChat) -> None:
    async with chat(KEPT, answer("To the queued one.")) as (app, pilot):
        await break_off(app, pilot)
        app.screen.sending.queue.add(UserText("next"))  # type: ignore[attr-defined]
        app.screen.sending.queue.pause()  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: "To the queued one." in shown(app))
        assert (app.scripted.sent, app.scripted.retries) == (["go", "next"], 0)
