"""Sends the updates of a session in order, those of about 30 ms at once: fragments of a text are joined."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from acp import schema

PACE_S = 0.03

Update: TypeAlias = (
    schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.ConfigOptionUpdate
    | schema.CurrentModeUpdate
    | schema.SessionInfoUpdate
    | schema.ToolCallProgress
    | schema.ToolCallStart
    | schema.UsageUpdate
    | schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
)
Chunk: TypeAlias = (
    type[schema.AgentMessageChunk] | type[schema.AgentThoughtChunk] | type[schema.UserMessageChunk]
)
_NAMES: dict[Chunk, Any] = {
    schema.AgentMessageChunk: "agent_message_chunk",
    schema.AgentThoughtChunk: "agent_thought_chunk",
    schema.UserMessageChunk: "user_message_chunk",
}


@dataclass(slots=True)
class _Text:
    """Fragments of one message that wait to be sent."""

    kind: Chunk
    message_id: str
    parts: list[str] = field(default_factory=list)


class UpdateSender:
    """One per session. `send` and `text` never wait; `flushed` waits for all that they were given."""

    def __init__(self, deliver: Callable[[Update], Awaitable[None]]) -> None:
        """`deliver` sends one update; it must not raise."""
        self._deliver = deliver
        self._waiting: list[Update | _Text] = []
        self._something = asyncio.Event()
        self._hurry = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.create_task(self._run(), name="forge-acp-updates")

    def send(self, update: Update) -> None:
        """Send an update after those before it."""
        self._add(update)

    def text(self, kind: Chunk, message_id: str, text: str) -> None:
        """Send a fragment of a message."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, _Text) and last.kind is kind and last.message_id == message_id:
            last.parts.append(text)
        else:
            self._add(_Text(kind, message_id, [text]))

    async def flushed(self) -> None:
        """Wait until everything was sent."""
        self._hurry.set()
        await self._idle.wait()

    async def aclose(self) -> None:
        """Send nothing more."""
        self._task.cancel()
        await asyncio.wait([self._task])
        self._idle.set()

    def _add(self, update: Update | _Text) -> None:
        self._waiting.append(update)
        self._idle.clear()
        self._something.set()

    async def _run(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            batch, self._waiting = self._waiting, []
            for one in batch:
                await self._deliver(_chunk(one) if isinstance(one, _Text) else one)
            if self._waiting:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), PACE_S)
                continue
            self._idle.set()
            self._hurry.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), PACE_S)


def _chunk(text: _Text) -> Update:
    block = schema.TextContentBlock(type="text", text="".join(text.parts))
    return text.kind(session_update=_NAMES[text.kind], content=block, message_id=text.message_id)
