"""The one line of a request that is sent again: which retry, how long the wait, and how it ended."""

from __future__ import annotations

import math

from forge_core.events import LLMChunk, LLMStart, Retry
from forge_tui.widgets.blockview.blocks import Level, NoticeBlock


class RetryLine:
    """Updates a notice in its place, from a request's first failure until its end is known."""

    def __init__(self, event: Retry) -> None:
        self.block = NoticeBlock("", "warning")
        self._event = event
        self._text = ""
        self._is_answer_repeated = False
        """Whether one of the retries was for an answer that broke off."""
        self._is_under_way = False
        """Whether such an answer is coming again; it may break off once more."""
        self.retry(event)

    def retry(self, event: Retry) -> None:
        """It has failed, for the first time or once more."""
        self._event = event
        self._is_answer_repeated = self._is_answer_repeated or event.discards_answer
        self._is_under_way = False
        self.tick(event.timestamp)

    def tick(self, now: float) -> bool:
        """Moves the wait on; whether it shows."""
        event = self._event
        if self._is_under_way:
            return self._say(f"Retry {event.attempt} of {event.max_retries}.", "warning")
        left_s = event.timestamp + event.wait_s - now
        when = f"in {math.ceil(left_s)} s" if left_s > 0.5 else "now"
        return self._say(f"Trying again {when}, retry {event.attempt} of {event.max_retries}.", "warning")

    def is_repeating(self, event: LLMStart | LLMChunk) -> bool:
        """Whether `event` is of an answer that starts again: only its end tells how the retry went."""
        if isinstance(event, LLMChunk) and self._is_under_way:
            return True
        is_start = isinstance(event, LLMStart)
        self._is_under_way = (
            self._event.discards_answer and not self._is_under_way if is_start else self._is_answer_repeated
        )
        self.tick(event.timestamp)
        return self._is_under_way

    def went_through(self) -> None:
        self._say(f"Retry {self._event.attempt} went through.", "info")

    def failed(self, error: str) -> None:
        """The turn has failed by it; `error` says why, and is shown below."""
        count = self._event.attempt
        reason = "" if error.startswith(self._event.reason) else self._event.reason
        self._say(f"{count} {'retry' if count == 1 else 'retries'} failed.", "warning", reason)

    def stopped(self) -> None:
        """The turn was over before it was known."""
        self._say(f"Stopped at retry {self._event.attempt} of {self._event.max_retries}.", "info")

    def _say(self, text: str, level: Level, reason: str | None = None) -> bool:
        before = self._text
        self._text = f"{self._event.reason if reason is None else reason} {text}".strip()
        if self._text != before:
            self.block.say(self._text, level)
        return self._text != before
