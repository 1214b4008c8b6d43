"""Reads the turns of the session onto the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from forge_core.errors import ForgeError
from forge_tui import garbage_collection, workers
from forge_tui.pastes.folded_text import spans
from forge_tui.widgets.activity import Working

if TYPE_CHECKING:
    from forge_core.events import AgentEvent
    from forge_core.session.command_messages import TypedUse
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.live_figures import LiveFigures
    from forge_tui.screens.chat.screen import ChatScreen

_IDLE_S = 5.0
"""After the end of a turn."""


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What a command does as a turn of its own, without a message: Esc ends it."""

    start: Callable[[ForgeSession], AsyncGenerator[AgentEvent, None]]
    """Returns its events; the last is AGENT_END."""
    verb: str
    """What it does, for the activity line: "Compacting"."""


class TurnReader:
    """Reads one turn at a time. A turn runs from `begin` to the end of `read`."""

    def __init__(self, screen: ChatScreen, figures: LiveFigures, clock: Callable[[], float]) -> None:
        self._screen = screen
        self._figures = figures
        self._clock = clock
        self._folded: list[tuple[int, int]] = []
        """The folded parts of the turn's message."""
        self._command: TypedUse | None = None
        """What the turn's message is made by."""
        self._idle = asyncio.Event()
        self._idle.set()
        self.ended_at = float("-inf")
        """When the last turn ended, by the clock."""

    @property
    def is_running(self) -> bool:
        return not self._idle.is_set()

    def begin(self, typed: str = "", command: TypedUse | None = None) -> None:
        """Mark a turn as running before its worker has started, so that what is sent next is queued.

        `typed` is its message, with folded parts.
        """
        self._idle.clear()
        self._folded, self._command = spans(typed), command
        self._screen.activity.working = Working(self._clock())

    def start(self, text: str | TurnWork | None, typed: str = "", command: TypedUse | None = None) -> None:
        """Run a turn in a worker: see `begin` and `read`. A bug in it reaches the app through the worker's
        state."""
        self.begin(typed, command)
        workers.start(self._screen, partial(self._run, text), "turn", is_replacing=True)

    async def _run(self, text: str | TurnWork | None) -> None:
        screen = self._screen
        assert screen.session is not None
        stopped, started = "error", self._clock()
        try:
            stopped = await self.read(screen.session, text)
        except ForgeError as error:
            screen.complain(str(error))
        screen.attention.turn_ended(self._clock() - started, stopped)
        screen.sending.turn_ended(stopped)
        screen.refresh_status()
        screen.refresh_todos(is_over=True)
        screen.todos.end_turn()
        screen.sending.start_next()
        screen.set_timer(_IDLE_S, self._collect_garbage)

    def _collect_garbage(self) -> None:
        """Collect what the last turns have left, unless the user writes or another turn has begun."""
        if not self.is_running and self._screen.composer.is_blank:
            garbage_collection.collect_if_grown()

    async def read(self, session: ForgeSession, text: str | TurnWork | None) -> str:
        """Send `text` and hand on each event; return the reason why the turn stopped.

        Without a text, resume the turn that failed.

        Raises:
            ForgeError: the session refuses the turn.
        """
        return await self.follow(self._stream(session, text), is_resumed=text is None)

    async def follow(self, events: AsyncGenerator[AgentEvent, None], *, is_resumed: bool) -> str:
        """Hand on the events of a turn; return the reason why it stopped."""
        from forge_core.events import (  # after the first frame
            AgentEnd,
            Compaction,
            LLMChunk,
            LLMEnd,
            LLMStart,
            Steered,
            ToolEnd,
        )

        figures, stopped = self._figures, "error"
        figures.use_running(True)
        if is_resumed:
            figures.forget_count()
        else:
            figures.begin_turn()
        try:
            async with aclosing(events) as stream:
                async for event in stream:
                    if isinstance(event, Steered):
                        self._screen.sending.delivered(event)
                        continue
                    self._screen.transcript.apply(event)
                    if event.parent_id is not None:  # of a sub-agent: only its cost shows
                        if isinstance(event, LLMEnd):
                            self._screen.refresh_status()
                        continue
                    match event:
                        case LLMChunk(kind="tool_args"):
                            figures.count_arguments(event.text)
                        case LLMChunk():
                            figures.count(event.text)
                        case LLMStart():
                            figures.forget_count()
                            self._screen.refresh_status()
                        case LLMEnd():
                            figures.answered(event.usage)
                            self._screen.refresh_status()
                        case Compaction():
                            self._screen.refresh_status()
                        case ToolEnd(name="todo", success=True):
                            self._screen.refresh_todos(is_update=True)
                        case AgentEnd():
                            stopped = event.result.stopped_reason
                        case _:
                            pass
            return stopped
        finally:
            self._idle.set()
            figures.use_running(False)
            self.ended_at = self._clock()
            self._screen.activity.working = None

    def _stream(self, session: ForgeSession, text: str | TurnWork | None) -> AsyncGenerator[AgentEvent, None]:
        if text is None:
            return session.retry()
        if isinstance(text, str):
            return session.send(text, folded=self._folded, command=self._command)
        if (working := self._screen.activity.working) is not None:
            self._screen.activity.working = replace(working, verb=text.verb, hint="Esc to cancel")
        return text.start(session)

    def interrupt(self, session: ForgeSession) -> None:
        """Ask the session to end the running turn, and show that."""
        session.interrupt()
        if (working := self._screen.activity.working) is not None:
            self._screen.activity.working = replace(
                working, verb="Interrupting", hint="keeps what has come", asked_at=None
            )

    async def wait(self) -> None:
        """Wait until no turn runs."""
        await self._idle.wait()
