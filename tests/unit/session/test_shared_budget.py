"""Several processes below one limit of the day: together they never pass it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.approval import QuestionReply, QuestionRequest
from forge_core.errors import BudgetExceededError
from forge_core.llm.account.call_estimate import PlannedCall
from forge_core.llm.models import TokenUsage
from forge_core.session.budget import SpendingBudget
from forge_core.store.spending_ledger import SpendingLedger

CAP = Decimal("1.00")
ESTIMATE = Decimal("0.10")
CALL = PlannedCall("m", 350, 100, lambda model, usage: ESTIMATE)
UNPRICED = PlannedCall("new", 350, 100, lambda model, usage: None)

_PROGRAM = """\
import asyncio, sys
from decimal import Decimal
from pathlib import Path
from forge_core.llm.models import TokenUsage
from forge_core.errors import BudgetExceededError
from tests.unit.session.test_shared_budget import CALL, budget_at

async def main():
    budget, seed = budget_at(Path(sys.argv[1]), 60.0), int(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(20):
        budget.begin_turn()
        try:
            with await budget.admit(CALL):
                await asyncio.sleep(0.005 * (1 + (number + seed) % 3))
        except BudgetExceededError:
            return
        cost = Decimal("0.095") + Decimal("0.0001") * seed
        budget.spent(TokenUsage(100, 100, 200, cost_usd=cost), "m", None)
        budget.end_turn()
        print(cost, flush=True)

asyncio.run(main())
"""


async def _nobody(request: QuestionRequest) -> QuestionReply:
    return QuestionReply((), declined=True)


def budget_at(folder: Path, patience_s: float = 0.0, warnings: list[str] | None = None) -> SpendingBudget:
    warn = [].append if warnings is None else warnings.append
    limits, ledger = {"budget_day": float(CAP)}, SpendingLedger(folder)
    return SpendingBudget(limits, ledger, _nobody, lambda: 0.0, warn, patience_s=patience_s)


def spend(budget: SpendingBudget, usd: Decimal) -> None:
    budget.spent(TokenUsage(100, 100, 200, cost_usd=usd), "m", None)


async def is_admitted(budget: SpendingBudget, call: PlannedCall = CALL) -> bool:
    """Return whether a call may be made; it is answered then, and its cost is still to be reported."""
    try:
        with await budget.admit(call):
            return True
    except BudgetExceededError:
        return False


async def test_two_calls_in_flight_do_not_pass_the_limit_together(tmp_path: Path) -> None:
    one, other = budget_at(tmp_path), budget_at(tmp_path)
    spend(one, Decimal("0.85"))
    assert await is_admitted(one)
    assert not await is_admitted(other)
    spend(one, Decimal("0.02"))
    assert await is_admitted(other)
    spend(other, ESTIMATE)
    assert SpendingLedger(tmp_path).day() == Decimal("0.97")
    assert not SpendingLedger(tmp_path).reservations.total()


async def test_a_call_without_an_answer_reserves_nothing_any_more(tmp_path: Path) -> None:
    one, other = budget_at(tmp_path), budget_at(tmp_path)
    spend(one, Decimal("0.85"))
    with pytest.raises(ConnectionError), await one.admit(CALL):
        assert not await is_admitted(other)
        raise ConnectionError
    assert await is_admitted(other)


async def test_calls_that_run_side_by_side_release_their_own_reservations(tmp_path: Path) -> None:
    budget, total = budget_at(tmp_path), SpendingLedger(tmp_path).reservations.total
    large = replace(CALL, price=lambda model, usage: 4 * ESTIMATE)
    with await budget.admit(large):
        with pytest.raises(asyncio.CancelledError), await budget.admit(CALL):
            raise asyncio.CancelledError
        assert total() == 4 * ESTIMATE
        budget.spent(TokenUsage(50, 0, 50, cost_usd=Decimal("0.01"), estimated=True), "m", None)
        assert total() == 4 * ESTIMATE, "the estimate of the cut call releases nothing more"
        assert await is_admitted(budget)
        spend(budget, ESTIMATE)
        assert total() == 4 * ESTIMATE, "the first answer need not be that of the first call"
    assert total() == 4 * ESTIMATE, "until its cost is reported"
    spend(budget, ESTIMATE)
    assert total() == 0


async def test_what_others_need_is_part_of_the_reason(tmp_path: Path) -> None:
    one, other = budget_at(tmp_path), budget_at(tmp_path)
    spend(one, Decimal("0.85"))
    assert await is_admitted(one)
    with pytest.raises(BudgetExceededError) as caught:
        await other.admit(CALL)
    reason = "$0.8500 of $1.00 is used, running calls of other sessions need about $0.1000, and it needs"
    assert reason in str(caught.value)


async def test_near_the_limit_a_call_waits_for_those_that_are_running(tmp_path: Path) -> None:
    warnings: list[str] = []
    one, other = budget_at(tmp_path), budget_at(tmp_path, 60.0, warnings)
    spend(one, Decimal("0.85"))
    assert await is_admitted(one)
    waiting = asyncio.create_task(is_admitted(other))
    while not warnings:  # that it waits
        await asyncio.sleep(0)
    spend(one, Decimal("0.04"))
    assert await waiting
    assert sum("Waiting for running calls" in text for text in warnings) == 1


async def test_a_call_that_does_not_fit_alone_does_not_wait(tmp_path: Path) -> None:
    one, other = budget_at(tmp_path), budget_at(tmp_path, 60.0)
    spend(one, Decimal("0.95"))
    assert not await is_admitted(other)


async def test_a_call_of_unknown_price_reserves_all_that_is_left_and_is_announced_once(
    tmp_path: Path,
) -> None:
    warnings: list[str] = []
    one, other = budget_at(tmp_path, 0.0, warnings), budget_at(tmp_path)
    assert await is_admitted(one, UNPRICED)
    assert not await is_admitted(other)
    spend(one, Decimal("0.30"))
    assert await is_admitted(other)
    spend(other, ESTIMATE)
    assert await is_admitted(one, UNPRICED)  # its price is that of the last call now
    assert await is_admitted(other)
    assert len([text for text in warnings if "is unknown" in text]) == 1


async def test_a_second_call_without_any_price_is_asked_about(tmp_path: Path) -> None:
    budget = budget_at(tmp_path)
    assert await is_admitted(budget, UNPRICED)
    budget.spent(TokenUsage(100, 100, 200), "m", None)
    with pytest.raises(BudgetExceededError, match="The price of m is unknown, so the day's cost cannot be"):
        await budget.admit(UNPRICED)


def test_processes_never_pass_the_limit_and_the_ledger_is_their_sum(tmp_path: Path) -> None:
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(tmp_path), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    costs = [Decimal(line) for program in programs for line in program.communicate(timeout=60)[0].split()]
    assert [program.returncode for program in programs] == [0] * 4
    total = SpendingLedger(tmp_path).day()
    assert total == sum(costs)
    assert CAP - ESTIMATE < total <= CAP  # the last ones have waited for each other


@pytest.mark.parametrize(("setting", "limit"), [("max_cost", 0.25), ("max_turn_tokens", 480)])
async def test_calls_of_one_session_wait_where_they_would_pass_its_limit_together(
    tmp_path: Path, setting: str, limit: float
) -> None:
    budget = SpendingBudget({setting: limit}, SpendingLedger(tmp_path), _nobody, lambda: 0.0)
    made: list[int] = []
    answers = [asyncio.Event() for _ in range(4)]

    async def call(number: int) -> bool:
        try:
            with await budget.admit(CALL):
                made.append(number)
                await answers[number].wait()
        except BudgetExceededError:
            return False
        spend(budget, Decimal("0.10"))
        return True

    calls = [asyncio.create_task(call(number)) for number in range(4)]
    while len(made) < 2:
        await asyncio.sleep(0)
    assert (made, [one.done() for one in calls]) == ([0, 1], [False] * 4)
    for answer in answers:
        answer.set()
    assert await asyncio.gather(*calls) == [True, True, False, False]
    assert made == [0, 1]


async def test_a_call_that_failed_leaves_its_share_of_the_limit_to_the_next(tmp_path: Path) -> None:
    budget = SpendingBudget({"max_cost": 0.15}, SpendingLedger(tmp_path), _nobody, lambda: 0.0)
    with pytest.raises(ConnectionError), await budget.admit(CALL):
        waiting = asyncio.create_task(is_admitted(budget))
        await asyncio.sleep(0)
        raise ConnectionError
    assert await waiting
