"""Money and parallelism of a batch."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from forge_core.batch.driver import BatchOptions
from forge_core.batch.limits import BatchBudget, Parallelism


def test_a_task_starts_only_if_its_reservation_fits() -> None:
    budget = BatchBudget(Decimal(2), Decimal(1), 8)
    new, half = Decimal(0), Decimal("0.5")
    assert budget.fits([new]) and budget.left_usd([new, half]) == 0 and not budget.fits([new, half])
    # One has passed its limit.
    assert budget.left_usd([Decimal("1.25")]) == Decimal("0.75") and not budget.fits([Decimal("1.25")])
    budget.spent_usd = Decimal("0.25")
    assert budget.left_usd([new]) == Decimal("0.75") and not budget.fits([new]) and budget.fits([])
    assert not budget.is_reached([half, Decimal(1)]) and budget.is_reached([Decimal(1), Decimal("0.75")])


def test_without_a_limit_for_each_a_task_gets_its_share() -> None:
    assert BatchBudget(Decimal(20), None, 8).each_usd == Decimal("2.5")
    assert BatchBudget(Decimal(1), None, 3).each_usd == Decimal("0.333333")
    assert BatchBudget(Decimal("0.0005"), None, 8).each_usd == Decimal("0.000062")
    free = BatchBudget(None, Decimal(1), 8)
    assert free.left_usd([]) is None and free.fits([]) and not free.is_reached([Decimal(1000)])


def test_each_retry_waits_twice_as_long(tmp_path: Path) -> None:
    options = BatchOptions(out=tmp_path)
    assert [options.wait_before_retry_s(tries) for tries in (1, 2, 3)] == [30.0, 60.0, 120.0]


def test_a_limited_rate_halves_the_parallelism_and_quiet_raises_it() -> None:
    parallelism = Parallelism(8, 120)
    assert parallelism.rate_limited(100.0) and parallelism.limit == 4
    assert not parallelism.rate_limited(110.0)  # by runs that were started before
    assert parallelism.rate_limited(131.0) and parallelism.limit == 2
    for now, limit in ((250.0, 2), (251.0, 3), (300.0, 3), (371.0, 4)):
        parallelism.tick(now)
        assert parallelism.limit == limit, now
    assert parallelism.rate_limited(372.0) and parallelism.rate_limited(410.0) and parallelism.limit == 1
    assert not parallelism.rate_limited(500.0)
    for minute in range(2, 40, 2):
        parallelism.tick(500.0 + 60 * minute)
    assert parallelism.limit == 8
