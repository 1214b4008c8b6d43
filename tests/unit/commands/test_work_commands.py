"""/todo and /jobs on a real session."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.result import Failure, ShowJobs, Text
from forge_core.config.permission_mode import PermissionMode
from forge_core.tools.registry import builtin_tools
from tests.support.commands import run_command
from tests.support.scripted_llm import Call
from tests.support.sessions import scripted_session


async def test_the_todo_command_shows_the_list_and_its_progress(tmp_path: Path) -> None:
    items = [
        {"content": "Read", "status": "completed"},
        {"content": "Fix", "status": "in_progress", "active_form": "Fixing"},
        {"content": "Test", "status": "pending"},
    ]
    session = scripted_session(tmp_path, [[Call("todo", {"items": items})], ["done"]], tools=builtin_tools())
    empty = await run_command("/todo", session)
    assert isinstance(empty, Text) and "no list of tasks" in empty.body
    async for _ in session.send("go"):
        pass
    assert await run_command("/todo", session) == Text("✓ Read\n● Fixing\n○ Test\n\n1 of 3 done", "Todo")
    await session.reset()
    assert session.todos.items == ()
    await session.aclose()


async def test_jobs_are_listed_and_stopped(tmp_path: Path) -> None:
    call = Call("bash", {"command": "sleep 60", "run_in_background": True})
    session = scripted_session(tmp_path, [[call], ["done"]], tools=builtin_tools(), mode=PermissionMode.YOLO)
    nothing = await run_command("/jobs", session)
    assert isinstance(nothing, Text) and "No command is running" in nothing.body
    try:
        async for _ in session.send("go"):
            pass
        listed = await run_command("/jobs", session)
        assert isinstance(listed, ShowJobs)
        assert "1  running for" in listed.body and "sleep 60" in listed.body
        stopped = await run_command("/jobs stop 1", session)
        assert isinstance(stopped, Text) and "stopped after" in stopped.body
        for line in ("/jobs stop", "/jobs stop 9", "/jobs end"):
            assert isinstance(await run_command(line, session), Failure)
    finally:
        await session.aclose()
