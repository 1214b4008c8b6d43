"""`/usage`: what the model and tool calls of all sessions have used."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

from forge_core.commands.result import CommandResult, Failure
from forge_core.commands.usage_view import WIDTH, ReportFrame, breakdown, limit_note, overview
from forge_core.config.usage_by import UsageBy
from forge_core.session.session import ForgeSession
from forge_core.session.spending_limits import LIMITS, SHARED
from forge_core.store.usage.usage_index import UsageIndex
from forge_core.store.usage.usage_report import first_day


async def usage(argument: str, session: ForgeSession) -> CommandResult:
    """Show an overview, or a table by day, model, project, tool or server; "since" limits it to some days."""
    words, today, since = argument.lower().split(), date.today(), ""  # the day of the user's own clock
    if "since" in words:
        try:
            since = first_day(words[-1], today)
        except ValueError as error:
            return Failure(f"/usage cannot begin at {words[-1]!r}: it must be {error}.")
    used = await asyncio.to_thread(UsageIndex(session.config.state_dir).update)
    frame = ReportFrame(WIDTH, today, str(Path.home()))
    if words and words[0] != "since":
        return breakdown(used, UsageBy(words[0]), since, frame)
    budget, shared = session.budget, [kind for kind in LIMITS if kind.scope in SHARED]
    limits = [(kind, budget.spent_on(kind), budget.limit(kind)) for kind in shared]
    return overview(
        used, since, frame, [limit_note(kind, spent, limit) for kind, spent, limit in limits if limit]
    )
