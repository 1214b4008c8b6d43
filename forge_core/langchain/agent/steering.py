"""Messages for a run in progress: it takes them at its next model call, after the results of its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from forge_core.events import Steered
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.langchain.agent.run_control import StopSignal
from forge_core.langchain.agent.run_record import RunRecord
from forge_core.llm.models import Message, UserContent


@dataclass(eq=False, slots=True)
class SteeringMessage:
    """A message that waits for the next model call of a run."""

    text: str
    queued: str = ""
    """The line in the saved queue that it was."""
    is_delivered: bool = False
    """Whether it is in the history."""


class Steering:
    """The messages that wait, the oldest first. A run that ends first leaves them: see `withdraw`."""

    def __init__(self) -> None:
        self.prepare: Callable[[str], Coroutine[Any, Any, UserContent]] | None = None
        """Returns a message as the model reads it, with what it mentions; cancelled by an interrupt, and when
        the message is taken back."""
        self._waiting: list[SteeringMessage] = []
        self._preparing: tuple[SteeringMessage, asyncio.Task[Any]] | None = None

    def add(self, text: str, *, queued: str = "") -> SteeringMessage:
        """Add a message for the next model call. Nobody sends it if there is none: the caller must.

        `queued` is the line in the session's saved queue, which it leaves when it is delivered.
        """
        message = SteeringMessage(text, queued)
        self._waiting.append(message)
        return message

    def withdraw(self, message: SteeringMessage) -> bool:
        """Take a message back; return False if it was delivered before."""
        if message in self._waiting:
            self._waiting.remove(message)
        if self._preparing is not None and self._preparing[0] is message:
            self._preparing[1].cancel()
        return not message.is_delivered

    def clear(self) -> None:
        """Take back what waits."""
        self._waiting.clear()

    async def deliver(self, record: RunRecord, events: EventSink, stop: StopSignal) -> None:
        """Add what waits to a history in which every call has its result; an interrupt leaves the rest."""
        while self._waiting and stop.reason is None:
            message = self._waiting[0]
            await stop.result_of(self._deliver(message, record, events))
            if message in self._waiting:
                return

    async def _deliver(self, message: SteeringMessage, record: RunRecord, events: EventSink) -> None:
        text: UserContent = message.text
        if self.prepare is not None:
            task = asyncio.current_task()
            assert task is not None
            self._preparing = message, task
            try:
                text = await self.prepare(message.text)
            finally:
                self._preparing = None
        # No await from here on: the message is in the history and delivered, or neither.
        if message in self._waiting:  # not taken back meanwhile
            self._waiting.remove(message)
            message.is_delivered = True
            # In one record: a kill leaves the message in the history or in the queue, never in both.
            left = {"queued": message.queued} if message.queued else {}
            record.add(Message.user(text, within_turn=True, steered=True, **left))
            events.emit(Steered(text=message.text))
