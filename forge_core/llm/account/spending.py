"""The cost of model calls, by turn and by model; every total is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from forge_core.llm.models import TokenUsage

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Spending:
    """The sum of some calls."""

    usage: TokenUsage = field(default_factory=TokenUsage)
    known_usd: Decimal | None = None
    """Of the calls whose price is known; None where that is none of them. `usage.cost_usd` is None as soon as
    one is unknown."""

    @classmethod
    def of(cls, usage: TokenUsage) -> Spending:
        """Return the spending of one call."""
        return cls(usage, usage.cost_usd)

    def __add__(self, other: Spending) -> Spending:
        prices = [part.known_usd for part in (self, other) if part.known_usd is not None]
        known = sum(prices, Decimal(0)) if prices else None
        return Spending(self.usage + other.usage, known)


@dataclass(frozen=True, slots=True, eq=False)
class _Estimate:
    """A cut call whose count may still come."""

    turn: int
    model: str
    usage: TokenUsage


class SpendingBook:
    """Adds up calls under the turn that made them. Grows with turns and models, not with calls."""

    def __init__(self) -> None:
        self.turn = 0
        """The turn that calls are made in; 0 before the first."""
        self.counted = Spending()
        """The total without the estimates of cut calls."""
        self._counted: dict[tuple[int, str], Spending] = {}
        self._estimates: list[_Estimate] = []

    def add(self, usage: TokenUsage, model: str) -> None:
        """Add a call of the present turn."""
        self._count(self.turn, model, usage)

    def add_estimate(self, usage: TokenUsage, model: str) -> None:
        """Add a cut call of the present turn, whose count may still come."""
        self._estimates.append(_Estimate(self.turn, model, usage))

    def replace_estimate(self, estimate: TokenUsage, counted: TokenUsage, model: str) -> bool:
        """Replace an estimate by the count, under the turn that was cut; return whether there was one."""
        found = next((entry for entry in self._estimates if entry.usage is estimate), None)
        if found is None:
            return False
        self._estimates.remove(found)
        self._count(found.turn, model, counted)
        return True

    def forget_turns(self, after: int = 0) -> None:
        """Attribute what the turns after number `after` have spent to turn 0; it becomes the present one."""
        self._counted = _sums(
            ((turn if turn <= after else 0, model), spending)
            for (turn, model), spending in self._counted.items()
        )
        self._estimates = [
            entry if entry.turn <= after else replace(entry, turn=0) for entry in self._estimates
        ]
        self.turn = 0

    def total(self) -> Spending:
        """Return the total; the time that this takes does not grow with the number of turns."""
        return sum((Spending.of(entry.usage) for entry in self._estimates), self.counted)

    def by_model(self) -> dict[str, Spending]:
        """Return the total of each model, in the order of their first call."""
        estimates = ((entry.model, Spending.of(entry.usage)) for entry in self._estimates)
        return _sums([*self._counted_models(), *estimates])

    def by_turn(self) -> dict[int, Spending]:
        """Return the total of each turn, the oldest first."""
        counted = ((turn, spending) for (turn, _), spending in self._counted.items())
        estimates = ((entry.turn, Spending.of(entry.usage)) for entry in self._estimates)
        return dict(sorted(_sums([*counted, *estimates]).items()))

    def _counted_models(self) -> Iterator[tuple[str, Spending]]:
        return ((model, spending) for (_, model), spending in self._counted.items())

    def _count(self, turn: int, model: str, usage: TokenUsage) -> None:
        key, spending = (turn, model), Spending.of(usage)
        self._counted[key] = self._counted.get(key, Spending()) + spending
        self.counted += spending


def _sums(parts: Iterable[tuple[Key, Spending]]) -> dict[Key, Spending]:
    sums: dict[Key, Spending] = {}
    for key, spending in parts:
        sums[key] = sums.get(key, Spending()) + spending
    return sums
