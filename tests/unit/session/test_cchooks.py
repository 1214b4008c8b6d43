"""Hooks written with cchooks, somebody else's library for Claude Code's hooks, in a session."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from forge_core.approval import Answer
from forge_core.tools import BashTool, ReadTool
from tests.support.hooks import declared
from tests.support.scripted_llm import Call
from tests.support.sessions import Answering, scripted_session
from tests.unit.session.test_session_hooks import own, sent, turn

pytest.importorskip("cchooks", reason="cchooks is not installed; it is in the dev extra")

HOOK = """
import sys
import cchooks
c = cchooks.create_context()
with open("log", "a") as log:
    print(type(c).__name__, getattr(c, "source", getattr(c, "trigger", "")), file=log)
match c:
    case cchooks.SessionStartContext():
        c.output.add_context("started by " + c.source)
    case cchooks.UserPromptSubmitContext():
        c.output.add_context("asked: " + c.prompt) if c.prompt != "bad" else c.output.exit_block("no bad words")
    case cchooks.PreToolUseContext() if c.tool_name == "Bash":
        c.output.deny("no commands: " + c.tool_input["command"])
    case cchooks.PreToolUseContext():
        c.output.allow("reading is fine")
    case cchooks.PostToolUseContext():
        c.output.challenge("seen: " + c.tool_input["file_path"])
    case cchooks.StopContext():
        c.output.allow() if c.stop_hook_active else c.output.prevent("say more")
    case cchooks.SubagentStopContext():
        c.output.allow() if c.stop_hook_active else c.output.prevent("report more")
    case cchooks.PreCompactContext():
        c.output.exit_block("keep it all") if c.custom_instructions else c.output.acknowledge("fine")
    case cchooks.NotificationContext():
        c.output.acknowledge(c.message)
    case cchooks.SessionEndContext():
        c.output.exit_success("bye")
"""
EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "PreCompact",
    "Notification", "SessionEnd",
)  # fmt: skip


async def test_hooks_of_all_nine_events(tmp_path: Path) -> None:
    (tmp_path / "hook.py").write_text(HOOK)
    (tmp_path / "a.txt").write_text("text\n")
    line = f"{shlex.quote(sys.executable)} hook.py"
    own(tmp_path, *(declared(event, line) for event in EVENTS))
    calls = [
        Call("bash", {"command": "ls"}),
        Call("read", {"file_path": "a.txt"}),
        Call("read", {"file_path": ".env"}),
    ]
    session = scripted_session(
        tmp_path,
        [calls, ["done"], ["more"]],
        tools=[BashTool(), ReadTool()],
        approver=Answering(Answer.NO),
        is_trusted=True,
    )

    await turn(session, "hello")
    texts = "\n".join(sent(session))
    for expected in (
        "started by startup",
        "asked: hello",
        "no commands: ls",
        f"seen: {tmp_path}/a.txt",
        "say more",
    ):
        assert expected in texts
    assert session.last_result is not None
    assert session.last_result.output == "more"
    await turn(session, "bad")
    assert "no bad words" in str(session.last_result.warning)
    assert "report more" in await session.hooks.subagent_stopped("a", "explore", "report")
    assert await session.hooks.subagent_stopped("a", "explore", "report") == ""
    assert await session.hooks.compacting("manual", "focus") == "keep it all"
    assert await session.hooks.compacting("auto", "") == ""
    assert session.hooks.broken == ()
    await session.aclose()

    log = (tmp_path / "log").read_text()
    for event in EVENTS:
        assert f"{event}Context" in log
    assert "PreCompactContext auto" in log
