"""What asks the person at the screen: one prompt at a time, the others wait and are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from forge_core.approval import ApprovalReply, ApprovalRequest, QuestionReply, QuestionRequest


class PromptHost(Protocol):
    """Whatever can put a prompt on the screen. A cancelled wait takes it off the screen again."""

    async def ask(self, request: ApprovalRequest) -> ApprovalReply: ...

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply: ...

    def show_waiting(self, count: int) -> None:
        """Say beside the prompt how many more wait."""

    def clock_stopped(self, call_id: str) -> AbstractContextManager[None]:
        """While it is open, the call's time does not go on: it waits for the person."""


class PromptQueue:
    """Who is asked next, permissions and questions alike."""

    def __init__(self, show_waiting: Callable[[int], None]) -> None:
        self._show_waiting = show_waiting
        self._turn = asyncio.Lock()
        self._outstanding = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the screen to be free, and keep it."""
        self._outstanding += 1
        self._count()
        try:
            async with self._turn:
                self._count()
                yield
        finally:
            self._outstanding -= 1
            self._count()

    def _count(self) -> None:
        self._show_waiting(max(self._outstanding - 1, 0))


class ModalApprover:
    """Asks for permission. A cancelled wait leaves nothing behind and goes on as CancelledError."""

    def __init__(self, host: PromptHost, queue: PromptQueue) -> None:
        self._host = host
        self._queue = queue

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        with self._host.clock_stopped(request.call_id):
            async with self._queue.turn():
                return await self._host.ask(request)


class ModalQuestioner:
    """Puts the model's questions. A cancelled wait leaves nothing behind and goes on as CancelledError."""

    def __init__(self, host: PromptHost, queue: PromptQueue) -> None:
        self._host = host
        self._queue = queue

    async def __call__(self, request: QuestionRequest) -> QuestionReply:
        with self._host.clock_stopped(request.call_id):
            async with self._queue.turn():
                return await self._host.ask_questions(request)
