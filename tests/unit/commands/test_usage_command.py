"""`/usage`: a calendar and tables of all sessions, in the width of the chat, whatever they are named."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.commands.result import Failure, Text
from forge_core.commands.usage_calendar import LEVELS, NOTHING, calendar
from forge_core.commands.usage_command import usage
from forge_core.commands.usage_view import WIDTH, ReportFrame, breakdown, cost_text, overview
from forge_core.config.usage_by import UsageBy
from forge_core.runtime import build_session
from forge_core.store.usage.usage_figures import CallFigures, CallKey, ToolFigures, ToolKey, Usage
from forge_core.text_width import cell_len
from tests.support.agent_server import AgentServer, calling, config_for, saying
from tests.support.figures import command_text

TODAY = date(2026, 11, 27)
FRAME = ReportFrame(WIDTH, TODAY, "/home/ada")
CALL = CallFigures(1, 1_000, 700, 50, 0, Decimal("0.5"), 1, 0, 0)
UNKNOWN = CallFigures(2, 3_000, 0, 90, 0, Decimal(0), 0, 2, 0)
FREE = CallFigures(1, 10, 0, 5)
HOSTILE = ("x" * 300, "日本語" * 40, "\x1b[31mred\x1b[0m\n", "▇▇·█", "")


def used(*amounts: tuple[int, str, CallFigures], project: str = "/home/ada/shop") -> Usage:
    """What calls have used so many days ago, each with its model."""
    return Usage(
        {CallKey(str(TODAY - timedelta(days=ago)), project, name): one for ago, name, one in amounts}
    )


OVERVIEW = """\
Models            Calls    In  Cached  Out     Cost
acme/large            4  4.0k    2.8k  200    $2.00  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
acme/new              2  3.0k       -   90        ?

Days
Sat 2026-11-21        -     -       -    -        -
Sun 2026-11-22        -     -       -    -        -
Mon 2026-11-23        1  1.0k     700   50    $0.50  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
Tue 2026-11-24        -     -       -    -        -
Wed 2026-11-25        -     -       -    -        -
Thu 2026-11-26        2  3.0k       -   90        ?
Fri 2026-11-27        1  1.0k     700   50    $0.50  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇

Sums
This week             4  5.0k    1.4k  190  $1.00+?
This month            5  6.0k    2.1k  240  $1.50+?
Since 2026-09-08      6  7.0k    2.8k  290  $2.00+?

     Jun     Jul     Aug       Sep     Oct     Nov
Mon  · · · · · · · · · · · · · · · · · · · · · · · · · █
     · · · · · · · · · · · · · · █ · · · · · · · · · · ·
Wed  · · · · · · · · · · · · · · · · · · · · · · · · · ·
     · · · · · · · · · · · · · · · · · · · · · · · · · ░
Fri  · · · · · · · · · · · · · · · · · · · · · · · · · █
     · · · · · · · · · · · · · · · · · · · · · · · · ·
Sun  · · · · · · · · · · · · · · · · · · · · · · · █ ·

     · none   less ░ ▒ ▓ █ more (cost of a day)

$0.50 of the day's limit of $5.00 is used (10%).
40% of the input came from the provider's cache.
? is an unknown price."""


def test_the_overview_has_the_sums_and_a_calendar() -> None:
    usage = used(
        (0, "acme/large", CALL),
        (4, "acme/large", CALL),
        (1, "acme/new", UNKNOWN),
        (12, "acme/large", CALL),
        (80, "acme/large", CALL),
    )
    shown = overview(usage, "", FRAME, ["$0.50 of the day's limit of $5.00 is used (10%)."])
    assert shown.body == OVERVIEW
    marks = [shown.body[one.start : one.end] for one in shown.tints]
    assert {*"".join(marks)} <= {*LEVELS, NOTHING, "▇", " "}
    assert sum(mark.count("█") for mark in marks) == shown.body.count("█")


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (CallFigures(), "-"),
        (CALL, "$0.50"),
        (UNKNOWN, "?"),
        (CALL + UNKNOWN, "$0.50+?"),
        (FREE, "free"),
        (FREE + CALL, "$0.50"),
        (FREE + UNKNOWN, "?"),
        (replace(CALL, known_usd=Decimal(0)), "$0.00"),
        (replace(CALL, known_usd=Decimal("0.001")), "<$0.01"),
        (replace(CALL, estimated_calls=1), "~$0.50"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_price_is_never_shown_as_nothing(figures: CallFigures, text: str) -> None:
    assert cost_text(figures, 2) == text


@pytest.mark.parametrize("by", UsageBy)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_the_table(by: UsageBy, name: str) -> None:
    days = [str(TODAY - timedelta(days=ago)) for ago in range(50)]
    calls = {CallKey(day, name, f"{name}{day}"): CALL + UNKNOWN for day in days}
    tools = {ToolKey(day, name, f"mcp__{name}{day}__{name}"): ToolFigures(3, 1, 0.5, 900) for day in days}
    shown = breakdown(Usage(calls, tools), by, "", FRAME)
    lines = shown.body.splitlines()
    assert max(map(cell_len, lines)) <= WIDTH
    assert "\x1b" not in shown.body and len(lines) < 40
    assert all({*shown.body[one.start : one.end]} == {"▇"} for one in shown.tints)
    figures = [line.split() for line in lines if line.startswith("Total")]
    assert figures == [] if by in (UsageBy.TOOL, UsageBy.SERVER) else [["Total", "150", "200.0k"]]


@pytest.mark.parametrize("weeks", [1, 9, 53])
def test_every_day_up_to_today_has_a_place_in_the_calendar(weeks: int) -> None:
    months, *rows = calendar({TODAY: 1.0, TODAY + timedelta(days=1): 1.0}, TODAY, weeks)
    cells = "".join(rows)
    assert (cells.count(NOTHING), cells.count("█")) == (7 * weeks - 3, 1)
    assert rows[4].endswith("█")
    assert max(map(cell_len, [months, *rows])) == 4 + 2 * weeks


def test_the_levels_are_quarters_of_the_days() -> None:
    amounts = {
        TODAY - timedelta(days=7 * back): float(amount) for back, amount in enumerate((1000, 3, 2, 1, 0))
    }
    assert calendar(amounts, TODAY, 6)[5].split()[1:] == [NOTHING, "░", "░", "▒", "▓", "█"]


async def test_the_command_counts_all_sessions(tmp_path: Path) -> None:
    read = ("c1", "read", {"file_path": "a.txt"})
    with AgentServer(
        {"go": [calling("0.5", read), saying("0.25", "Done."), saying("0.5", "More.")]}
    ) as server:
        config = config_for(tmp_path, server, budget_day=5.0)
        for _ in range(2):
            session = build_session(config, deny_all)
            async for _ in session.send("go"):
                pass
            await session.recorded()
            if len(server.asked) < 3:
                await session.aclose()
        shown = {argument: await command_text(f"/usage {argument}", session) for argument in ("", "tool")}
        none = await usage("model since 2999-01-01", session)
        refused = await usage("since yesterday", session)
        await session.aclose()
    assert shown[""].splitlines()[1].split()[:-1] == ["test/model", "3", "36", "12", "15", "$1.25"]
    assert "$1.25 of the day's limit of $5.00 is used (25%)." in shown[""]
    assert shown["tool"].splitlines()[1].split()[:3] == ["read", "1", "-"]
    assert isinstance(none, Text) and none.body == "There are no model calls since 2999-01-01."
    assert isinstance(refused, Failure) and "'yesterday'" in refused.text and "30d" in refused.text
