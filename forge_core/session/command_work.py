"""Work of commands that takes time: it runs like a turn, and may ask the model and the user."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from functools import partial
from typing import TypeAlias

from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, AgentEvent, LLMEnd, Notice
from forge_core.langchain.agent.event_queue import EventQueue, EventSink
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, StoppedReason
from forge_core.session.session_parts import SessionParts
from forge_core.session.side_model import SideModel
from forge_core.session.turn_recorder import crash_events

Job: TypeAlias = Callable[[EventSink], Awaitable[None]]
ReadTurn: TypeAlias = Callable[
    [Callable[[EventQueue], Coroutine[None, None, None]]], AsyncGenerator[AgentEvent, None]
]


class CommandWork:
    """Runs one piece of work at a time, between turns. No message is sent, and nothing is remembered of it
    but what the work itself reports."""

    def __init__(
        self,
        parts: SessionParts,
        model: Callable[[], str],
        on_cut: Callable[[LLMEnd], None],
        read_turn: ReadTurn,
        stop: asyncio.Event,
    ) -> None:
        """`model` and `on_cut` are those of `SideModel`. `read_turn` runs a turn of the session and yields
        its events; `stop` is set when the user interrupts it."""
        self.model = SideModel(parts, model, on_cut)
        self.ask = parts.environment.responder
        """Passes requests to the user."""
        self.kept: tuple[object, str] = (None, "")
        """A text that came to nothing, after what it was for: the next work for the same offers it."""
        self._read_turn = read_turn
        self._stop = stop

    def run(self, job: Job) -> AsyncGenerator[AgentEvent, None]:
        """Run a job and yield the events that it emits, like `ForgeSession.send`. An interrupt cancels it; a
        ForgeError is reported as a notice.

        Raises:
            ForgeError: a turn is running already.
        """
        return self._read_turn(partial(self._run, job))

    async def _run(self, job: Job, queue: EventQueue) -> None:
        started = time.monotonic()
        work, stop = asyncio.ensure_future(job(queue)), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            stop.cancel()
            await asyncio.wait([work, stop])
        stopped: StoppedReason = "cancelled" if work.cancelled() else "complete"
        if not work.cancelled() and (error := work.exception()) is not None:
            if not isinstance(error, ForgeError):  # a bug ends the work, not the session
                for event in crash_events(error if isinstance(error, Exception) else Exception(repr(error))):
                    queue.emit(event)
                return
            queue.emit(Notice(level="error", text=str(error)))
            stopped = "error"
        duration = time.monotonic() - started
        result = AgentResult("", [], [], TokenUsage(), 0, duration=duration, stopped_reason=stopped)
        queue.emit(AgentEnd(result=result))
