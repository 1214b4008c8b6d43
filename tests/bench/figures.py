"""The rows of the table: what was measured, the bar, and whether it is met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

NAME_CELLS, SHOWN_CELLS, BAR_CELLS = 58, 27, 24


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        if not seconds:
            return cls(float("nan"), float("nan"))
        ordered = sorted(seconds)
        return cls(statistics.median(ordered) * 1000, ordered[int(0.95 * (len(ordered) - 1))] * 1000)

    def __str__(self) -> str:
        return f"{self.p50:.1f}/{self.p95:.1f}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    name: str
    shown: str
    bar: str = ""
    is_met: bool | None = None
    """None where there is no bar."""

    def __str__(self) -> str:
        verdict = {True: "ok", False: "MISSED", None: ""}[self.is_met]
        return f"| {self.name:<{NAME_CELLS}} | {self.shown:>{SHOWN_CELLS}} | {self.bar:>{BAR_CELLS}} | {verdict:<6} |"


def header() -> str:
    """The table's first two lines."""
    names = f"| {'figure':<{NAME_CELLS}} | {'here':>{SHOWN_CELLS}} | {'bar':>{BAR_CELLS}} | {'':<6} |"
    return f"{names}\n|{'-' * (NAME_CELLS + 2)}|{'-' * (SHOWN_CELLS + 2)}|{'-' * (BAR_CELLS + 2)}|{'-' * 8}|"


def at_most(name: str, value: float, bar: float, unit: str) -> Figure:
    """A value that may not be above its bar; a NaN is a miss."""
    return Figure(name, f"{_short(value)} {unit}", f"≤ {bar:g} {unit}", value <= bar)


def spread(name: str, value: Spread, p50: float, p95: float) -> Figure:
    """Two values that may not be above their bars."""
    return Figure(name, f"{value} ms", f"≤ {p50:g}/{p95:g} ms", value.p50 <= p50 and value.p95 <= p95)


def flat(
    name: str, values: Sequence[float], ratio: float, slack: float, unit: str, most: float | None = None
) -> Figure:
    """Values of which the last may be `ratio` times the first, and at most `most`; a difference up to `slack`
    counts as none."""
    shown = " / ".join(map(_short, values))
    bar = f"≤ {ratio:g} x (+{slack:g} {unit})"
    is_met = values[-1] <= max(ratio * values[0], values[0] + slack)
    if most is not None:
        bar += f", ≤ {most:g}"
        is_met = is_met and values[-1] <= most
    return Figure(name, f"{shown} {unit}", bar, is_met)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
