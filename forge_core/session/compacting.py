"""Compaction of a session's conversation: when it is due, what it does, and how it is undone.

It never runs beside the agent: the agent awaits `fit` before a model call, and `run` is a turn of its own.
Each compaction is recorded as a `window` record, from which a continued session gets the shorter history.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from forge_core.context.compaction import (
    KEPT_TOKENS,
    Budget,
    CompactedHistory,
    SummaryRequest,
    compact,
    compact_from,
    drop,
    elide,
    fitted_facts,
    threshold,
)
from forge_core.context.ledger import Kind, history_items, reserved_output
from forge_core.context.pinned_facts import (
    FactKind,
    PinnedFacts,
    called_tools,
    conversation_facts,
    is_request,
    labels,
)
from forge_core.errors import ForgeError, ProviderError
from forge_core.events import AgentEnd, AgentEvent, Compaction, LLMEnd, Notice, Retry
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.agent.event_queue import EventQueue, EventSink, ObservedQueue
from forge_core.langchain.memory.summary import PIECE_CHARS, summarize
from forge_core.llm.http.retry import RetryCount, counting_with
from forge_core.llm.models import Message, TokenUsage
from forge_core.result import AgentResult, StoppedReason
from forge_core.session.context_meter import ContextMeter
from forge_core.session.provider import SessionProvider
from forge_core.session.session_hooks import SessionHooks, Trigger
from forge_core.session.side_calls import SideCalls
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.session.turn_recorder import crash_events, message_record
from forge_core.store.journal import Journal

NOTHING = "There is nothing to compact yet: a summary would not be shorter."
NOTHING_NEW = "Nothing has come since the last compaction."
NOT_WHOLE = "This message is part of a summary already."
_LEAST_LIMIT = 500
"""Tokens for the history where system prompt and tools alone fill the window."""
_LEAST_PIECE_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """The last compaction, in figures and in full."""

    before: Mapping[Kind, int]
    """Tokens of the history, by kind."""
    after: Mapping[Kind, int]
    messages_before: int
    messages_after: int
    result: CompactedHistory


@dataclass(frozen=True, slots=True)
class _Undo:
    history: list[Message]
    """The history before the compaction."""
    compacted: int
    """The number of messages that it left; those after them have come since."""
    last: Message
    """The last of these."""

    def restored(self, history: Sequence[Message]) -> list[Message] | None:
        """Return the history before the compaction with what has come since; None if the conversation is
        another one now."""
        count = self.compacted
        if len(history) < count or history[count - 1] is not self.last:
            return None
        return [*self.history, *history[count:]]


class SessionCompactor:
    """Keeps the history of one agent below the context window of its model."""

    def __init__(
        self,
        agent: ForgeAgent,
        meter: ContextMeter,
        environment: ToolEnvironment,
        provider: SessionProvider,
        journal: Journal,
        model: Callable[[], str],
        on_cut: Callable[[LLMEnd], None],
        hooks: SessionHooks | None = None,
    ) -> None:
        """`on_cut` is called with each call of a summary that brought no answer. `hooks` run before and after
        a compaction, and can prevent one; None: those of a sub-agent."""
        self._hooks = hooks
        self._agent = agent
        self._meter = meter
        self._environment = environment
        self._provider = provider
        self._journal = journal
        self._model = model
        self._on_cut = on_cut
        self.report: CompactionReport | None = None
        self._undo: _Undo | None = None
        self._last: Message | None = None
        """The newest message at the last compaction."""
        self._next_at = 0
        """Tokens below which no further compaction begins by itself."""
        self._running: asyncio.Task[None] | None = None
        self.cache_warning: Callable[[], str] = str
        """Returns what a compaction by the user costs, before the next request; empty if that is little."""
        agent.fit_window = self.fit

    @property
    def compacts_at(self) -> int | None:
        """The tokens at which the conversation is compacted; None where the window is unknown."""
        window = self._provider.context_window(self._model())
        if not window:
            return None
        return threshold(window, reserved_output(window, self._provider.max_output(self._model())))

    def reset(self) -> None:
        """Forget the conversation."""
        self.report = self._undo = self._last = None
        self._next_at = 0

    def restore(self, uncompacted: Sequence[Message], compacted: int) -> None:
        """Take over from a saved session what `undo` restores: the history before the last compaction, and
        the number of messages that it left."""
        self.reset()
        history = self._agent.memory.get_history()
        if uncompacted and 0 < compacted <= len(history):
            self._undo = _Undo([*uncompacted], compacted, history[compacted - 1])

    async def fit(self, events: EventSink, has_overflowed: bool) -> bool:
        """Compact the conversation if it has come near the end of the window, or the provider has refused it
        as too long; return whether it is shorter.

        Never twice without a new message between, except once for a refusal.
        """
        due, used = self.compacts_at, self._meter.used
        if has_overflowed:
            limit = min(due or used, used * 6 // 10)
        elif due is None or used < max(due, self._next_at) or not self._has_news():
            return False
        else:
            limit = due
        window = self._provider.context_window(self._model())
        if await self._is_prevented(events, "auto"):
            self._wait_for_more(due, window)
            return False
        share = f"the model's window is {100 * used // window} % full" if window else "it is too long"
        is_done = await self._compact(
            events, limit, announcement=f"Summarising the earlier conversation: {share}."
        )
        if is_done and self._hooks is not None:
            await self._hooks.compacted("auto")
            self._add_context(self._hooks)
        self._wait_for_more(due, window)
        return is_done

    def _wait_for_more(self, due: int | None, window: int | None) -> None:
        """Begin no further compaction before the conversation has grown by half of the room above the
        threshold: what must stay may be large, and a hook may have prevented this one."""
        if due is not None:
            self._next_at = self._meter.used + max((window or 0) - due, 0) // 2

    async def run(
        self, queue: EventQueue, *, focus: str = "", is_fast: bool = False, turns: int | None = None
    ) -> None:
        """Compact on the user's request, and emit an AgentEnd. Without a model if `is_fast`; only the last
        turns if their number is given."""
        started, events = time.monotonic(), ObservedQueue(queue, self._record_compaction)
        work = (
            self._run(events, focus, is_fast=is_fast) if turns is None else self._part(events, turns, focus)
        )
        self._running = task = asyncio.create_task(work)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._running = None
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            for event in crash_events(error):  # a bug ends the turn, not the session
                events.emit(event)
            return
        if warning := self.cache_warning():
            events.emit(Notice(level="info", text=warning))
        stopped: StoppedReason = "cancelled" if task.cancelled() else "complete"
        duration = time.monotonic() - started
        result = AgentResult("", [], [], TokenUsage(), 0, duration=duration, stopped_reason=stopped)
        events.emit(AgentEnd(result=result))

    def _record_compaction(self, event: AgentEvent) -> None:
        if isinstance(event, Compaction):
            self._journal.event(event)

    def interrupt(self) -> None:
        """Cancel what `run` does; nothing changes then."""
        if self._running is not None:
            self._running.cancel()

    def drop(self, chosen: Sequence[Message]) -> tuple[int, int]:
        """Leave out the long parts of these messages, between turns; `undo` restores them. Return the tokens
        before and after that.

        Raises:
            ForgeError: none of them is in the conversation and long.
        """
        used = self._meter.used
        history, budget = self._begin(used, KEPT_TOKENS)
        result = drop(history, chosen, fitted_facts(self._facts(history), budget), budget)
        if result is None:
            raise ForgeError("Nothing of that can be left out: only long output and arguments can.")
        self._apply(self._journal.event, history, result)
        self._last = None  # /compact may still make it shorter
        return used, self._meter.used

    def undo(self) -> tuple[int, int]:
        """Undo the last compaction; return the tokens before and after that.

        Raises:
            ForgeError: there is none, or the conversation is another one since.
        """
        memory = self._agent.memory
        restored = None if self._undo is None else self._undo.restored(memory.get_history())
        if restored is None:
            raise ForgeError("There is no compaction to undo.")
        before = self._meter.used
        memory.replace_history(restored)
        self._journal.record("window", {"undo": True})
        self.reset()
        self._last = restored[-1]
        return before, self._meter.used

    async def _run(self, events: EventSink, focus: str, *, is_fast: bool) -> None:
        if not self._has_news():
            events.emit(Notice(level="info", text=NOTHING if self._last is None else NOTHING_NEW))
            return
        if await self._is_prevented(events, "manual", focus):
            return
        used = self._meter.used
        limit = min(self.compacts_at or used, used)
        history = sum(tokens for _, tokens in self._agent.memory.counted_history())
        kept = min(KEPT_TOKENS, history // 4)
        if is_fast:
            is_done = self._elide(events, limit, kept)
        else:
            is_done = await self._compact(events, limit, focus=focus, kept=kept, may_elide=False)
        if not is_done:
            events.emit(Notice(level="info", text=NOTHING))
        elif self._hooks is not None:
            await self._hooks.compacted("manual")

    def _add_context(self, hooks: SessionHooks) -> None:
        """Add the context of hooks after a compaction within a turn, for the next call of the model."""
        for text in hooks.take_context():
            message = Message.user(text, within_turn=True)
            self._agent.memory.add_message(message)
            self._journal.record("message", message_record(message))

    async def _part(self, events: EventSink, turns: int, focus: str) -> None:
        """Summarise the last turns; what came before them stays as it is."""
        history, budget = self._begin(
            min(self.compacts_at or self._meter.used, self._meter.used), KEPT_TOKENS
        )
        requests = [at for at, message in enumerate(history) if is_request(message)]
        if not 1 <= turns <= len(requests):
            events.emit(Notice(level="info", text=NOT_WHOLE))
            return
        if await self._is_prevented(events, "manual", focus):
            return
        start = requests[-turns]
        result = await compact_from(
            history,
            start,
            self._facts(history),
            budget,
            partial(self._summary, events=events),
            focus=focus,
        )
        if not self._use(events, history, result, start=start):
            events.emit(Notice(level="info", text=NOTHING))
        elif self._hooks is not None:
            await self._hooks.compacted("manual")

    async def _is_prevented(self, events: EventSink, trigger: Trigger, focus: str = "") -> bool:
        """Run the hooks of PreCompact; return whether one of them blocks."""
        reason = "" if self._hooks is None else await self._hooks.compacting(trigger, focus)
        if reason:
            events.emit(Notice(level="warning", text=f"The conversation was not compacted: {reason}"))
        return bool(reason)

    def _elide(self, events: EventSink, limit: int, kept: int) -> bool:
        history, budget = self._begin(limit, kept)
        result = elide(history, fitted_facts(self._facts(history), budget), budget)
        return result is not None and self._apply(events.emit, history, result)

    async def _compact(
        self,
        events: EventSink,
        limit: int,
        *,
        focus: str = "",
        kept: int = KEPT_TOKENS,
        may_elide: bool = True,
        announcement: str = "",
    ) -> bool:
        history, budget = self._begin(limit, kept)
        announcements = [announcement] if announcement else []

        async def summarise(request: SummaryRequest) -> str:
            while announcements:
                events.emit(Notice(level="info", text=announcements.pop()))
            return await self._summary(request, events=events)

        result = await compact(
            history, self._facts(history), budget, summarise, focus=focus, may_elide=may_elide
        )
        self._last = history[-1] if history else None
        return self._use(events, history, result)

    def _use(
        self,
        events: EventSink,
        history: list[Message],
        result: CompactedHistory | None,
        *,
        start: int | None = None,
    ) -> bool:
        """Use the shorter history; return False if there is none and no failure was reported."""
        if result is None:
            return False
        if result.failure:
            outcome = "" if result.replaced else " Nothing was changed."
            text = f"The conversation could not be summarised: {result.failure}{outcome}"
            events.emit(Notice(level="warning", text=text))
        return self._apply(events.emit, history, result, start=start) or bool(result.failure)

    def _begin(self, limit: int, kept: int) -> tuple[list[Message], Budget]:
        memory = self._agent.memory
        budget = Budget(max(self._meter.history_limit(limit), _LEAST_LIMIT), memory.count_tokens, kept)
        return memory.get_history(), budget

    def _apply(
        self,
        emit: Callable[[AgentEvent], None],
        history: list[Message],
        result: CompactedHistory,
        *,
        start: int | None = None,
    ) -> bool:
        """Use the shorter history; return False if it is the same. The messages before index `start` are
        those of the former one, if it is given."""
        if not result.replaced:
            return False
        memory, used = self._agent.memory, self._meter.used
        before = _by_kind(memory.counted_history())
        memory.replace_history(result.messages)
        self._environment.skills.keep({one.text for one in result.pinned if one.kind is FactKind.SKILL})
        if self._environment.offered is not None:
            self._environment.offered.tell_again()
        self._meter.reset()
        self.report = CompactionReport(
            before, _by_kind(memory.counted_history()), len(history), len(result.messages), result
        )
        self._undo = _Undo(history, len(result.messages), result.messages[-1])
        self._last = result.messages[-1]
        window: dict[str, object] = {"messages": [message_record(one) for one in result.messages]}
        self._journal.record("window", window if start is None else {**window, "start": start})
        emit(
            Compaction(
                before=used,
                after=self._meter.used,
                pinned=labels(result.pinned),
                added=labels(result.added),
                method=result.method,
                replaced=result.replaced,
            )
        )
        return True

    def _has_news(self) -> bool:
        """Return whether a message has come since the last compaction."""
        history = self._agent.memory.get_history()
        return bool(history) and history[-1] is not self._last

    def _facts(self, history: Sequence[Message]) -> PinnedFacts:
        goal, requests, last = conversation_facts(history)
        system, deferred = self._agent.memory.system_message, self._environment.deferred
        return PinnedFacts(
            goal,
            requests,
            last,
            plan=self._environment.plan.text,
            todos=self._environment.todos.items,
            files=dict(self._environment.files),
            instructions=(*self._meter.prompt.instructions, *self._environment.given_instructions),
            skills=tuple(one.text for one in self._environment.skills.loaded),
            tools={} if deferred is None else deferred.definitions(called_tools(history)),
            style=self._meter.prompt.style.reminder,
            system_text="" if system is None else system.text,
        )

    async def _summary(self, request: SummaryRequest, *, events: EventSink) -> str:
        """Return a summary; request it again if it breaks off, as the agent does with an answer."""
        retries, limit = RetryCount(), self._agent.retries
        while True:
            try:
                with counting_with(retries):
                    return await self._summary_once(request, events)
            except ProviderError as error:
                wait_s = retries.next_wait(error, limit)
                if wait_s is None:
                    raise
                again = Retry.of(str(error), attempt=retries.done, max_retries=limit, wait_s=wait_s)
            events.emit(again)
            await asyncio.sleep(again.wait_s)

    async def _summary_once(self, request: SummaryRequest, events: EventSink) -> str:
        calls = SideCalls(self._provider)
        window = self._provider.context_window(self._model()) or PIECE_CHARS
        try:
            return await summarize(
                self._agent.llm,
                request.messages,
                request.previous or None,
                focus=request.focus,
                entry_chars=request.entry_chars,
                piece_chars=max(_LEAST_PIECE_CHARS, min(PIECE_CHARS, window * 2)),
                callbacks=[*self._agent.callbacks, calls, calls.answered],
            )
        finally:
            cut = calls.record(self._journal, "summary", self._model(), self._agent.tracker, self._on_cut)
            if cut.estimated:
                events.emit(Notice(level="info", text=_cut_text(cut)))


def _cut_text(usage: TokenUsage) -> str:
    """Return what a call without an answer counts with."""
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    return f"The unfinished summary counts with {usage.total_tokens:,} tokens{cost} (estimated)."


def _by_kind(counted: Iterable[tuple[Message, int]]) -> dict[Kind, int]:
    sums: dict[Kind, int] = {}
    for item in history_items(counted, 0):
        sums[item.kind] = sums.get(item.kind, 0) + item.tokens
    return sums
