"""What model calls have cost, by turn and by model: the one book that every total is read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from forge_core.llm.models import TokenUsage


@dataclass(frozen=True, slots=True)
class Spending:
    """The sum of some calls."""

    usage: TokenUsage = field(default_factory=TokenUsage)
    known_usd: Decimal | None = None
    """Of the calls whose price is known; None where that is none of them. `usage.cost_usd` is None as soon as
    one is unknown."""

    @classmethod
    def of(cls, usage: TokenUsage) -> Spending:
        """What one call has cost."""
        return cls(usage, usage.cost_usd)

    def __add__(self, other: Spending) -> Spending:
        prices = [part.known_usd for part in (self, other) if part.known_usd is not None]
        known = sum(prices, Decimal(0)) if prices else None
        return Spending(self.usage + other.usage, known)


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    turn: int
    model: str
    spending: Spending
    estimate: TokenUsage | None = None
    """Of a cut call whose count may still come."""


class SpendingBook:
    """Adds up calls under the turn that made them. Grows with turns and models, not with calls."""

    def __init__(self) -> None:
        self.turn = 0
        """The one that calls are made in; 0 before the first."""
        self.counted = Spending()
        """The whole without the estimates of cut calls."""
        self._counted: dict[tuple[int, str], Spending] = {}
        self._estimates: list[_Entry] = []

    def add(self, usage: TokenUsage, model: str) -> None:
        """Adds a call of the present turn."""
        self._count(self.turn, model, usage)

    def add_estimate(self, usage: TokenUsage, model: str) -> None:
        """Adds a cut call of the present turn, whose count may still come."""
        self._estimates.append(_Entry(self.turn, model, Spending.of(usage), usage))

    def replace_estimate(self, estimate: TokenUsage, counted: TokenUsage, model: str) -> bool:
        """Puts the count in the place of an estimate, under the turn that was cut; whether it was there."""
        found = next((entry for entry in self._estimates if entry.estimate is estimate), None)
        if found is None:
            return False
        self._estimates.remove(found)
        self._count(found.turn, model, counted)
        return True

    def forget_turns(self) -> None:
        """What was spent so far belongs to no turn any more: it moves to turn 0."""
        counted, estimates = self._counted, self._estimates
        self.turn, self._counted, self._estimates = 0, {}, []
        for (_, model), spending in counted.items():
            self._put(0, model, spending)
        self._estimates = [_Entry(0, entry.model, entry.spending, entry.estimate) for entry in estimates]

    def clear(self) -> None:
        """Forgets everything."""
        self.turn, self.counted = 0, Spending()
        self._counted.clear()
        self._estimates.clear()

    def total(self) -> Spending:
        """The whole; its price does not grow with the number of turns."""
        return sum((entry.spending for entry in self._estimates), self.counted)

    def by_model(self) -> dict[str, Spending]:
        """The parts of each model, in the order of their first call."""
        parts: dict[str, Spending] = {}
        for _, model, spending in self._rows():
            parts[model] = parts.get(model, Spending()) + spending
        return parts

    def by_turn(self) -> dict[int, Spending]:
        """The parts of each turn, the oldest first."""
        parts: dict[int, Spending] = {}
        for turn, _, spending in self._rows():
            parts[turn] = parts.get(turn, Spending()) + spending
        return dict(sorted(parts.items()))

    def _rows(self) -> list[tuple[int, str, Spending]]:
        counted = [(turn, model, spending) for (turn, model), spending in self._counted.items()]
        return counted + [(entry.turn, entry.model, entry.spending) for entry in self._estimates]

    def _count(self, turn: int, model: str, usage: TokenUsage) -> None:
        self._put(turn, model, Spending.of(usage))
        self.counted += Spending.of(usage)

    def _put(self, turn: int, model: str, spending: Spending) -> None:
        key = turn, model
        self._counted[key] = self._counted.get(key, Spending()) + spending
