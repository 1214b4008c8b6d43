"""`/budget`: what may be spent, what was spent, and changing it."""

from __future__ import annotations

from collections.abc import Sequence

from forge_core.commands.columns import table
from forge_core.commands.figures import percent_text
from forge_core.commands.result import CommandNotice, CommandResult, Failure, Text
from forge_core.session.session import ForgeSession
from forge_core.session.spending_limits import LIMITS, LimitKind, LimitScope

OFF = "off"
_SHARED = (LimitScope.DAY, LimitScope.MONTH)


async def budget(argument: str, session: ForgeSession) -> CommandResult:
    """Show all limits, or change one for this session."""
    if not argument:
        return Text(f"{_listing(session)}\n\n{_NOTE}", "Budget")
    *names, amount = argument.lower().split()
    kind = _named(names)
    if kind is None:
        return Failure(f"/budget does not know {' '.join(names)!r}. Use one of: {', '.join(_names())}.")
    if amount == OFF:
        session.set_limit(kind.setting, None)
        return CommandNotice(f"There is no limit of {kind.label} any more.")
    try:
        limit = kind.measure.parse(amount)
    except ValueError as error:
        return Failure(f"{amount!r} cannot be the limit of {kind.label}: it must be {error}, or off.")
    session.set_limit(kind.setting, limit)
    text = kind.measure.text
    return CommandNotice(
        f"The limit of {kind.label} is now {text(limit)}; {text(session.budget.spent_on(kind))} is used."
    )


_NOTE = (
    "/budget cost 2.50 sets the session's limit, /budget turn cost 0.50 the\n"
    "turn's, /budget day 5 the day's; off removes one. These last for this\n"
    "session; forge config set max_cost 2.50 sets a limit for all."
)


def _listing(session: ForgeSession) -> str:
    head = ("", "Spent", "Limit", "Used")
    rows = [_row(kind, session) for kind in LIMITS]
    return "\n".join(line.rstrip() for line in table([head, *rows]).splitlines())


def _row(kind: LimitKind, session: ForgeSession) -> tuple[str, str, str, str]:
    spent, limit, text = session.budget.spent_on(kind), session.budget.limit(kind), kind.measure.text
    share = "" if not limit else percent_text(float(spent), float(limit))
    return (f"{kind.scope} {kind.measure}", text(spent), "-" if limit is None else text(limit), share)


def _name(kind: LimitKind) -> str:
    """Return how the command calls a limit: "cost", "turn cost", "day"."""
    if kind.scope in _SHARED:
        return str(kind.scope)
    return str(kind.measure) if kind.scope is LimitScope.SESSION else f"{kind.scope} {kind.measure}"


def _names() -> list[str]:
    return [_name(kind) for kind in LIMITS]


def _named(words: Sequence[str]) -> LimitKind | None:
    name = " ".join(words).removeprefix("session ")
    return next((kind for kind in LIMITS if _name(kind) == name), None)
