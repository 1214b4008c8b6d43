"""How much a batch may spend, and how many of its tasks run at once."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal

_SMALLEST_USD = Decimal("0.000001")
_ONE_HALVING_S = 30.0
"""The runs that were started before a halving meet the same limit for a while; that counts once."""


class BatchBudget:
    """The cost of a batch: what its attempts have spent, and what is reserved for running ones."""

    def __init__(self, limit_usd: Decimal | None, each_usd: Decimal | None, parallel: int) -> None:
        """Without a limit for each task, each gets its share of the whole by the number that may run."""
        self.limit_usd = limit_usd
        if each_usd is None and limit_usd is not None:
            each_usd = (limit_usd / parallel).quantize(_SMALLEST_USD, ROUND_DOWN)
        self.each_usd = each_usd
        self.spent_usd = Decimal(0)

    def left_usd(self, running_usd: Iterable[Decimal]) -> Decimal | None:
        """Return what is neither spent nor reserved, given what each running task has spent so far; None
        without a limit.

        Reserved is what each may cost, or has cost already: a run can pass its limit by its last call.
        """
        if self.limit_usd is None:
            return None
        each = self.each_usd or Decimal(0)
        return self.limit_usd - self.spent_usd - sum(max(each, cost) for cost in running_usd)

    def fits(self, running_usd: Iterable[Decimal]) -> bool:
        """Return whether another task may start."""
        left = self.left_usd(running_usd)
        return left is None or (self.each_usd is not None and self.each_usd <= left)

    def is_reached(self, running_usd: Iterable[Decimal]) -> bool:
        """Return whether the limit is reached, with what running tasks have spent so far."""
        return self.limit_usd is not None and self.spent_usd + sum(running_usd) >= self.limit_usd


class Parallelism:
    """How many tasks may run at once: half as many after the provider has limited the rate of requests, one
    more after each quiet while. Times are in seconds."""

    def __init__(self, most: int, quiet_s: float) -> None:
        self.limit = most
        self._most = most
        self._quiet_s = quiet_s
        self._quiet_since = 0.0
        self._halved: float | None = None

    def rate_limited(self, now: float) -> bool:
        """Halve it, and return whether that was done."""
        self._quiet_since = now
        if self.limit == 1 or (self._halved is not None and now - self._halved < _ONE_HALVING_S):
            return False
        self.limit, self._halved = self.limit // 2, now
        return True

    def tick(self, now: float) -> None:
        """Raise it by one if it was quiet for long enough."""
        if self.limit < self._most and now - self._quiet_since >= self._quiet_s:
            self.limit, self._quiet_since = self.limit + 1, now
