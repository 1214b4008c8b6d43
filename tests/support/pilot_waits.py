"""Shorter waits of Textual's pilot.

After each key it waits until the process has worked for less than a twentieth of a period. The period is 20 ms,
which made up most of the time of the screen's tests; with a quarter of it the rule is the same.
"""

from __future__ import annotations

from textual import _wait

PERIOD_S = 0.005


def shorten_pilot_waits() -> None:
    _wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = PERIOD_S, PERIOD_S / 20
