"""Turns the stream of events into blocks. Decides what is shown, independently of rows and screens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forge_core.config.settings import ThinkingSetting
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Compaction,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    Retry,
    Steered,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.result import STOP_NOTICES
from forge_core.sanitize import safe_text
from forge_tui.pastes.folded_text import with_folded, with_labels
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block, CommandBlock, Level, NoticeBlock, UserBlock
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerText
from forge_tui.widgets.transcript.answer.answer_builder import AnswerBuilder
from forge_tui.widgets.transcript.calls.call_tracker import CallTracker
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.shell_card import ShellCards
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from forge_tui.widgets.transcript.calls.tool_group import ToolGroup
from forge_tui.widgets.transcript.retries import DiscardedAnswer, RetryStatus
from forge_tui.widgets.transcript.turn_summary import TurnEndBlock, TurnSummary

if TYPE_CHECKING:
    from forge_core.session.replay import ReplayedTurn

_SLICE_S = 0.008
"""How long earlier turns are built before the event loop gets a turn."""
STEERED = "sent while it worked"
RESUMABLE = "The turn is kept at this step. Press Enter or type /retry to go on from there."


class TranscriptBuilder:
    """Applies events to the blocks of a layout."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.answers: list[AnswerText] = []
        """The model's answers, one per stretch of text, the oldest first."""
        self._answer: AnswerBuilder | None = None
        self._open: Block | None = None
        """The answer's open block, if it is in the layout."""
        self._reasoning: ReasoningBlock | None = None
        self._retry: RetryStatus | None = None
        """Of a request whose result is not known yet."""
        self.thinking: ThinkingSetting = "folded"
        self.calls = CallTracker(layout, self.add)
        self.shell_cards = ShellCards(self.calls, self.add)
        self._discarded = DiscardedAnswer(layout, self.answers)
        self._summary = TurnSummary()

    @property
    def has_clock(self) -> bool:
        """Whether something in it shows elapsed or remaining time."""
        return self._retry is not None or bool(self.calls.running) or self.shell_cards.is_any_running

    @property
    def is_answering(self) -> bool:
        """Whether an answer is being received."""
        return self._answer is not None

    def apply(self, event: AgentEvent) -> None:
        """Apply one event. Text of an answer reaches the blocks only with `flush()`."""
        if self.shell_cards.apply(event):
            return
        if event.parent_id is not None:
            self._summary.apply(event)
            self.calls.follow_agent(event)
            return
        if self._retry is not None:
            self._follow_retry(self._retry, event)
        self._summary.apply(event)
        match event:
            case LLMStart():
                self.calls.settle_failures("recovered")
                self._discarded.call_started()
            case LLMChunk(kind="answer", text=text) if text:
                self._finish_reasoning(event.timestamp)
                if self._answer is None:
                    self._discarded.remove()
                    self._answer = AnswerBuilder()
                    self.answers.append(self._answer.text)
                    self._discarded.add(self._answer.text)
                self._answer.feed(text)
            case LLMChunk(kind="reasoning", text=text) if text:
                self._reason(text, event.timestamp)
            case LLMEnd():
                self.finish_text(event.timestamp)
            case ToolStart():
                self.finish_text(event.timestamp)
                self._discarded.remove()
                self.calls.start(event)
            case ToolProgress():
                self.calls.progress(event)
            case ToolEnd():
                self.calls.end(event)
                if event.document:
                    self.add_markdown(event.document, is_answer=True)
            case Permission(decision="deny"):
                self.calls.denied(event)
            case Retry():
                if event.discards_answer:
                    self.finish_text(event.timestamp)
                    self._discarded.discard()
                if self._retry is None:
                    self._retry = RetryStatus(event)
                    self.add(self._retry.block)
            case Notice():
                self.add(NoticeBlock(event.text, event.level))
            case Steered():
                self.add_steered(event)
            case Compaction():
                self.add(NoticeBlock(event.text, "info"))
            case Error():
                self.finish_text(event.timestamp)
                self.add(NoticeBlock(event.error, "error", is_final=True))
            case AgentEnd():
                self._end(event)
            case _:
                pass

    def add(self, block: Block) -> None:
        """Append a block. Calls that follow one another have no gap between them, nor has a command and what
        it prints."""
        previous = self._layout.blocks[-1] if self._layout.blocks else None
        if isinstance(block, ToolCard | ToolGroup) and isinstance(previous, ToolCard | ToolGroup):
            block.gap = 0
        else:
            block.gap = int(previous is not None and not isinstance(previous, CommandBlock))
        self._layout.append(block)

    def add_steered(self, event: Steered, folded: str = "") -> None:
        """Append a message that has entered the running turn, with labels for its pastes as in `folded`."""
        self.finish_text(event.timestamp)
        self.add(UserBlock(event.text, folded, self.calls.folding, mark=STEERED))

    def add_markdown(self, text: str, *, is_answer: bool = False) -> None:
        """Append complete Markdown; `is_answer`: it is one of `answers`."""
        answer = AnswerBuilder()
        if is_answer:
            self.answers.append(answer.text)
        answer.feed(text)
        self._append(answer.take(is_final=True)[0])

    def flush(self) -> None:
        """Move the received text of the answer into blocks."""
        if self._answer is not None:
            self._place(*self._answer.take())

    def finish_text(self, now: float) -> None:
        """End the answer and the reasoning: the model call is over."""
        self._finish_reasoning(now)
        if self._answer is not None:
            self._place(*self._answer.take(is_final=True))
            self._answer = self._open = None

    def tick(self, now: float) -> bool:
        """Update the times of the running cards; return whether any text changed."""
        has_moved = self._retry is not None and self._retry.tick(now)
        return self.calls.tick(now) | self.shell_cards.tick(now) | has_moved

    def show_thinking(self, thinking: ThinkingSetting) -> None:
        """Set how reasoning is shown, past and future."""
        self.thinking = thinking
        for block in self._layout.blocks:
            if isinstance(block, ReasoningBlock | ToolGroup):
                block.show_as(thinking)

    def begin_turn(self) -> None:
        """Begin a turn: it repeats no earlier model call."""
        self._discarded.forget()
        self._summary = TurnSummary()

    def resume_turn(self) -> None:
        """Resume a failed turn, which repeats its failed model call."""
        self._discarded.discard()

    async def prepend_turns(self, turns: Sequence[ReplayedTurn]) -> int:
        """Put turns before all blocks, unless the conversation is cleared meanwhile; return the number of
        blocks. They are built in slices: keys are handled meanwhile."""
        layout, folding = Layout(), self.calls.folding
        earlier = TranscriptBuilder(layout)
        earlier.thinking, earlier.calls.folding = self.thinking, folding
        started = time.monotonic()
        for turn in turns:
            earlier.begin_turn()
            labelled = with_labels(with_folded(turn.text, turn.folded)) if turn.folded else ""
            earlier.add(UserBlock(turn.text, labelled, everyone=folding))
            for number, events in enumerate(turn.runs):
                if number:
                    earlier.resume_turn()
                for event in events:
                    earlier.apply(event)
                    if time.monotonic() - started > _SLICE_S:
                        await asyncio.sleep(0)
                        started = time.monotonic()
        if self.calls.folding is not folding:  # cleared: these turns belong to what has been left
            return 0
        if earlier.thinking != self.thinking:
            earlier.show_thinking(self.thinking)
        self._layout.prepend(layout.blocks)
        self.answers[:0] = earlier.answers
        return len(layout.blocks)

    def clear(self) -> None:
        self._answer = self._open = self._reasoning = self._retry = None
        self._discarded.forget()
        self.answers.clear()
        self.calls.clear()
        self.shell_cards.clear()

    def _follow_retry(self, line: RetryStatus, event: AgentEvent) -> None:
        """Update the notice about retries."""
        match event:
            case Retry():
                line.retry(event)
                return
            case LLMStart() | LLMChunk() if line.is_repeating(event):
                return
            case LLMChunk() | LLMStart() | ToolStart(parent_id=None):
                line.succeeded()
            case Error():
                line.failed(event.error)
            case AgentEnd():
                if event.result.stopped_reason == "complete":
                    line.succeeded()
                else:
                    line.stopped()
            case _:
                return
        self._retry = None

    def _place(self, finished: Sequence[Block], still_open: Block | None) -> None:
        blocks: list[Block] = [*finished, *([] if still_open is None else [still_open])]
        if self._open is None:
            self._append(blocks)
        elif blocks != [self._open]:
            if self._layout.blocks[0] is self._open and blocks:
                blocks[0].gap = 0
            present = self._layout.blocks
            index = next(at for at in range(len(present) - 1, -1, -1) if present[at] is self._open)
            self._layout.replace(index, blocks)
        self._open = still_open

    def _append(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if not self._layout.blocks:
                block.gap = 0
            self._layout.append(block)

    def _reason(self, text: str, now: float) -> None:
        if self._reasoning is None:
            self.finish_text(now)
            self._discarded.remove()
            self._reasoning = ReasoningBlock(now, self.thinking, self.calls.folding)
            self._discarded.add(self._reasoning)
            self.add(self._reasoning)
        self._reasoning.feed(safe_text(text, keep_invisible=True))

    def _finish_reasoning(self, now: float) -> None:
        if self._reasoning is not None:
            self._reasoning.finish(now)
            self._reasoning = None

    def _end(self, event: AgentEnd) -> None:
        self.finish_text(event.timestamp)
        self.calls.turn_ended(event)
        result = event.result
        if result.stopped_reason == "complete":
            self._discarded.remove()
        if not result.is_resumable:
            self._discarded.forget()
        if result.stopped_reason == "cancelled":
            self.add(NoticeBlock("interrupted", "info"))
        elif text := result.warning or STOP_NOTICES.get(result.stopped_reason, ""):
            level: Level = "info" if result.stopped_reason == "complete" else "warning"
            self.add(NoticeBlock(text, level))
        if line := self._summary.line(event):
            is_failure = result.stopped_reason == "error" or self._summary.has_failed_tests
            self.add(TurnEndBlock(line, is_failure=is_failure))
        self._summary = TurnSummary()
        if result.is_resumable:
            self.add(NoticeBlock(RESUMABLE, "info"))
