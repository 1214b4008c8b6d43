"""What the model reads when a call was not allowed: by whom, why, and what to do instead."""

from __future__ import annotations

import shlex

from forge_core.permissions.policy import Verdict
from forge_core.tools.base import BaseTool


def refused_by_policy(tool: BaseTool, verdict: Verdict) -> str:
    """A rule or the mode has said no; nobody was asked."""
    return (
        f"{tool.name} was not allowed: {verdict.reason}. Do not try the same again in other words; "
        "take another way, or tell the user what you need and why."
    )


def refused_by_person(tool: BaseTool, reason: str) -> str:
    """The person has said no."""
    said = f" They said: {reason!r}." if reason.strip() else " They gave no reason."
    return (
        f"the user did not allow this call of {tool.name}.{said} Nothing was done. Do not retry the same "
        "call, also not in another form. Follow what they said, take another way, or ask them."
    )


def unattended(tool: BaseTool, verdict: Verdict) -> str:
    """It would have to be asked, and there is nobody."""
    rule = verdict.session_rule
    way = (
        f" Whoever starts Forge can allow it with --allow {shlex.quote(rule)}, or be asked in forge chat."
        if rule
        else " It needs a person each time: run it in forge chat."
    )
    return (
        f"{tool.name} was not allowed: {verdict.reason}, and nobody is there to ask.{way} Nothing was done. "
        "Do not retry the same call; go on without it, and say in your answer what was left undone."
    )
