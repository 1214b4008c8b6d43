"""What holds of a session's figures at any moment, whoever shows them."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.figures import cost_text, percent_text, tokens_text
from forge_core.commands.result import ShowServers, Text
from forge_core.llm.account.spending import Spending
from forge_core.session.session import ForgeSession
from forge_tui.screens.chat.live_figures import LiveFigures
from forge_tui.widgets.status_text import SEPARATOR, fit, gauge
from tests.support.commands import run_command


async def command_text(line: str, session: ForgeSession) -> str:
    """What a command shows."""
    result = await run_command(line, session)
    assert isinstance(result, Text | ShowServers), result
    return result.body


def bar_text(session: ForgeSession, width: int = 200) -> str:
    """The left side of the status bar for this session."""
    live = LiveFigures(session.config, Path("/home/ada"))
    live.use_status(session.status)
    return SEPARATOR.join(part.text for part in fit(live.current(), width)[0])


async def assert_adds_up(session: ForgeSession) -> None:
    """The parts of `/context` are the bar's used tokens, the rows of `/cost` the bar's cost."""
    status, bar = session.status, bar_text(session).split(SEPARATOR)
    composition = await session.context.composition()
    assert composition.used == sum(composition.by_kind().values()) == status.context_used
    assert composition.is_estimate == status.is_context_estimate
    about = "~" if status.is_context_estimate else ""
    window, used = status.context_window, composition.used
    shown = (
        f"{gauge(used / window)} {about}{percent_text(used, window)}" if window else f"{tokens_text(used)}/?"
    )
    assert shown in bar[1]
    headline = (await command_text("/context", session)).splitlines()[0]
    status, bar = session.status, bar_text(session).split(SEPARATOR)
    if status.context_used == composition.used:  # else a turn that runs has gone on meanwhile
        assert f" {about}{tokens_text(composition.used)} of " in headline

    spent, usage = session.spending(), status.usage
    assert sum(spent.by_model.values(), Spending()) == spent.total
    assert sum((turn.spending for turn in spent.turns), Spending()) == spent.total
    assert (spent.total.usage, spent.total.known_usd) == (usage, status.known_cost_usd)
    if not usage.total_tokens:
        return
    said = {"is_estimate": usage.estimated}
    prices = usage.cost_usd, status.known_cost_usd, status.provider_label
    assert bar[2] == cost_text(*prices, **said)
    total = next(
        line for line in (await command_text("/cost", session)).splitlines() if line.startswith("Total ")
    )
    assert total.split()[-2:] == [cost_text(*prices, **said, digits=4), percent_text(1, 1)]
