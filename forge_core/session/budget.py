"""The limits of a session: cost, tokens, calls and time, for a turn, the session, the day and the month.

The client awaits `admit` before every model call, also those of summaries and sub-agents; the tracker reports
what each has cost to `spent`. At a limit the user is asked to raise it; without a user the call is refused.
The estimate of a call counts until its cost is known, so that the calls of several sub-agents, and below a
limit of the day or the month those of several processes, cannot pass a limit together. Below such a limit, a
call whose price is unknown reserves all that is left. Near a limit a call waits for those that are running;
so each can pass it by no more than its own estimate was too low.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from forge_core.approval import Question, Questioner, QuestionOption, QuestionRequest
from forge_core.errors import BudgetExceededError
from forge_core.llm.account.call_estimate import PlannedCall
from forge_core.llm.models import TokenUsage
from forge_core.sanitize import safe_line
from forge_core.session.spending_limits import LIMITS, SHARED, LimitKind, LimitScope, Measure
from forge_core.store.spending_ledger import SpendingLedger

WARN_SHARE = Decimal("0.8")
_FIRST_ANSWER_TOKENS = 500
"""Assumed for the first answer."""
_CHARS_PER_TOKEN = 3.5
"""Assumed for the first request; code has fewer characters per token than prose."""
_RECENT_CALLS = 25
_PATIENCE_S = 60.0
_POLL_S = 0.05
"""Between looks at the reservations of other processes, which send no signal."""
STOP = "Stop"


@dataclass(slots=True)
class _Totals:
    cost: Decimal = Decimal(0)
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Recent:
    """The latest calls, from which the next one is estimated."""

    answers: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT_CALLS))
    chars_per_token: float = _CHARS_PER_TOKEN
    cost: Decimal = Decimal(0)
    """Of the last call."""
    reporting: set[str] = field(default_factory=set)
    """The models whose calls have reported a cost."""

    def is_priced(self, call: PlannedCall) -> bool:
        """Return whether anything is known of what a call will cost."""
        return call.model in self.reporting or call.cost(1, 1) is not None

    def needs(self, call: PlannedCall) -> Mapping[Measure, Decimal]:
        """Return what a call will probably need."""
        usual = int(statistics.median(self.answers)) if self.answers else _FIRST_ANSWER_TOKENS
        answer = call.max_tokens or usual
        prompt = int(call.chars / self.chars_per_token)
        cost = call.cost(prompt, answer)
        return {
            Measure.COST: self.cost if cost is None else cost,
            Measure.TOKENS: Decimal(prompt + answer),
            Measure.CALLS: Decimal(1),
            Measure.TIME: Decimal(0),
        }

    def add(self, usage: TokenUsage, call: PlannedCall | None = None) -> None:
        """Add what a call has used; `call` is what was known of it before."""
        if usage.estimated or not usage.prompt_tokens:
            return
        self.answers.append(usage.completion_tokens)
        self.cost = usage.cost_usd or Decimal(0)
        if call is None:
            return
        if usage.cost_usd is not None:
            self.reporting.add(call.model)
        if call.chars:
            self.chars_per_token = min(max(call.chars / usage.prompt_tokens, 1.0), 8.0)


@dataclass(frozen=True, slots=True, eq=False)
class _RunningCall:
    """A call that may be made, until its cost is reported."""

    planned: PlannedCall
    needs: Mapping[Measure, Decimal]
    reservation: int | None
    """Its number, if it is reserved for all sessions."""


class SpendingBudget:
    """What one session may spend, and what it has spent."""

    def __init__(
        self,
        limits: Mapping[str, float | None],
        ledger: SpendingLedger,
        ask: Questioner,
        elapsed: Callable[[], float],
        on_warning: Callable[[str], None] = lambda text: None,
        *,
        is_free: bool = False,
        local: str = "",
        is_attended: bool = True,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """`limits` holds amounts by the name of their setting, `elapsed` returns seconds without those spent
        waiting for the user. If `is_free`, a call without a price costs nothing; `local` is the host of a
        local endpoint, which may report costs all the same. `is_attended`: whether there is a user to ask.
        `patience_s`: how long a call waits for running calls of other sessions."""
        self._limits = {name: Decimal(str(value)) for name, value in limits.items() if value is not None}
        self._ledger = ledger
        self._ask = ask
        self._elapsed = elapsed
        self._on_warning = on_warning
        self._is_free = is_free
        self._local = local
        self._is_attended = is_attended
        self._patience_s = patience_s
        self._session, self._turn = _Totals(), _Totals()
        self._recent = _Recent()
        self._turn_start: float | None = None
        self._warned: set[tuple[str, Decimal]] = set()
        self._changed: set[str] = set()
        """The limits that the user has changed in this session."""
        self._unpriced = ""
        """A model whose price is unknown."""
        self._accepts_unpriced = False
        self._is_waiting = False
        self._announced = ""
        """The model whose unknown price the user was notified of."""
        self._running: list[_RunningCall] = []
        self._answered: deque[_RunningCall] = deque()
        """Those of them that were answered, the first one first."""
        self._has_ended = asyncio.Event()
        """Set when a call does not run any more."""
        self._admission = asyncio.Lock()
        """Held while a call is checked: two calls never ask at once."""

    def use_endpoint(self, *, is_free: bool, local: str) -> None:
        """Judge the next calls by another endpoint; see `__init__`. The limits and what was spent stay."""
        self._is_free, self._local = is_free, local
        self._unpriced, self._accepts_unpriced, self._announced = "", False, ""

    def restore(
        self,
        usages: Iterable[TokenUsage],
        state: Mapping[str, Any],
        fixed: Iterable[str] = (),
    ) -> None:
        """Add what was spent before the session was continued, and what `state` returned then. The limits
        `fixed` stay as they are."""
        for usage in usages:
            self._add(self._session, usage, None)
            self._session.calls += usage.total_tokens > 0
            self._recent.add(usage)
        self._session.seconds += _number(state.get("seconds")) or 0.0
        saved = state.get("limits")
        for name, value in (saved if isinstance(saved, dict) else {}).items():
            if any(kind.setting == name for kind in LIMITS) and name not in fixed:
                amount = _number(value)
                self.set_limit(name, None if amount is None else Decimal(str(amount)))

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes, JSON-ready."""
        own = {kind.setting for kind in LIMITS if kind.scope not in SHARED}
        limits = {
            name: None if (limit := self._limits.get(name)) is None else float(limit)
            for name in sorted(self._changed & own)
        }
        return {"limits": limits, "seconds": round(self._session.seconds + self._passed(), 3)}

    def begin_turn(self, *, is_retry: bool = False) -> None:
        """Start a turn, or go on with the last one."""
        if not is_retry:
            self._turn = _Totals()
            self._warned = {one for one in self._warned if not one[0].startswith(("max_turn", "turn"))}
        self._turn_start = self._elapsed()

    def end_turn(self) -> None:
        passed = self._passed()
        self._turn_start = None
        self._turn.seconds += passed
        self._session.seconds += passed

    def timeout(self) -> float | None:
        """Return the seconds after which this turn must end; None without a limit, or where the user is asked
        instead, before the next model call."""
        if self._is_attended:
            return None
        left = [
            float(self._limits[kind.setting] - self.spent_on(kind))
            for kind in LIMITS
            if kind.measure is Measure.TIME and kind.setting in self._limits
        ]
        return max(min(left), 0.0) if left else None

    def limit(self, kind: LimitKind) -> Decimal | None:
        return self._limits.get(kind.setting)

    def set_limit(self, setting: str, amount: Decimal | None) -> None:
        """Change a limit for this session; None removes it."""
        self._changed.add(setting)
        if amount is None:
            self._limits.pop(setting, None)
        else:
            self._limits[setting] = amount

    def spent_on(self, kind: LimitKind) -> Decimal:
        """Return what counts towards a limit so far."""
        if kind.scope is LimitScope.DAY:
            return self._ledger.day()
        if kind.scope is LimitScope.MONTH:
            return self._ledger.month()
        totals = self._turn if kind.scope is LimitScope.TURN else self._session
        match kind.measure:
            case Measure.COST:
                return totals.cost
            case Measure.TOKENS:
                return Decimal(totals.tokens)
            case Measure.CALLS:
                return Decimal(totals.calls)
            case Measure.TIME:
                return Decimal(str(totals.seconds + self._passed()))

    def spent(self, usage: TokenUsage, model: str, replaced: TokenUsage | None) -> None:
        """Count a call, or the difference to the estimate that its usage replaces."""
        for totals in (self._session, self._turn):
            self._add(totals, usage, replaced)
        ended = self._answered.popleft() if replaced is None and self._answered else None
        if replaced is None:
            self._recent.add(usage, None if ended is None else ended.planned)
        self._ledger.add(_cost(usage) - _cost(replaced), self._local)
        if ended is not None:  # only now, or others would miss the call for a moment
            self._end(ended)
        if usage.cost_usd is None and usage.total_tokens and not self._is_free:
            self._unpriced = self._unpriced or model or "the model"
        self._warn()

    async def admit(self, call: PlannedCall) -> contextlib.AbstractContextManager[None]:
        """Let a call be made, within the context manager that is returned: an exception there means that the
        call brought no answer.

        Raises:
            BudgetExceededError: it would exceed a limit, and the user does not raise it.
        """
        async with self._admission:
            await self._check_prices()
            until = asyncio.get_running_loop().time() + self._patience_s
            while isinstance(found := self._reserved_or_exceeded(call), tuple):
                kind, need = found
                if await self._waits(kind, need, until):
                    continue
                raised = await self._ask_to_raise(kind, need)
                if raised is None:
                    raise BudgetExceededError(f"{self._reached(kind, need)} Stopped.")
                self.set_limit(kind.setting, raised)
            self._warn()
            self._session.calls += 1
            self._turn.calls += 1
        return found

    def _reserved_or_exceeded(
        self, call: PlannedCall
    ) -> contextlib.AbstractContextManager[None] | tuple[LimitKind, Decimal]:
        """Return the first limit that the call would exceed, and what it needs; if there is none, reserve
        that, and return what `admit` returns."""
        if not any(kind.scope in SHARED for kind in self._set()):
            return self._exceeded(call) or self._started(call, None)
        reservations, is_known = self._ledger.reservations, self._is_price_known(call)
        with reservations.exclusive():
            reserved = reservations.total()
            if (found := self._exceeded(call, reserved)) is not None:
                return found
            need = self._recent.needs(call)[Measure.COST]
            number = reservations.reserve(need if is_known else max(need, self._left() - reserved))
        if not is_known and self._announced != call.model:
            self._announced = call.model
            self._on_warning(
                f"The price of {safe_line(call.model)} is unknown. Until its first answer says what it cost, "
                "calls of other sessions wait, so that the limit is not exceeded together."
            )
        return self._started(call, number)

    def _started(self, call: PlannedCall, reservation: int | None) -> contextlib.AbstractContextManager[None]:
        running = _RunningCall(call, self._recent.needs(call), reservation)
        self._running.append(running)
        return self._answering(running)

    @contextlib.contextmanager
    def _answering(self, call: _RunningCall) -> Iterator[None]:
        """End the call at once if it brings no answer, else when its cost is reported."""
        try:
            yield
        except BaseException:
            self._end(call)
            raise
        self._answered.append(call)

    def _end(self, call: _RunningCall) -> None:
        if call in self._running:
            self._running.remove(call)
        if call.reservation is not None:
            self._ledger.reservations.release(call.reservation)
        self._has_ended.set()

    def _need_of_running(self, kind: LimitKind) -> Decimal:
        """Return what the session's own running calls need; their number is counted already."""
        if kind.scope in SHARED or kind.measure is Measure.CALLS:
            return Decimal(0)
        return sum((one.needs[kind.measure] for one in self._running), Decimal(0))

    def _is_price_known(self, call: PlannedCall) -> bool:
        """Return whether the cost of a call can be estimated, or the user accepts that it cannot."""
        return self._accepts_unpriced or self._never_charges() or self._recent.is_priced(call)

    def _left(self) -> Decimal:
        """Return what is left of the limits that sessions share."""
        shared = [kind for kind in self._set() if kind.scope in SHARED]
        return min(self._limits[kind.setting] - self.spent_on(kind) for kind in shared)

    async def _waits(self, kind: LimitKind, need: Decimal, until: float) -> bool:
        """Wait a moment and return True, if a limit would be exceeded only together with running calls."""
        spent, limit = self.spent_on(kind), self._limits[kind.setting]
        is_shared = kind.scope in SHARED
        if not (is_shared or self._need_of_running(kind)) or spent >= limit or spent + need > limit:
            return False
        if asyncio.get_running_loop().time() >= until:
            return False
        if is_shared and not self._is_waiting and self._ledger.reservations.of_others():
            self._is_waiting = True
            self._on_warning(
                f"Waiting for running calls of other sessions: together the limit of {kind.label} would be "
                "exceeded."
            )
        self._has_ended.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_POLL_S):
                await self._has_ended.wait()
        return True

    def _exceeded(
        self, call: PlannedCall, reserved: Decimal = Decimal(0)
    ) -> tuple[LimitKind, Decimal] | None:
        """Return the first limit that the call would exceed, and what it needs; `reserved` is what running
        calls need of the limits that sessions share."""
        kinds = list(self._set())
        needs = self._recent.needs(call) if kinds else {}
        for kind in kinds:
            need, spent, limit = needs[kind.measure], self.spent_on(kind), self._limits[kind.setting]
            taken = spent + (reserved if kind.scope in SHARED else self._need_of_running(kind))
            if kind.measure is Measure.COST and not need and self._never_charges():
                continue
            if taken + need > limit or (taken >= limit and kind.measure is not Measure.CALLS):
                return kind, need
        return None

    def _never_charges(self) -> bool:
        """Return whether calls are free as far as is known: no cost was reported this month."""
        return self._is_free and not self._ledger.has_charged(self._local)

    async def _check_prices(self) -> None:
        """Ask before another call whose price is unknown where there is a limit of cost."""
        kinds = [kind for kind in self._set() if kind.measure is Measure.COST]
        if not kinds or not self._unpriced or self._accepts_unpriced:
            return
        text = (
            f"The price of {safe_line(self._unpriced)} is unknown, so {kinds[0].label} cannot be limited. A "
            "limit of tokens can."
        )
        options = (QuestionOption(STOP, "End here; nothing is lost."), QuestionOption("Continue without it"))
        answer = await self._answer(Question(f"{text} Continue?", "Unknown price", options))
        if answer in (None, STOP):
            raise BudgetExceededError(f"{text} Stopped.")
        self._accepts_unpriced = True

    async def _ask_to_raise(self, kind: LimitKind, need: Decimal) -> Decimal | None:
        """Return the new limit; None for none."""
        limit, spent = self._limits[kind.setting], self.spent_on(kind)
        offered = max(limit * 2, spent + need * 2, Decimal(1))
        options = (
            QuestionOption(STOP, "End here; nothing is lost."),
            QuestionOption(f"Raise it to {kind.measure.text(offered)}"),
        )
        problem = ""
        while True:
            text = f"{problem}{self._reached(kind, need)} Raise it?"
            answer = await self._answer(Question(text, "Limit", options))
            if answer in (None, STOP):
                return None
            if answer == options[1].label:
                return offered
            try:
                return kind.measure.parse(answer or "")
            except ValueError as error:
                problem = f"{answer!r} must be {error}. "

    async def _answer(self, question: Question) -> str | None:
        reply = await self._ask(QuestionRequest("", (question,)))
        if reply.declined or not reply.answers or not reply.answers[0]:
            return None
        return reply.answers[0][0]

    def _reached(self, kind: LimitKind, need: Decimal) -> str:
        """Return why a call that needs so much is not made."""
        text, limit, spent = kind.measure.text, self._limits[kind.setting], self.spent_on(kind)
        if spent >= limit:
            return f"The limit of {kind.label} is reached: {text(spent)} of {text(limit)}."
        is_shared = kind.scope in SHARED
        others = self._ledger.reservations.of_others() if is_shared else self._need_of_running(kind)
        whose = "running calls of other sessions" if is_shared else "running calls"
        running = f", {whose} need about {text(others)}" if others else ""
        return (
            f"The next model call would exceed the limit of {kind.label}: {text(spent)} of {text(limit)} is "
            f"used{running}, and it needs about {text(need)}."
        )

    def _warn(self) -> None:
        """Notify the user once of each limit of which the largest part is used."""
        for kind in self._set():
            limit, spent = self._limits[kind.setting], self.spent_on(kind)
            if not limit or spent < limit * WARN_SHARE or (kind.setting, limit) in self._warned:
                continue
            self._warned.add((kind.setting, limit))
            text, share = kind.measure.text, int(100 * spent / limit)
            self._on_warning(
                f"{share} % of the limit of {kind.label} is used: {text(spent)} of {text(limit)}."
            )

    def _set(self) -> Iterator[LimitKind]:
        """Yield the limits that apply."""
        for kind in LIMITS:
            if kind.setting in self._limits:
                yield kind

    def _passed(self) -> float:
        return 0.0 if self._turn_start is None else self._elapsed() - self._turn_start

    @staticmethod
    def _add(totals: _Totals, usage: TokenUsage, replaced: TokenUsage | None) -> None:
        totals.cost += _cost(usage) - _cost(replaced)
        totals.tokens += usage.total_tokens - (0 if replaced is None else replaced.total_tokens)


def _cost(usage: TokenUsage | None) -> Decimal:
    return Decimal(0) if usage is None or usage.cost_usd is None else usage.cost_usd


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None
