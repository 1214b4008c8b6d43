"""Runs the hooks of an event: all that match at the same time, equal ones once; the strictest answer wins."""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from logging import Logger
from typing import Any

from forge_core.events import Notice
from forge_core.extensions.hooks.hook_answer import HookAnswer, HookOutcome, printed_lines, read_answer
from forge_core.extensions.hooks.hook_events import DECIDING, TOOL_EVENTS, HookEvent
from forge_core.extensions.hooks.hook_files import Hook
from forge_core.extensions.hooks.hook_process import HookProcesses
from forge_core.extensions.hooks.matching import CalledTool, holds, matches
from forge_core.extensions.locations import ExtensionScope
from forge_core.permissions.verdict import Decision
from forge_core.sanitize import safe_line

SLOW_S = 1.0
"""After this time a message names the hook that runs."""
_CAN_FAIL_CLOSED = DECIDING | {HookEvent.USER_PROMPT_SUBMIT, HookEvent.PRE_COMPACT}
"""The events of an action that has not happened yet."""
_STRICTEST = (Decision.DENY, Decision.ASK, Decision.ALLOW)
_MOST_DURATIONS = 100


@dataclass(frozen=True, slots=True)
class Occasion:
    """What an event is about."""

    fields: Mapping[str, Any]
    """What hooks read, without the name of the event."""
    subjects: Collection[str] = ()
    """What matchers are compared with."""
    call: CalledTool | None = None
    """What `if` is compared with."""


@dataclass(frozen=True, slots=True)
class HookVerdict:
    """The answers of all hooks of an event, as one. All text but the names of hooks is untrusted."""

    decision: Decision | None = None
    """On a tool call: the strictest; None: no hook has an opinion."""
    blocks: bool = False
    reason: str = ""
    """Of the decision, or of all blocks."""
    hook: str = ""
    """The name of the hook that decided or blocked first; safe to display."""
    updated_input: Mapping[str, Any] | None = None
    updated_by: str = ""
    """The hook that replaced the input."""
    is_updated_by_project: bool = False
    updated_at: int = 0
    """The index of the occasion whose input was replaced."""
    updated_output: str | None = None
    context: str = ""
    ends_turn: bool = False
    stop_reason: str = ""


@dataclass(slots=True)
class HookStatistics:
    """How the runs of one hook went."""

    runs: int = 0
    last: str = ""
    """How the last run ended, in a few words; untrusted."""
    failure: str = ""
    """Why the last run failed; empty if it did not."""
    is_broken: bool = False
    durations_s: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST_DURATIONS))

    @property
    def median_ms(self) -> int | None:
        return round(statistics.median(self.durations_s) * 1000) if self.durations_s else None


class HookRunner:
    """Runs the hooks of one session."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        processes: HookProcesses,
        refusal: Callable[[Hook], str],
        notify: Callable[[Notice], None],
        logger: Logger,
    ) -> None:
        """`hooks` are those that may run. `refusal`, called in a thread before each run, returns why a hook
        must not run now, as a clause; empty if it may. `logger` receives what hooks print."""
        self.hooks = tuple(hooks)
        self._statistics = {hook.key: HookStatistics() for hook in hooks}
        self.processes = processes
        self._refusal = refusal
        self._notify = notify
        self._logger = logger
        self._events = frozenset(hook.event for hook in hooks)
        self._detached: set[asyncio.Task[object]] = set()

    def has(self, event: HookEvent) -> bool:
        """Return whether any hook runs at an event."""
        return event in self._events

    @property
    def broken(self) -> list[str]:
        """The names of the hooks that could not run the last time."""
        return [hook.name for hook in self.hooks if self.statistics(hook).is_broken]

    def statistics(self, hook: Hook) -> HookStatistics:
        return self._statistics[hook.key]

    async def run(
        self,
        event: HookEvent,
        *occasions: Occasion,
        on_slow: Callable[[str], None] | None = None,
        is_own_only: bool = False,
    ) -> HookVerdict:
        """Run the hooks that match any of the occasions, and return what they want together; `is_own_only`
        without those of the project.

        `on_slow` is called once with a sentence if they take long. A cancellation ends them.
        """
        jobs = [
            (hook, at)
            for at, occasion in enumerate(occasions)
            for hook in self._matching(event, occasion)
            if not (is_own_only and _is_of_project(hook))
        ]
        awaited = [(hook, at) for hook, at in jobs if not hook.is_detached]
        for hook, at in jobs:
            if hook.is_detached:
                self._detach(hook, occasions[at])
        if not awaited:
            return HookVerdict()
        tasks = [asyncio.ensure_future(self._answer(hook, occasions[at])) for hook, at in awaited]
        try:
            if on_slow is not None:
                await self._await_slow(tasks, [hook for hook, _ in awaited], on_slow)
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return merged([(hook, at, answer) for (hook, at), answer in zip(awaited, answers, strict=True)])

    def start(self, event: HookEvent, *occasions: Occasion) -> None:
        """Run hooks beside everything else: nothing depends on their answers."""
        if self.has(event):
            self._own(asyncio.ensure_future(self.run(event, *occasions)))

    async def aclose(self) -> None:
        """End the hooks that run beside the session."""
        for task in [*self._detached]:
            task.cancel()
        if self._detached:
            await asyncio.wait([*self._detached])

    def _matching(self, event: HookEvent, occasion: Occasion) -> list[Hook]:
        """Return the hooks that match, of equal ones the first, which is the user's."""
        found: dict[tuple[str, tuple[str, ...] | None], Hook] = {}
        for hook in self.hooks:
            if hook.event is not event or not self._concerns(hook, event, occasion):
                continue
            key = (hook.command, hook.args)
            if (first := found.get(key)) is None:
                found[key] = hook
            elif hook.fails_closed:
                found[key] = replace(first, fails_closed=True)
        return list(found.values())

    def _concerns(self, hook: Hook, event: HookEvent, occasion: Occasion) -> bool:
        if occasion.subjects and not matches(hook.matcher, occasion.subjects):
            return False
        return event not in TOOL_EVENTS or occasion.call is None or holds(hook.condition, occasion.call)

    async def _answer(self, hook: Hook, occasion: Occasion) -> HookAnswer:
        """Run one hook; report its message for the user, and its failure."""
        if refusal := await asyncio.to_thread(self._refusal, hook):
            answer, duration_s = HookAnswer(failure=refusal, is_broken=True), None
        else:
            fields = {**occasion.fields, "hook_event_name": str(hook.event)}
            data = json.dumps(fields, ensure_ascii=False, default=str).encode("utf-8", "replace")
            outcome = await self.processes.run(hook, data)
            answer, duration_s = read_answer(hook.event, outcome), outcome.duration_s
            await self._log(hook, outcome, answer)
        self._report(hook, answer, duration_s)
        if answer.failure and hook.fails_closed and hook.event in _CAN_FAIL_CLOSED:
            reason = f"the action needs the hook, which failed: {answer.failure}"
            decision = Decision.DENY if hook.event in DECIDING else None
            return HookAnswer(decision=decision, blocks=True, reason=reason)
        return answer

    def _report(self, hook: Hook, answer: HookAnswer, duration_s: float | None) -> None:
        record = self.statistics(hook)
        if duration_s is not None:
            record.runs += 1
            record.durations_s.append(duration_s)
        is_news = answer.failure != record.failure
        record.failure, record.is_broken = answer.failure, answer.is_broken
        record.last = answer.failure or _result_text(answer)
        if answer.failure and is_news:
            head = "Hook broken" if answer.is_broken else "Hook failed"
            self._notify(Notice(level="error", text=f"{head}: {hook.name}: {safe_line(answer.failure)}."))
        if answer.message:
            self._notify(Notice(level="warning", text=f"{hook.name}: {safe_line(answer.message)}"))

    async def _log(self, hook: Hook, outcome: HookOutcome, answer: HookAnswer) -> None:
        """Write what a hook has printed to the log, in a thread: it is redacted, and may be long."""
        lines = printed_lines(hook.event, outcome)
        level = logging.WARNING if answer.failure else logging.INFO
        if lines and self._logger.isEnabledFor(level):
            result = safe_line(answer.failure or _result_text(answer))
            text = "\n  ".join((f"hook {hook.name}: {result}", *lines))
            await asyncio.to_thread(self._logger.log, level, "%s", text)

    def _detach(self, hook: Hook, occasion: Occasion) -> None:
        self._own(asyncio.ensure_future(self._answer(hook, occasion)))

    def _own(self, task: asyncio.Future[Any]) -> None:
        assert isinstance(task, asyncio.Task)
        self._detached.add(task)
        task.add_done_callback(self._detached.discard)

    async def _await_slow(
        self, tasks: Sequence[asyncio.Future[Any]], hooks: Sequence[Hook], on_slow: Callable[[str], None]
    ) -> None:
        _, running = await asyncio.wait(tasks, timeout=SLOW_S)
        if running:
            names = [hook.name for hook, task in zip(hooks, tasks, strict=True) if task in running]
            on_slow(f"Waiting for the hook{'s'[: len(names) != 1]} {', '.join(names)} …")


def merged(answers: Sequence[tuple[Hook, int, HookAnswer]]) -> HookVerdict:
    """Return several answers as one: deny before ask before allow. A project's hook can only tighten: its
    allow counts as no opinion, and what the user's own replaces it does not replace."""
    decisions = [(hook, answer, _opinion(hook, answer)) for hook, _, answer in answers]
    decision = next((one for one in _STRICTEST if any(found is one for _, _, found in decisions)), None)
    blocking = [(hook, answer) for hook, _, answer in answers if answer.blocks]
    if blocking:
        deciding = blocking
    else:
        deciding = [(hook, answer) for hook, answer, found in decisions if found and found is decision]
    reasons = dict.fromkeys(answer.reason for _, answer in deciding if answer.reason)
    ranked = sorted(answers, key=lambda one: not _is_of_project(one[0]))  # the user's own come last, and win
    updates = [(hook, at, answer) for hook, at, answer in ranked if answer.updated_input is not None]
    outputs = [answer.updated_output for _, _, answer in ranked if answer.updated_output is not None]
    ending = next((answer for _, _, answer in answers if answer.ends_turn), None)
    return HookVerdict(
        decision=decision,
        blocks=bool(blocking),
        reason="\n".join(reasons),
        hook=deciding[0][0].name if deciding else "",
        updated_input=updates[-1][2].updated_input if updates else None,
        updated_by=updates[-1][0].name if updates else "",
        is_updated_by_project=bool(updates) and _is_of_project(updates[-1][0]),
        updated_at=updates[-1][1] if updates else 0,
        updated_output=outputs[-1] if outputs else None,
        context="\n".join(dict.fromkeys(answer.context for _, _, answer in answers if answer.context)),
        ends_turn=ending is not None,
        stop_reason=ending.stop_reason if ending is not None else "",
    )


def _opinion(hook: Hook, answer: HookAnswer) -> Decision | None:
    return None if _is_of_project(hook) and answer.decision is Decision.ALLOW else answer.decision


def _is_of_project(hook: Hook) -> bool:
    return hook.source.scope is ExtensionScope.PROJECT


def _result_text(answer: HookAnswer) -> str:
    if answer.decision is not None:
        return str(answer.decision)
    if answer.blocks:
        return "block"
    return "stop" if answer.ends_turn else "ok"
