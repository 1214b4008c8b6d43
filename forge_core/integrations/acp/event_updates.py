"""The events of turns as updates for the client."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path

from acp import schema

from forge_core.events import (
    AgentEvent,
    Compaction,
    LLMChunk,
    LLMStart,
    Notice,
    Retry,
    Steered,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.integrations.acp import tool_calls
from forge_core.integrations.acp.update_sender import UpdateSender
from forge_core.sanitize import safe_line, safe_text

PROGRESS_S = 0.2
"""Between two updates with the output of a running call."""
MAX_TAIL_CHARS = 4_000
_START_S = 2.0
"""How long a request waits for the update that announces its call."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!])")


class EventUpdates:
    """Sends what happens in one session."""

    def __init__(self, sender: UpdateSender, folder: Path) -> None:
        self.sender = sender
        self._folder = folder
        self._message_id = new_id()
        """Of the model call that runs."""
        self._running: dict[str, str] = {}
        """The calls that run: Forge's id → the client's. Ids of a sub-agent may be those of other calls."""
        self._tails: dict[str, str] = {}
        """The last output of running calls, by the client's id."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._started = asyncio.Event()
        """Set when a call has started."""

    def apply(self, event: AgentEvent) -> None:
        """Send what an event says."""
        match event:
            case LLMStart():
                self._message_id = new_id()
            case LLMChunk(kind="answer"):
                self.sender.text(schema.AgentMessageChunk, self._message_id, safe_text(event.text))
            case LLMChunk(kind="reasoning"):
                self.sender.text(schema.AgentThoughtChunk, self._message_id, safe_text(event.text))
            case ToolStart():
                self._start(event)
            case ToolProgress():
                self._progress(event)
            case ToolEnd():
                self._end(event)
            case Steered():
                self.sender.text(schema.UserMessageChunk, new_id(), safe_text(event.text))
            case Retry() if event.discards_answer:
                self.say(f"{event.text} What came of it so far does not count.")
            case Notice(level="warning" | "error"):
                self.say(event.text)
            case Compaction():
                self.say(event.text)
            case _:  # the answer to the prompt reports an Error
                pass

    def say(self, text: str) -> None:
        """Show a line of Forge's own, which is not part of an answer."""
        self.sender.text(
            schema.AgentMessageChunk, new_id(), f"*Forge: {plain_markdown(safe_line(text))}*\n\n"
        )

    def show(self, markdown: str) -> None:
        """Show a message that no model wrote."""
        self.sender.text(schema.AgentMessageChunk, new_id(), safe_text(markdown))

    async def announced(self, call_id: str) -> str:
        """Wait until the client knows a call; return its id there."""
        try:
            async with asyncio.timeout(_START_S):
                while call_id not in self._running:
                    self._started.clear()
                    await self._started.wait()
        except TimeoutError:
            return call_id
        await self.sender.flushed()
        return self._running.get(call_id, call_id)

    def _start(self, event: ToolStart) -> None:
        call_id = f"{event.parent_id}/{event.call_id}" if event.parent_id else event.call_id
        self._running[event.call_id] = call_id
        self._started.set()
        self.sender.send(tool_calls.started(event, call_id, self._folder))

    def _progress(self, event: ToolProgress) -> None:
        call_id = self._running.get(event.call_id)
        if call_id is None:
            return
        before, text = self._tails.get(call_id, ""), event.text
        if text.startswith("\r"):
            before, text = before[: before.rfind("\n") + 1], text[1:]
        self._tails[call_id] = (before + text)[-MAX_TAIL_CHARS:]
        if call_id not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[call_id] = loop.call_later(PROGRESS_S, self._send_tail, call_id)

    def _send_tail(self, call_id: str) -> None:
        del self._timers[call_id]
        self.sender.send(tool_calls.progressed(call_id, self._tails[call_id]))

    def _end(self, event: ToolEnd) -> None:
        call_id = self._running.pop(event.call_id, event.call_id)
        self._tails.pop(call_id, None)
        if (timer := self._timers.pop(call_id, None)) is not None:
            timer.cancel()
        self.sender.send(tool_calls.ended(event, call_id, self._folder))
        if event.document:
            self.show(event.document)


def new_id() -> str:
    """Return the id of a message."""
    return str(uuid.uuid4())


def plain_markdown(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", text)
