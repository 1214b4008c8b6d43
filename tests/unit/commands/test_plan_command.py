"""/plan: shown, approved, dropped."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.result import CommandNotice, Document, Failure, SendMessage
from forge_core.config.permission_mode import PermissionMode
from forge_core.tools.builtin.exit_plan_mode import ExitPlanModeTool
from tests.support.commands import run_command
from tests.support.scripted_llm import Call, Piece
from tests.support.sessions import scripted_session

PROPOSAL: list[Piece] = [Call("exit_plan_mode", {"plan": "# Goal"})]


async def test_a_plan_is_shown_and_approved(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [PROPOSAL], tools=[ExitPlanModeTool()], mode=PermissionMode.PLAN)
    for line in ("/plan", "/plan approve", "/plan drop"):
        assert isinstance(await run_command(line, session), Failure)
    async for _ in session.send("go"):
        assert isinstance(await run_command("/plan approve", session), Failure)  # a turn runs
    assert await run_command("/plan", session) == Document("# Goal", "Plan, not approved yet")
    assert await run_command("/plan approve edits", session) == SendMessage(
        "The plan is approved. Carry it out."
    )
    assert session.status.mode is PermissionMode.ACCEPT_EDITS
    assert await run_command("/plan", session) == Document("# Goal", "Plan, approved")
    assert isinstance(await run_command("/plan approve", session), Failure)
    dropped = await run_command("/plan drop", session)
    assert dropped == CommandNotice("The plan is dropped.") and session.plan.text == ""
    await session.aclose()


async def test_an_answer_in_plan_mode_can_be_approved_as_the_plan(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["1. Read\n2. Fix"]], mode=PermissionMode.PLAN)
    async for _ in session.send("go"):
        pass
    assert isinstance(await run_command("/plan approve", session), SendMessage)
    assert session.status.mode is PermissionMode.ASK
    assert await run_command("/plan", session) == Document("1. Read\n2. Fix", "Plan, approved")
    await session.aclose()
