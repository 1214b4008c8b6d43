"""A calendar of amounts: a column for each week, a row for each day of the week, darker for more."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from forge_core.commands.result import Tint

LEVELS = "░▒▓█"
"""From little to much: quarters of the days that have any amount."""
NOTHING = "·"
CATEGORY = 7
"""Of the colour of days that have an amount."""
LABEL_CELLS = 5
"""Of the names of the days, with the blank behind them."""
_WEEK_CELLS = 2
_DAYS = ("Mon", "", "Wed", "", "Fri", "", "Sun")


def weeks_in(width: int) -> int:
    """Return how many weeks fit into so many cells."""
    return max((width - LABEL_CELLS + 1) // _WEEK_CELLS, 1)


def calendar(amounts: Mapping[date, float], today: date, weeks: int) -> list[str]:
    """Return the rows of so many weeks up to the present one; the names of the months come first.

    `amounts` holds those of the days that have any, 0 for one that is not known: it shows as the least.
    """
    monday = today - timedelta(days=today.weekday() + 7 * (weeks - 1))
    shown = sorted(amount for day, amount in amounts.items() if amount and monday <= day <= today)
    rows = [_months(monday, weeks)]
    for weekday, name in enumerate(_DAYS):
        days = [monday + timedelta(days=7 * week + weekday) for week in range(weeks)]
        cells = [_cell(amounts.get(day), shown) for day in days if day <= today]
        rows.append(f"{name:<{LABEL_CELLS}}{' '.join(cells)}".rstrip())
    return rows


def legend(unit: str) -> str:
    """Return the row that says what the marks mean: "less ░ ▒ ▓ █ more"."""
    return f"{' ' * LABEL_CELLS}{NOTHING} none   less {' '.join(LEVELS)} more {unit}"


def bar(amount: float, most: float, cells: int) -> str:
    """Return a bar of up to `cells` cells, as long as the amount's share of `most`; any amount has a cell."""
    return "▇" * (max(round(cells * amount / most), 1) if amount and most else 0)


def tints(line: str, at: int) -> list[Tint]:
    """Return the colours of a row that begins at `at` in its text. Neighbours of one kind are joined, with
    the blanks between them."""
    found: list[Tint] = []
    for index, character in enumerate(line):
        if character != NOTHING and character not in LEVELS:
            continue
        category = None if character == NOTHING else CATEGORY
        last = found[-1] if found else None
        if last is not None and last.category == category and not line[last.end - at : index].strip():
            found[-1] = Tint(last.start, at + index + 1, category)
        else:
            found.append(Tint(at + index, at + index + 1, category))
    return found


def _cell(amount: float | None, shown: Sequence[float]) -> str:
    """Return the mark of a day; `shown` are all known amounts in order."""
    if amount is None:
        return NOTHING
    share = bisect_right(shown, amount) / len(shown) if amount else 0
    return LEVELS[max(math.ceil(share * len(LEVELS)) - 1, 0)]


def _months(monday: date, weeks: int) -> str:
    """Return the names of the months, each above the week in which its first day is."""
    line = " " * LABEL_CELLS
    for week in range(weeks):
        last = monday + timedelta(days=7 * week + 6)
        at = LABEL_CELLS + _WEEK_CELLS * week
        if last.day <= 7 and len(line) <= at:
            line = f"{line:<{at}}{_MONTHS[last.month - 1]} "
    return line.rstrip()


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
