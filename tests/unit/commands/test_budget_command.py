"""`/budget` shows the limits with what is used, and changes them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.commands.dispatch import run_command
from forge_core.commands.result import CommandNotice, Failure, Text
from forge_core.session import ForgeSession
from forge_core.session.spending_limits import LIMITS
from tests.support.sessions import scripted_session


@pytest.fixture
async def session(tmp_path: Path) -> ForgeSession:
    return scripted_session(tmp_path, [["hello"]])


async def run(session: ForgeSession, argument: str = "") -> object:
    spec = CommandTable().find("budget")
    assert spec is not None
    assert spec.problem(argument) is None
    return await run_command(spec, argument, session)


async def test_all_limits_are_listed(session: ForgeSession) -> None:
    session.set_limit("max_tokens", Decimal(200_000))
    shown = await run(session)
    assert isinstance(shown, Text)
    rows = [line.split() for line in shown.body.splitlines()]
    assert ["session", "tokens", "0", "200,000", "0%"] in rows
    assert ["day", "cost", "$0.00", "-"] in rows
    assert max(map(len, shown.body.splitlines())) <= 78


@pytest.mark.parametrize(
    ("argument", "setting", "amount"),
    [
        ("cost 2.50", "max_cost", "2.5"),
        ("turn cost $0.50", "max_turn_cost", "0.5"),
        ("tokens 200k", "max_tokens", "200000"),
        ("turn time 5m", "turn_time_limit", "300"),
        ("calls 50", "max_calls", "50"),
        ("day 5", "budget_day", "5"),
    ],
)
async def test_a_limit_is_set_and_removed(
    session: ForgeSession, argument: str, setting: str, amount: str
) -> None:
    [kind] = [kind for kind in LIMITS if kind.setting == setting]
    assert isinstance(await run(session, argument), CommandNotice)
    assert session.budget.limit(kind) == Decimal(amount)
    assert isinstance(await run(session, f"{argument.rpartition(' ')[0]} off"), CommandNotice)
    assert session.budget.limit(kind) is None


@pytest.mark.parametrize("argument", ["cost much", "tokens 2.5", "time 0", "cost -1"])
async def test_an_amount_that_makes_no_sense_changes_nothing(session: ForgeSession, argument: str) -> None:
    refused = await run(session, argument)
    assert isinstance(refused, Failure)
    assert "it must be" in refused.text
    assert all(session.budget.limit(kind) is None for kind in LIMITS)
