"""What the session has spent, by turn and model; and what is settled with the provider beside the turns: the
bills of cut answers, the catalogue with prices."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from forge_core.errors import ForgeError
from forge_core.events import LLMEnd
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.llm.account.spending import Spending
from forge_core.llm.models import TokenUsage

Bill: TypeAlias = Callable[[str], Awaitable[TokenUsage | None]]
"""What a generation that was left has cost, by its id."""
_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class TurnSpending:
    """What one turn has cost."""

    number: int
    """0: what is no turn of this conversation, since it was started over."""
    title: str
    """The beginning of what the person sent, in one line."""
    spending: Spending


@dataclass(frozen=True, slots=True)
class SessionSpending:
    """The whole, and its parts in two ways; each adds up to it."""

    total: Spending
    by_model: Mapping[str, Spending]
    turns: tuple[TurnSpending, ...]
    """Those that spent anything, the oldest first."""


class Accounts:
    """Owns the tasks that do it; nothing waits for them but `aclose`."""

    def __init__(
        self,
        tracker: TokenTrackingCallback,
        bill: Bill | None,
        refresh: Callable[[], Awaitable[None]] | None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is told when figures have changed that belong to no running turn."""
        self._tracker = tracker
        self._bill = bill
        self._refresh = refresh
        self._asked_windows: set[str] = set()
        self._on_change = on_change
        self._titles: list[str] = []
        self._abandoned: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def turn(self) -> int:
        """The number of the last turn that was begun."""
        return len(self._titles)

    def begin_turn(self, text: str) -> None:
        """What is spent from now on belongs to a new turn. With the first, the catalogue is brought up to
        date."""
        if self._refresh is not None:
            self._start(self._learn(self._refresh))
            self._refresh = None
        self._titles.append(" ".join(text[: 4 * _TITLE_CHARS].split())[:_TITLE_CHARS])
        self._tracker.begin_turn(self.turn)

    def forget_turns(self) -> None:
        """The conversation starts over; the money stays spent."""
        self._titles.clear()
        self._tracker.forget_turns()

    def spending(self) -> SessionSpending:
        """What has been spent. O(turns)."""
        tracker = self._tracker
        turns = [
            TurnSpending(number, self._titles[number - 1] if number else "", spending)
            for number, spending in tracker.spending_by_turn().items()
        ]
        return SessionSpending(tracker.spending(), tracker.spending_by_model(), tuple(turns))

    def abandoned(self, generation_id: str) -> None:
        """Notes the id of a stream that was left."""
        self._abandoned = generation_id

    def answered(self, event: LLMEnd) -> None:
        """Fetches the bill that takes the place of a cut call's estimate."""
        generation_id, self._abandoned = self._abandoned, None
        if generation_id and event.usage.estimated and self._bill is not None:
            self._start(self._settle(self._bill, generation_id, event))

    def learn_window(self, model: str, ask: Callable[[str], Awaitable[None]]) -> None:
        """Have the endpoint asked how much `model` holds, once; called after an answer, so that no request
        waits for it and a local server has the model loaded."""
        if model not in self._asked_windows:
            self._asked_windows.add(model)
            self._start(self._learn(lambda: ask(model)))

    async def settled(self) -> None:
        """Waits until nothing is open."""
        await asyncio.gather(*self._tasks)

    async def aclose(self) -> None:
        """Leaves off what is not done."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:  # a fault of ours stays, for `settled` to raise
            self._tasks.discard(task)

    async def _settle(self, bill: Bill, generation_id: str, cut: LLMEnd) -> None:
        try:
            usage = await bill(generation_id)
        except ForgeError:
            return  # the estimate stays, and says that it is one
        if usage is not None:
            self._tracker.replace_estimate(cut.usage, usage, cut.model)
            self._on_change()

    async def _learn(self, refresh: Callable[[], Awaitable[None]]) -> None:
        with contextlib.suppress(ForgeError):  # a convenience is no reason to trouble the person
            await refresh()
            self._on_change()
