"""The approver of the app: one question at a time, the others wait and are counted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from forge_core.approval import ApprovalReply, ApprovalRequest


class PromptHost(Protocol):
    """Whatever can put a question on the screen."""

    async def ask(self, request: ApprovalRequest) -> ApprovalReply:
        """Show the question and wait for the answer; when cancelled, take it off the screen again."""

    def show_waiting(self, count: int) -> None:
        """Say beside the question how many more wait."""


class ModalApprover:
    """Asks the person at the screen. A cancelled wait leaves nothing behind and goes on as CancelledError."""

    def __init__(self, host: PromptHost) -> None:
        self._host = host
        self._turn = asyncio.Lock()
        self._outstanding = 0

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        self._outstanding += 1
        self._count()
        try:
            async with self._turn:
                self._count()
                return await self._host.ask(request)
        finally:
            self._outstanding -= 1
            self._count()

    def _count(self) -> None:
        self._host.show_waiting(max(self._outstanding - 1, 0))
