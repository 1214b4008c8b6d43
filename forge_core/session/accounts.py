"""What is settled with the provider beside the turns: the bills of cut answers, the catalogue with prices."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from forge_core.errors import ForgeError
from forge_core.events import LLMEnd
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.llm.models import TokenUsage


class Accounts:
    """Owns the tasks that do it; nothing waits for them but `aclose`."""

    def __init__(
        self,
        tracker: TokenTrackingCallback,
        bill: Callable[[str], Awaitable[TokenUsage | None]] | None,
        refresh: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._tracker = tracker
        self._bill = bill
        self._refresh = refresh
        self._abandoned: str | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """With the first turn: brings the catalogue up to date."""
        if self._refresh is not None:
            self._tasks.append(asyncio.create_task(_quietly(self._refresh())))

    def abandoned(self, generation_id: str) -> None:
        """Notes the id of a stream that was left."""
        self._abandoned = generation_id

    def answered(self, event: LLMEnd) -> None:
        """Fetches the bill that takes the place of a cut call's estimate."""
        generation_id, self._abandoned = self._abandoned, None
        if generation_id and event.usage.estimated and self._bill is not None:
            self._tasks.append(asyncio.create_task(self._settle(self._bill(generation_id), event)))

    async def settled(self) -> None:
        """Waits until nothing is open."""
        await asyncio.gather(*self._tasks)

    async def aclose(self) -> None:
        """Leaves off what is not done."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _settle(self, bill: Awaitable[TokenUsage | None], cut: LLMEnd) -> None:
        try:
            usage = await bill
        except ForgeError:
            return  # the estimate stays, and says that it is one
        if usage is not None:
            self._tracker.replace_estimate(cut.usage, usage, cut.model)


async def _quietly(work: Awaitable[None]) -> None:
    """Does without what could not be had: a convenience is no reason to trouble the person."""
    with contextlib.suppress(ForgeError):
        await work
