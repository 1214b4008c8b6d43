"""The settings that a running session holds: its model, effort, permission mode and limits."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from forge_core.config.running_settings import LiveSetting
from forge_core.session.spending_limits import LIMITS, LimitKind, Measure

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession


def session_settings(session: ForgeSession) -> dict[str, LiveSetting]:
    """Return the settings by name. The model can only be read: `/model` changes it, between turns."""
    models = session.models
    limits = {
        kind.setting: LiveSetting(partial(_limit, session, kind), partial(_set_limit, session, kind))
        for kind in LIMITS
    }
    return {
        "model": LiveSetting(lambda: models.current),
        "effort": LiveSetting(lambda: models.effort, models.set_effort),
        "permission_mode": LiveSetting(lambda: session.status.mode, session.set_mode),
        "style": LiveSetting(lambda: session.style.name, session.use_style),
        **limits,
    }


def _limit(session: ForgeSession, kind: LimitKind) -> float | int | None:
    amount = session.budget.limit(kind)
    if amount is None:
        return None
    return int(amount) if kind.measure in (Measure.TOKENS, Measure.CALLS) else float(amount)


def _set_limit(session: ForgeSession, kind: LimitKind, amount: float | None) -> None:
    session.set_limit(kind.setting, None if amount is None else Decimal(str(amount)))
