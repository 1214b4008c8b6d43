"""Amounts as users write them, for settings and commands: dollars, tokens, durations and days."""

from __future__ import annotations

import re

TYPE_CHECKING = False  # importing typing for it would cost every start 10 ms
if TYPE_CHECKING:
    from typing import Any

_NUMBER = r"(\d+(?:\.\d+)?)"
_DURATION = re.compile(rf"(?:{_NUMBER} ?h ?)?(?:{_NUMBER} ?m(?:in)? ?)?(?:{_NUMBER} ?s?)?")
_UNITS_S = (3600, 60, 1)
_COUNT = re.compile(r"(\d+(?:\.\d+)?)([km]?)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_LARGEST = 1e9
_MOST_DAYS = 100_000


def dollars(value: Any) -> float:
    """Return US dollars: 5, "5.00", "$5". Raises ValueError whose text completes "it must be …"."""
    problem = 'an amount in US dollars, e.g. "2.50"'
    if isinstance(value, bool):
        raise ValueError(problem)
    try:
        amount = float(str(value).strip().removeprefix("$"))
    except ValueError as error:
        raise ValueError(problem) from error
    if not 0 <= amount < _LARGEST:
        raise ValueError(problem)
    return amount


def count(value: Any) -> int:
    """Return a number of tokens or calls: 50, "200k", "1.5M". Raises ValueError like `dollars`."""
    found = _COUNT.fullmatch(str(value).strip().lower().replace(",", "").replace("_", ""))
    if found is None or isinstance(value, bool):
        raise ValueError('a whole number, e.g. 50, "200k" or "1.5M"')
    number = float(found[1]) * _FACTORS[found[2]]
    if number != int(number) or number >= _LARGEST:
        raise ValueError('a whole number, e.g. 50, "200k" or "1.5M"')
    return int(number)


def seconds(value: Any) -> float:
    """Return a duration in seconds: 90, "90s", "30m", "1h30m". Raises ValueError like `dollars`."""
    text = str(value).strip().lower()
    found = _DURATION.fullmatch(text)
    if not text or found is None or isinstance(value, bool):
        raise ValueError('a duration, e.g. "90s", "30m" or "2h"')
    total = sum(float(part) * unit for part, unit in zip(found.groups(), _UNITS_S, strict=True) if part)
    if not 0 < total < _LARGEST:
        raise ValueError('a duration of more than 0 seconds, e.g. "90s", "30m" or "2h"')
    return total


def days(value: Any) -> int:
    """Return a number of days: 30, "90". Raises ValueError like `dollars`."""
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= _MOST_DAYS:
        raise ValueError(f"a whole number of days from 1 to {_MOST_DAYS:,}")
    return int(text)
