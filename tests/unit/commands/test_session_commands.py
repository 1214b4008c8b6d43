"""What each slash command does to a real session."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.commands.result import (
    ChooseModel,
    Cleared,
    Failure,
    ShowDiff,
    StatusChange,
    Text,
)
from forge_core.config.permission_mode import PermissionMode
from forge_core.tools.registry import builtin_tools
from tests.support.commands import run_command
from tests.support.sessions import scripted_session


async def test_tools_lists_every_tool_with_its_parameters_and_permission(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]], tools=builtin_tools())
    result = await run_command("/tools", session)
    assert isinstance(result, Text)
    for tool in session.tools:
        assert tool.name in result.body
        for parameter in tool.parameters:
            assert parameter.name in result.body
    lines = {line.split()[0]: line for line in result.body.splitlines() if not line.startswith(" ") and line}
    assert "unasked" in lines["read"]
    assert "others ask" in lines["bash"]
    assert "asks" in lines["edit"]
    for name in ("todo", "ask_user", "exit_plan_mode", "job_output", "job_stop"):
        assert lines[name].endswith("runs unasked")
    detail = await run_command("/tools read", session)
    assert isinstance(detail, Text)
    assert "file_path: string" in detail.body


async def test_tools_shows_the_command_permission_for_the_mode_and_sandbox(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]], tools=builtin_tools())

    async def permission_of(name: str) -> str:
        result = await run_command(f"/tools {name}", session)
        assert isinstance(result, Text)
        return next(line for line in result.body.splitlines() if line.startswith("Permission: "))[12:]

    assert await permission_of("bash") == "commands that only read run unasked, others ask"
    session.policy.sandbox = "full"
    assert await permission_of("bash") == "commands that only read run unasked, others ask"
    session.set_mode(PermissionMode.AUTO)
    assert await permission_of("bash") == "runs unasked"
    assert await permission_of("write") == "runs unasked in this folder"
    session.set_mode(PermissionMode.PLAN)
    assert "denied" in await permission_of("bash")
    assert "denied" in await permission_of("write")
    assert await permission_of("todo") == "runs unasked"


@pytest.mark.parametrize(("line", "near"), [("/rest", "/reset"), ("/modell x", "/model")])
async def test_an_unknown_command_is_a_failure_with_the_nearest_name(
    tmp_path: Path, line: str, near: str
) -> None:
    result = await run_command(line, scripted_session(tmp_path, [["x"]]))
    assert isinstance(result, Failure)
    assert f"Did you mean {near}?" in result.text


async def test_reset_model_and_diff_return_their_actions(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]])
    assert await run_command("/reset", session) == Cleared()
    assert await run_command("/model other/one", session) == StatusChange("Model: other/one")
    assert session.status.model == "other/one"
    models = await run_command("/model", session)
    assert isinstance(models, ChooseModel)
    assert "› other/one  8k" in models.body
    assert "other/two" in models.body
    assert await run_command("/diff turn", session) == ShowDiff("turn")
    assert await run_command("/diff", session) == ShowDiff("worktree")


async def test_cost_is_a_table_per_model(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["one"]])
    nothing = await run_command("/cost", session)
    assert nothing == Text("No tokens used yet.", "Cost")
    async for _ in session.send("go"):
        pass
    session.models.choose("other/model")
    async for _ in session.send("go"):
        pass
    result = await run_command("/cost", session)
    assert isinstance(result, Text)
    assert "scripted/model" in result.body
    assert "other/model" in result.body
    assert "$0.0020" in result.body.splitlines()[-1]
    await session.aclose()


async def test_a_model_name_with_spaces_is_rejected(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]])
    assert isinstance(await run_command("/model x y z", session), Failure)
    assert session.status.model == "scripted/model"
