"""The limits that a session can have: of cost, tokens, calls and time, for different spans."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from forge_core.config import amounts
from forge_core.durations import time_so_far


class LimitScope(StrEnum):
    TURN = "turn"
    SESSION = "session"
    DAY = "day"
    MONTH = "month"


class Measure(StrEnum):
    COST = "cost"
    TOKENS = "tokens"
    CALLS = "calls"
    TIME = "time"

    def text(self, amount: Decimal) -> str:
        """Return an amount for the user."""
        if self is Measure.COST:
            return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.4f}"
        return time_so_far(float(amount)) if self is Measure.TIME else f"{int(amount):,}"

    def parse(self, text: str) -> Decimal:
        """Return the amount in a text. Raises ValueError whose text completes "it must be …"."""
        if self is Measure.COST:
            return Decimal(str(amounts.dollars(text)))
        return Decimal(str(amounts.seconds(text) if self is Measure.TIME else amounts.count(text)))


@dataclass(frozen=True, slots=True)
class LimitKind:
    """A limit that can be set."""

    setting: str
    scope: LimitScope
    measure: Measure

    @property
    def label(self) -> str:
        """What is limited: "the session's cost"."""
        return f"the {self.scope}'s {self.measure}"


LIMITS = (
    LimitKind("max_turn_cost", LimitScope.TURN, Measure.COST),
    LimitKind("max_turn_tokens", LimitScope.TURN, Measure.TOKENS),
    LimitKind("turn_time_limit", LimitScope.TURN, Measure.TIME),
    LimitKind("max_cost", LimitScope.SESSION, Measure.COST),
    LimitKind("max_tokens", LimitScope.SESSION, Measure.TOKENS),
    LimitKind("max_calls", LimitScope.SESSION, Measure.CALLS),
    LimitKind("time_limit", LimitScope.SESSION, Measure.TIME),
    LimitKind("budget_day", LimitScope.DAY, Measure.COST),
    LimitKind("budget_month", LimitScope.MONTH, Measure.COST),
)
SHARED = (LimitScope.DAY, LimitScope.MONTH)
"""The scopes in which all sessions count together."""
