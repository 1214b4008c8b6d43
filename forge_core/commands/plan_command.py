"""`/plan`: the plan of plan mode, shown, approved or dropped."""

from __future__ import annotations

from forge_core.approval import MAX_PLAN_CHARS
from forge_core.commands.result import CommandNotice, CommandResult, Document, Failure, SendMessage
from forge_core.config.permission_mode import PermissionMode
from forge_core.session.session import ForgeSession

_NONE = (
    "There is no plan. In mode plan (Shift+Tab, /mode plan) the model reads, works one out and presents it."
)


async def plan(argument: str, session: ForgeSession) -> CommandResult:
    """Show the plan; `approve` carries it out, `drop` forgets it."""
    match argument.lower().split():
        case ["approve", *edits]:
            return _approve(session, accepts_edits=bool(edits))
        case ["drop"]:
            return _drop(session)
    kept = session.plan
    if not kept.text:
        return Failure(_NONE)
    return Document(kept.text, "Plan, approved" if kept.is_approved else "Plan, not approved yet")


def _approve(session: ForgeSession, *, accepts_edits: bool) -> CommandResult:
    """Approve the plan: the one that was presented, or the last answer in plan mode."""
    if session.status.is_running:
        return Failure("A turn is running: the plan can be approved when it has ended. Esc interrupts it.")
    kept = session.plan
    if (not kept.text or kept.is_approved) and kept.is_planning and session.last_result is not None:
        kept.present(session.last_result.output.strip()[:MAX_PLAN_CHARS])
    if not kept.text:
        return Failure(_NONE)
    if kept.is_approved:
        return Failure("The plan is approved already. Mode plan begins another one.")
    kept.approve(accepts_edits=accepts_edits)
    return SendMessage("The plan is approved. Carry it out.")


def _drop(session: ForgeSession) -> CommandResult:
    if not session.plan.text:
        return Failure(_NONE)
    session.plan.clear()
    is_planning = session.status.mode is PermissionMode.PLAN
    return CommandNotice("The plan is dropped." + (" Plan mode goes on." if is_planning else ""))
