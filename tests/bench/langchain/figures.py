"""Rows of the table, and the arithmetic behind them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One row."""

    name: str
    shown: str
    bar: str = ""
    is_met: bool | None = None
    """None where there is no bar."""

    def __str__(self) -> str:
        verdict = {True: "ok", False: "MISSED", None: ""}[self.is_met]
        return f"| {self.name:<66} | {self.shown:>26} | {self.bar:>12} | {verdict:<6} |"


HEAD = (
    f"| {'figure':<66} | {'here':>26} | {'bar':>12} |        |\n|{'-' * 68}|{'-' * 28}|{'-' * 14}|--------|"
)


def at_most(name: str, value: float, bar: float, unit: str, note: str = "") -> Figure:
    return Figure(name, f"{value:.3g} {unit}{note}", f"≤ {bar:.3g} {unit}", value <= bar)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` % of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)
