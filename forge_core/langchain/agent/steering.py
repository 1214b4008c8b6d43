"""Messages for a run in progress: it takes them at its next model call, after the results of its tools."""

from __future__ import annotations

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
    is_delivered: bool = False
    """Whether it is in the history."""


class Steering:
    """The messages that wait, the oldest first. A run that ends first leaves them: see `withdraw`."""

    def __init__(self) -> None:
        self.prepare: Callable[[str], Coroutine[Any, Any, UserContent]] | None = None
        """Returns a message as the model reads it, with what it mentions; an interrupt cancels it."""
        self._waiting: list[SteeringMessage] = []

    def add(self, text: str) -> SteeringMessage:
        """Add a message for the next model call. Nobody sends it if there is none: the caller must."""
        message = SteeringMessage(text)
        self._waiting.append(message)
        return message

    def withdraw(self, message: SteeringMessage) -> bool:
        """Take a message back; return False if it was delivered before."""
        if message in self._waiting:
            self._waiting.remove(message)
        return not message.is_delivered

    def clear(self) -> None:
        """Take back what waits."""
        self._waiting.clear()

    async def deliver(self, record: RunRecord, events: EventSink, stop: StopSignal) -> None:
        """Add what waits to a history in which every call has its result; an interrupt leaves the rest."""
        while self._waiting and stop.reason is None:
            message = self._waiting[0]
            text: UserContent = message.text
            if self.prepare is not None:
                prepared = await stop.result_of(self.prepare(message.text))
                if prepared is None:
                    return
                if message not in self._waiting:  # taken back meanwhile
                    continue
                text = prepared
            # No await from here on: the message is in the history and delivered, or neither.
            self._waiting.remove(message)
            message.is_delivered = True
            record.add(Message.user(text, within_turn=True, steered=True))
            events.emit(Steered(text=message.text))
