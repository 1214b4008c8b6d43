"""Durations in words."""

from __future__ import annotations

import pytest

from forge_core.durations import time_so_far, time_taken


@pytest.mark.parametrize(
    ("seconds", "taken", "so_far"),
    [
        (0.04, "0.0 s", "0 s"),
        (9.94, "9.9 s", "9 s"),
        (9.96, "10 s", "9 s"),
        (59.6, "1 min 00 s", "59 s"),
        (61, "1 min 01 s", "1 min 01 s"),
        (3_660, "1 h 01 min", "1 h 01 min"),
    ],
)
def test_durations_are_human_readable(seconds: float, taken: str, so_far: str) -> None:
    assert (time_taken(seconds), time_so_far(seconds)) == (taken, so_far)
