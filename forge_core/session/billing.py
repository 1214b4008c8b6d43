"""What a session has spent, by turn and model, and what it asks the provider for beside the turns."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from forge_core.errors import ForgeError
from forge_core.events import LLMEnd
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.llm.account.spending import Spending
from forge_core.llm.models import TokenUsage
from forge_core.session.agents.agent_scope import running_agent
from forge_core.session.provider import SessionProvider

_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class TurnSpending:
    """The spending of one turn."""

    number: int
    """0 for what was spent before the conversation was reset."""
    title: str
    """The beginning of the user's message, in one line."""
    spending: Spending


@dataclass(frozen=True, slots=True)
class SessionSpending:
    """The total, and its parts by model and by turn; either adds up to it."""

    total: Spending
    by_model: Mapping[str, Spending]
    turns: tuple[TurnSpending, ...]
    """The turns that spent anything, oldest first."""


class SessionBilling:
    """Attributes spending to turns; fetches bills of cut answers, prices and context windows in tasks.

    It owns these tasks; only `aclose` and `settled` wait for them.
    """

    def __init__(
        self,
        tracker: TokenTrackingCallback,
        provider: SessionProvider,
        on_change: Callable[[], None] = lambda: None,
        on_bill: Callable[[LLMEnd, TokenUsage], None] = lambda cut, usage: None,
    ) -> None:
        """`on_change` is called when figures have changed that belong to no running turn, `on_bill` with the
        usage that replaces a cut call's estimate."""
        self._tracker = tracker
        self._provider = provider
        self._is_refreshed = False
        self._requested_windows: set[str] = set()
        self._on_change = on_change
        self._on_bill = on_bill
        self._titles: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def turn(self) -> int:
        """The number of the latest turn."""
        return len(self._titles)

    def begin_turn(self, text: str) -> None:
        """Attribute what is spent from now on to a new turn. The first one updates the list of models too."""
        if self._provider.refresh is not None and not self._is_refreshed:
            self._is_refreshed = True
            self._start(self._learn(self._provider.refresh))
        self._titles.append(_title(text))
        self._tracker.begin_turn(self.turn)

    def use_endpoint(self) -> None:
        """Ask for models and context windows again when they are needed: the provider serves another
        endpoint."""
        self._is_refreshed = False
        self._requested_windows.clear()

    def restore(self, turns: Iterable[str], calls: Iterable[tuple[int, str, TokenUsage]]) -> None:
        """Add what was spent before the session was continued: the messages of its turns, and for each call
        its turn (0 for none), model and usage."""
        self._titles = [_title(text) for text in turns]
        for turn, model, usage in calls:
            self._tracker.begin_turn(turn)
            self._tracker.add_usage(usage, model)
        self._tracker.begin_turn(self.turn)

    def forget_turns(self) -> None:
        """Start the numbers of turns again; what was spent stays in the totals."""
        self._titles.clear()
        self._tracker.forget_turns()

    def keep_turns(self, titles: Sequence[str]) -> None:
        """Continue after the turns with these messages: what later ones have spent stays in the totals."""
        self._titles = [_title(text) for text in titles]
        self._tracker.forget_turns(after=self.turn)
        self._tracker.begin_turn(self.turn)

    def spending(self) -> SessionSpending:
        """Return the spending. O(turns)."""
        tracker = self._tracker
        turns = [
            TurnSpending(number, self._titles[number - 1] if number else "", spending)
            for number, spending in tracker.spending_by_turn().items()
        ]
        return SessionSpending(tracker.spending(), tracker.spending_by_model(), tuple(turns))

    def answered(self, event: LLMEnd) -> None:
        """Fetch the bill that replaces a cut call's estimate."""
        bill, generation_id = self._provider.bill, self._provider.abandoned.take(event.parent_id)
        if generation_id is not None and event.usage.estimated and bill is not None:
            self._start(self._settle(bill, generation_id, event))

    def learn_window(self, model: str) -> None:
        """Ask the endpoint once for the context window of `model`, if nothing else knows it.

        Called after an answer, so that no request waits for it and a local server has the model loaded.
        """
        learn, is_known = self._provider.learn_window, self._provider.context_window(model) is not None
        if learn is None or is_known or model in self._requested_windows:
            return
        self._requested_windows.add(model)
        self._start(self._learn(partial(learn, model)))

    async def settled(self) -> None:
        """Wait until all tasks have ended. Raises the exception of a task that failed by a bug."""
        await asyncio.gather(*self._tasks)

    async def aclose(self) -> None:
        """Cancel what is not done."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        context = contextvars.copy_context()
        context.run(running_agent.set, None)  # of the session, also if a sub-agent's call was cut
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:  # a bug is kept for `settled` to raise
            self._tasks.discard(task)

    async def _settle(
        self, bill: Callable[[str], Awaitable[TokenUsage | None]], generation_id: str, cut: LLMEnd
    ) -> None:
        try:
            usage = await bill(generation_id)
        except ForgeError:
            return  # the estimate stays, marked as one
        if usage is not None:
            self._tracker.replace_estimate(cut.usage, usage, cut.model)
            self._on_bill(cut, usage)
            self._on_change()

    async def _learn(self, request: Callable[[], Awaitable[None]]) -> None:
        with contextlib.suppress(ForgeError):  # a failure costs the user only a convenience
            await request()
            self._on_change()


def _title(text: str) -> str:
    return " ".join(text[: 4 * _TITLE_CHARS].split())[:_TITLE_CHARS]
