"""When frames are due, by a clock that only the test moves."""

from __future__ import annotations

import pytest

from forge_tui.widgets.pacing import LOAD, SHORTEST_S, FramePacer
from tests.support.chat_app import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def drawn(pacer: FramePacer, clock: FakeClock, cost_s: float) -> None:
    with pacer.frame():
        clock.pass_(cost_s)


def test_the_first_frame_does_not_wait(clock: FakeClock) -> None:
    assert FramePacer(clock).wait_s() <= 0


def test_after_a_fast_frame_the_next_waits_the_minimum_interval(clock: FakeClock) -> None:
    pacer = FramePacer(clock)
    drawn(pacer, clock, 0.001)
    assert pacer.wait_s() == pytest.approx(SHORTEST_S - 0.001)


@pytest.mark.parametrize("cost_s", (0.005, 0.050, 1.0))
def test_a_slow_frame_is_followed_by_a_pause_proportional_to_its_duration(
    clock: FakeClock, cost_s: float
) -> None:
    pacer = FramePacer(clock)
    drawn(pacer, clock, cost_s)
    assert pacer.wait_s() == pytest.approx((LOAD - 1) * cost_s)


def test_a_frame_after_a_pause_does_not_wait_for_an_earlier_slow_frame(clock: FakeClock) -> None:
    pacer = FramePacer(clock)
    drawn(pacer, clock, 0.050)
    clock.pass_(1.0)
    assert pacer.wait_s() <= 0


def test_a_failed_frame_counts_for_pacing(clock: FakeClock) -> None:
    pacer = FramePacer(clock)
    with pytest.raises(ZeroDivisionError), pacer.frame():
        clock.pass_(0.050)
        raise ZeroDivisionError
    assert pacer.wait_s() == pytest.approx((LOAD - 1) * 0.050)
