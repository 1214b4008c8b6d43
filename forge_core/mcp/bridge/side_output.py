"""What a server writes beside its answers, at a rate that the session can take."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from forge_core.mcp.wire import BridgeEvent

_MAX_CHARS = 8_192
"""Of one text."""
_MAX_LINES = 200
"""Of one text: the session logs each line by itself."""
_CHARS_PER_S = 64_000
_REPORTS_PER_S = 50
_MAX_MESSAGE = 500
"""Characters in a report of progress."""

Progress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Takes what is done, of how much, and a message."""
Clock: TypeAlias = Callable[[], float]
"""Returns seconds."""


class ServerLog:
    """Sends the texts of one server to the session. What comes faster is left out, and counted."""

    def __init__(
        self, server: str, send: Callable[[dict[str, Any]], None], clock: Clock = time.monotonic
    ) -> None:
        self._server = server
        self._send = send
        self._clock = clock
        self._second = 0.0
        """When the second that counts now began."""
        self._sent = 0
        """Characters since then."""
        self._left_out = 0
        """Characters since the last text that was sent."""

    def __call__(self, text: str, stream: str = "stderr") -> None:
        """Send a text that was written to this stream: standard error (`stderr`) or a log `message`."""
        now = self._clock()
        if now - self._second >= 1:
            self._second, self._sent = now, 0
        if self._sent >= _CHARS_PER_S:
            self._left_out += len(text)
            return
        kept = "".join(text[:_MAX_CHARS].splitlines(keepends=True)[:_MAX_LINES])
        note = f"[{self._left_out:,} characters left out]\n" if self._left_out else ""
        self._left_out = len(text) - len(kept)
        self._sent += max(len(text), _CHARS_PER_S // 20)
        self._send({"event": BridgeEvent.LOG, "server": self._server, "stream": stream, "text": note + kept})


class CallProgress:
    """Passes on the progress of one call. What comes faster than it can be shown is left out."""

    def __init__(self, on_progress: Progress, clock: Clock = time.monotonic) -> None:
        self._on_progress = on_progress
        self._clock = clock
        self._second = 0.0
        """When the second that counts now began."""
        self._reports = 0
        """Since then."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        now = self._clock()
        if now - self._second >= 1:
            self._second, self._reports = now, 0
        self._reports += 1
        if self._reports <= _REPORTS_PER_S:
            await self._on_progress(progress, total, None if message is None else message[:_MAX_MESSAGE])
