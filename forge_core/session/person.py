"""The person as the core reaches them: asked through what the screen gave, off the run's clock, or away."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from forge_core.approval import (
    Answer,
    ApprovalReply,
    ApprovalRequest,
    Approver,
    Questioner,
    QuestionReply,
    QuestionRequest,
)


class Clock(Protocol):
    """What a run's time is counted with."""

    def paused(self) -> AbstractContextManager[None]: ...


class HasClock(Protocol):
    """An agent; `clock` is None between runs."""

    @property
    def clock(self) -> Clock | None: ...


class Person:
    """Approver and Questioner of a session. While `is_away` nobody is asked: a permission is refused as
    unattended, a question is declined."""

    def __init__(self, approver: Approver, questioner: Questioner | None = None) -> None:
        self.is_away = False
        self.agent: HasClock | None = None
        """Its clock stands while the person thinks: that never counts against a timeout."""
        self._approver = approver
        self._questioner = questioner

    @property
    def questioner(self) -> Questioner | None:
        """Where questions go; None when there is nobody to answer them."""
        return None if self._questioner is None or self.is_away else self.ask

    async def approve(self, request: ApprovalRequest) -> ApprovalReply:
        if self.is_away:
            return ApprovalReply(Answer.NO, "the user is away", is_unattended=True)
        with self._off_the_clock():
            return await self._approver(request)

    async def ask(self, request: QuestionRequest) -> QuestionReply:
        if self._questioner is None or self.is_away:
            return QuestionReply(declined=True, reason="nobody is there to answer")
        with self._off_the_clock():
            return await self._questioner(request)

    def _off_the_clock(self) -> AbstractContextManager[None]:
        clock = self.agent.clock if self.agent is not None else None
        return clock.paused() if clock is not None else nullcontext()
