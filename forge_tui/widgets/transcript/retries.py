"""Repeated model calls: the discarded part of an answer, shown dimmed, and the notice about the retries."""

from __future__ import annotations

import math

from forge_core.events import LLMChunk, LLMStart, Retry
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block, Level, NoticeBlock, UserBlock
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerBlock, AnswerText
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from forge_tui.widgets.transcript.calls.tool_group import ToolGroup


class DiscardedAnswer:
    """The text of a model call that broke off: dimmed, then removed when the next attempt begins to
    answer."""

    def __init__(self, layout: Layout, answers: list[AnswerText]) -> None:
        self._layout = layout
        self._answers = answers
        self._is_repeated = False
        """Whether the next call is another attempt at the same step."""
        self._current: list[AnswerText | ReasoningBlock] = []
        self._void: list[AnswerText | ReasoningBlock] = []

    def call_started(self) -> None:
        """Begin a model call: the same one again after `discard`, otherwise another one."""
        if not self._is_repeated:
            self.remove()
        self._is_repeated = False
        self._current = []

    def add(self, part: AnswerText | ReasoningBlock) -> None:
        """Add a part that the current call has begun."""
        self._current.append(part)

    def discard(self) -> None:
        """Dim the parts of the current call: the next call repeats it."""
        self._is_repeated = True
        for part in self._current:
            if isinstance(part, AnswerText):
                part.is_discarded = True
        self._void += self._current
        self._current = []

    def remove(self) -> None:
        """Remove the dimmed blocks."""
        if not self._void:
            return
        blocks = self._layout.blocks
        for index in range(len(blocks) - 1, -1, -1):
            if isinstance(blocks[index], UserBlock | ToolCard | ToolGroup) or not self._void:
                break  # the blocks of a step come after what began it
            if any(_shows(blocks[index], part) for part in self._void):
                self._layout.replace(index, [])
        self._answers[:] = [text for text in self._answers if not any(text is part for part in self._void)]
        self._void = []

    def forget(self) -> None:
        """Forget the parts: another turn begins, or this one cannot be resumed; dimmed blocks stay dimmed."""
        self._is_repeated = False
        self._current, self._void = [], []


def _shows(block: Block, part: AnswerText | ReasoningBlock) -> bool:
    return block is part or (isinstance(block, AnswerBlock) and block.answer is part)


class RetryStatus:
    """The notice about a request's retries, updated from its first failure until its result is known."""

    def __init__(self, event: Retry) -> None:
        self.block = NoticeBlock("", "warning")
        self._event = event
        self._text = ""
        self._is_answer_repeated = False
        """Whether one of the retries was for an answer that broke off."""
        self._is_under_way = False
        """Whether such an answer is being repeated; it may break off once more."""
        self.retry(event)

    def retry(self, event: Retry) -> None:
        """Show that the request has failed, for the first time or again."""
        self._event = event
        self._is_answer_repeated = self._is_answer_repeated or event.discards_answer
        self._is_under_way = False
        self.tick(event.timestamp)

    def tick(self, now: float) -> bool:
        """Update the remaining wait; return whether the text changed."""
        event = self._event
        if self._is_under_way:
            return self._set_text(f"Retry {event.attempt} of {event.max_retries}.", "warning")
        left_s = event.timestamp + event.wait_s - now
        when = f"in {math.ceil(left_s)} s" if left_s > 0.5 else "now"
        return self._set_text(
            f"Trying again {when}, retry {event.attempt} of {event.max_retries}.", "warning"
        )

    def is_repeating(self, event: LLMStart | LLMChunk) -> bool:
        """Return whether `event` belongs to a repeated answer: whether the retry succeeded
        is known only at its end."""
        if isinstance(event, LLMChunk) and self._is_under_way:
            return True
        is_start = isinstance(event, LLMStart)
        self._is_under_way = (
            self._event.discards_answer and not self._is_under_way if is_start else self._is_answer_repeated
        )
        self.tick(event.timestamp)
        return self._is_under_way

    def succeeded(self) -> None:
        self._set_text(f"Retry {self._event.attempt} succeeded.", "info")

    def failed(self, error: str) -> None:
        """Show that the turn has failed; `error` says why, and is shown below."""
        count = self._event.attempt
        reason = "" if error.startswith(self._event.reason) else self._event.reason
        self._set_text(f"{count} {'retry' if count == 1 else 'retries'} failed.", "warning", reason)

    def stopped(self) -> None:
        """Show that the turn ended before the result was known."""
        self._set_text(f"Stopped at retry {self._event.attempt} of {self._event.max_retries}.", "info")

    def _set_text(self, text: str, level: Level, reason: str | None = None) -> bool:
        before = self._text
        self._text = f"{self._event.reason if reason is None else reason} {text}".strip()
        if self._text != before:
            self.block.set_text(self._text, level)
        return self._text != before
