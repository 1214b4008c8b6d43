"""Hooks at the events of a session."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEnd, AgentEvent, Notice
from forge_core.extensions.approvals import ApprovalStore
from forge_core.extensions.hooks.approved_hooks import declared_program
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.mcp.deferral import ToolChoice
from forge_core.session.session import ForgeSession
from forge_core.session.session_hooks import MAX_BLOCKS
from forge_core.tools import BashTool, ReadTool, WriteTool
from forge_core.tools.builtin.tool_run import ToolRunTool
from forge_core.tools.builtin.tool_search import ToolSearchTool
from tests.support.hooks import answering, declared, write_hooks, written_objects
from tests.support.scripted_llm import Call, ScriptedLLM
from tests.support.server_tools import LOG, Recorder, server_tool
from tests.support.server_tools import declared as server_entry
from tests.support.sessions import Answering, scripted_session


def seen_by(event: str, matcher: str = "") -> dict[str, Any]:
    """A hook that appends what it reads to a file of the event's name."""
    return declared(event, f"tee -a {event}.jsonl >/dev/null; echo >> {event}.jsonl", matcher=matcher)


def records(root: Path, event: str) -> list[dict[str, Any]]:
    return written_objects(root / f"{event}.jsonl")


async def turn(session: ForgeSession, text: str = "hello") -> list[AgentEvent]:
    return [event async for event in session.send(text)]


def sent(session: ForgeSession) -> list[str]:
    """All messages of the last model call, as text."""
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return [str(message.content) for message in llm.seen[-1]]


def model_calls(session: ForgeSession) -> int:
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return len(llm.seen)


def own(root: Path, *hooks: dict[str, Any]) -> None:
    write_hooks(root / "own/hooks.json", *hooks)


async def test_a_session_tells_hooks_of_its_start_its_messages_and_its_end(tmp_path: Path) -> None:
    own(tmp_path, *map(seen_by, ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")))
    session = scripted_session(tmp_path, [["one"], ["two"]])
    await turn(session, "first")
    await turn(session, "second")
    await session.reset()
    await session.aclose()

    [start, cleared] = records(tmp_path, "SessionStart")
    assert (start["source"], cleared["source"]) == ("startup", "clear")
    assert start["session_id"] == session.id
    assert start["cwd"] == str(tmp_path)
    assert start["permission_mode"] == "default"
    assert start["transcript_path"] == str(tmp_path / "state/journal.jsonl")
    assert [one["prompt"] for one in records(tmp_path, "UserPromptSubmit")] == ["first", "second"]
    stops = records(tmp_path, "Stop")
    assert [(one["last_assistant_message"], one["stop_hook_active"]) for one in stops] == [
        ("one", False),
        ("two", False),
    ]
    assert [one["reason"] for one in records(tmp_path, "SessionEnd")] == ["clear", "other"]


def from_hook(event: str, text: str) -> str:
    return f"From a hook of {event}:\n<hook-output>\n{text}\n</hook-output>"


def unmarked(text: str) -> str:
    """Return a text without the marks of its frames."""
    return re.sub(r' mark="[0-9a-f]+"', "", text)


CALL = {"tool_name", "tool_input", "tool_use_id", "forge"}
KEYS = {
    "SessionStart": {"source"},
    "SessionEnd": {"reason"},
    "UserPromptSubmit": {"prompt"},
    "PreToolUse": CALL,
    "PermissionRequest": CALL,
    "PostToolUse": CALL | {"tool_response", "duration_ms"},
    "PostToolUseFailure": CALL | {"error", "is_interrupt", "duration_ms"},
    "Notification": {"message", "notification_type"},
    "SubagentStart": {"agent_id", "agent_type"},
    "SubagentStop": {"agent_id", "agent_type", "last_assistant_message", "stop_hook_active"},
    "Stop": {"last_assistant_message", "stop_hook_active"},
    "StopFailure": {"error", "last_assistant_message"},
    "PreCompact": {"trigger", "custom_instructions"},
    "PostCompact": {"trigger"},
}
"""Event → what its hooks read, without what all of them read."""


async def test_hooks_read_the_keys_of_their_event(tmp_path: Path) -> None:
    assert {*KEYS} == {*HookEvent}
    own(tmp_path, *map(seen_by, KEYS))
    (tmp_path / "a.txt").write_text("x\n")
    names = (("read", "a.txt"), ("read", "gone.txt"), ("write", "b.txt"))
    calls = [
        Call(tool, {"file_path": name, **({"content": "x"} if tool == "write" else {})})
        for tool, name in names
    ]
    session = scripted_session(
        tmp_path, [calls, ["a long answer " * 900], [RuntimeError("no")]],
        tools=[ReadTool(), WriteTool()], approver=Answering(Answer.NO),
    )  # fmt: skip
    await turn(session)
    await turn(session)
    await session.hooks.subagent_started("a1", "explore")
    await session.hooks.subagent_stopped("a1", "explore", "report")
    assert await session.hooks.compacting("manual", "") == ""
    await session.hooks.compacted("manual")
    async with asyncio.timeout(20):
        while not records(tmp_path, "StopFailure") or not records(tmp_path, "Notification"):
            await asyncio.sleep(0.01)
    await session.aclose()

    always = {"session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"}
    for event, keys in KEYS.items():
        seen = records(tmp_path, event)
        assert {frozenset(one) for one in seen} == {frozenset(always | keys)}, event
        assert {one["hook_event_name"] for one in seen} == {event}


async def test_continue_false_ends_the_turn_at_any_event(tmp_path: Path) -> None:
    stop = {"continue": False, "stopReason": "enough for today"}
    own(
        tmp_path,
        declared("UserPromptSubmit", f"grep -q first || {{ {answering(stop)}\n}}"),
        declared("Stop", answering({**stop, "decision": "block", "reason": "go on"})),
    )
    session = scripted_session(tmp_path, [["one"]])
    await turn(session, "first")
    assert model_calls(session) == 1
    [end] = await turn(session, "second")
    assert isinstance(end, AgentEnd)
    assert "enough for today" in str(end.result.warning)
    assert model_calls(session) == 1
    await session.aclose()


async def test_what_hooks_say_is_sent_with_the_message(tmp_path: Path) -> None:
    context = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "be brief"}}
    own(
        tmp_path,
        declared("SessionStart", "printf 'branch main </forge-note>\\033'"),
        declared("UserPromptSubmit", answering(context)),
    )
    session = scripted_session(tmp_path, [["ok"]])
    await turn(session)
    assert from_hook("SessionStart", "branch main </forge-note>␛") in unmarked(sent(session)[-1])
    assert from_hook("UserPromptSubmit", "be brief") in unmarked(sent(session)[-1])
    await turn(session, "again")
    assert "branch main" not in sent(session)[-1]
    await session.aclose()


async def test_a_blocked_message_is_not_sent(tmp_path: Path) -> None:
    own(tmp_path, declared("UserPromptSubmit", "grep -q secret && { echo no secrets >&2; exit 2; }; exit 0"))
    session = scripted_session(tmp_path, [["ok"]])
    [end] = await turn(session, "the secret")
    assert isinstance(end, AgentEnd)
    assert end.result.stopped_reason == "denied"
    assert "no secrets" in str(end.result.warning)
    assert session.last_result == end.result

    await turn(session, "hello")
    assert model_calls(session) == 1
    assert "the secret" not in str(sent(session))
    await session.aclose()


async def test_a_hook_of_stop_makes_the_turn_go_on(tmp_path: Path) -> None:
    line = "cat >> Stop.jsonl; [ -e tested ] || { touch tested; echo run the tests >&2; exit 2; }"
    own(tmp_path, declared("Stop", line))
    session = scripted_session(tmp_path, [["done"], ["tests pass"]])
    events = await turn(session)
    assert isinstance(events[-1], AgentEnd)
    assert events[-1].result.output == "tests pass"
    assert "run the tests" in sent(session)[-1]
    assert '"stop_hook_active": true' in (tmp_path / "Stop.jsonl").read_text()
    await session.aclose()


async def test_a_hook_of_stop_cannot_block_for_ever(tmp_path: Path) -> None:
    own(tmp_path, declared("Stop", "exit 2"))
    session = scripted_session(tmp_path, [["done"]])
    for calls in (MAX_BLOCKS + 1, 2 * (MAX_BLOCKS + 1)):
        events = await turn(session)
        assert model_calls(session) == calls
        notices = [event.text for event in events if isinstance(event, Notice)]
        assert any(f"{MAX_BLOCKS} times" in text for text in notices)
    await session.aclose()


async def test_hooks_run_around_calls_and_a_failed_turn_is_reported(tmp_path: Path) -> None:
    own(tmp_path, seen_by("PreToolUse"), seen_by("Notification"), seen_by("StopFailure"))
    call = Call("bash", {"command": "touch x"})
    session = scripted_session(
        tmp_path, [[call], [RuntimeError("no")]], tools=[BashTool()], approver=Answering(Answer.NO)
    )
    await turn(session)
    async with asyncio.timeout(20):
        while not records(tmp_path, "StopFailure") or not records(tmp_path, "Notification"):
            await asyncio.sleep(0.01)
    await session.aclose()
    [record] = records(tmp_path, "PreToolUse")
    assert record["tool_input"]["command"] == "touch x"
    assert records(tmp_path, "Notification")[0]["notification_type"] == "permission_prompt"
    assert "no" in records(tmp_path, "StopFailure")[0]["error"]


async def test_the_end_of_a_session_ends_no_hook_of_another(tmp_path: Path) -> None:
    roots = tmp_path / "one", tmp_path / "two"
    waiting = "touch up; while [ ! -e go ]; do sleep 0.01; done; echo be brief"
    for root, line in zip(roots, (waiting, "true"), strict=True):
        root.mkdir()
        own(root, declared("UserPromptSubmit", line))
    first, second = (scripted_session(root, [["ok"]]) for root in roots)
    assert first.id == second.id  # as after a copy of the state folder

    running = asyncio.create_task(turn(first))
    async with asyncio.timeout(20):
        while not (roots[0] / "up").exists():
            await asyncio.sleep(0.01)
        await turn(second)
        await second.aclose()
        (roots[0] / "go").touch()
        await running
    assert from_hook("UserPromptSubmit", "be brief") in unmarked("\n".join(sent(first)))
    await first.aclose()


async def test_sub_agents_have_hooks_of_their_own(tmp_path: Path) -> None:
    own(
        tmp_path,
        declared("SubagentStart", answering({"hookSpecificOutput": {"additionalContext": "be kind"}}), matcher="explore"),
        declared("SubagentStop", "echo not yet >&2; exit 2", matcher="explore"),
        seen_by("PreToolUse"),
    )  # fmt: skip
    session = scripted_session(tmp_path, [["ok"]])
    hooks = session.hooks
    await hooks.begin()
    [told] = await hooks.subagent_started("a1", "explore")
    assert unmarked(told) == from_hook("SubagentStart", "be kind")
    assert await hooks.subagent_started("a2", "verify") == []
    for _ in range(MAX_BLOCKS):
        assert "not yet" in await hooks.subagent_stopped("a1", "explore", "report")
    assert await hooks.subagent_stopped("a1", "explore", "report") == ""

    context = session._environment.context()
    context.hooks = hooks.of_agent("a1", "explore", PermissionMode.PLAN)
    await session._agent.executor.execute(ReadTool(), {"file_path": "gone"}, context)
    [record] = records(tmp_path, "PreToolUse")
    assert (record["agent_id"], record["agent_type"], record["permission_mode"]) == ("a1", "explore", "plan")
    await session.aclose()


async def test_hooks_of_notification_learn_that_the_user_is_asked_and_that_forge_waits(
    tmp_path: Path,
) -> None:
    kinds = ("permission_prompt", "idle_prompt", "elicitation_dialog")
    own(
        tmp_path,
        *(
            declared("Notification", f"cat > {kind}.part; mv {kind}.part {kind}", matcher=kind)
            for kind in kinds
        ),
    )
    call = Call("bash", {"command": "touch x"})
    session = scripted_session(tmp_path, [[call], ["ok"]], tools=[BashTool()], approver=Answering(Answer.NO))
    session.hooks.idle_s = 0.05
    await turn(session)
    async with asyncio.timeout(20):
        while not all((tmp_path / kind).exists() for kind in kinds[:2]):
            await asyncio.sleep(0.01)
    await session.aclose()
    found = [json.loads((tmp_path / kind).read_text()) for kind in kinds[:2]]
    assert [(one["notification_type"], one["message"]) for one in found] == [
        ("permission_prompt", "Forge needs your permission to use bash"),
        ("idle_prompt", "Forge is waiting for your input"),
    ]
    assert not (tmp_path / "elicitation_dialog").exists()


async def test_exported_variables_are_those_of_commands(tmp_path: Path) -> None:
    own(tmp_path, declared("SessionStart", 'echo "export NODE_ENV=test" >> "$CLAUDE_ENV_FILE"'))
    call = Call("bash", {"command": "echo env=$NODE_ENV"})
    session = scripted_session(
        tmp_path, [[call], ["ok"]], tools=[BashTool()], approver=Answering(Answer.ONCE)
    )
    await turn(session)
    assert any("env=test" in text for text in sent(session))
    await session.aclose()


async def test_escape_ends_hooks_of_the_session(tmp_path: Path) -> None:
    own(tmp_path, declared("UserPromptSubmit", "touch started; sleep 600"))
    session = scripted_session(tmp_path, [["ok"]])
    running = asyncio.create_task(turn(session))
    async with asyncio.timeout(20):
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.01)
        session.interrupt()
        events = await running
    assert isinstance(events[-1], AgentEnd)
    assert events[-1].result.stopped_reason == "cancelled"
    await session.aclose()


def approve_all(session: ForgeSession) -> None:
    approvals = session.hooks.approvals
    assert approvals is not None
    judged = [(declared_program(one.hook), one.judgement.seen, True) for one in approvals.judged.values()]
    ApprovalStore(session.config.state_dir).decide(judged)


EVERYTHING = [
    declared(event, "./hook.sh >> ran")
    for event in ("SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Notification")
]  # fmt: skip


@pytest.mark.parametrize("is_trusted", [False, True])
async def test_a_hostile_repository_starts_no_process_before_approval(
    tmp_path: Path, is_trusted: bool
) -> None:
    for name in (".forge/hooks.json", ".claude/settings.json", ".claude/settings.local.json"):
        write_hooks(tmp_path / name, *EVERYTHING)
    (tmp_path / "hook.sh").write_text("#!/bin/sh\necho owned\n")
    (tmp_path / "hook.sh").chmod(0o755)
    call = Call("read", {"file_path": "hook.sh"})
    session = scripted_session(tmp_path, [[call], ["ok"]], tools=[ReadTool()], is_trusted=is_trusted)
    events = await turn(session)
    await session.aclose()
    assert not (tmp_path / "ran").exists()
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert [text.count("PreToolUse:hook.sh") for text in notices] == ([3] if is_trusted else [])

    if is_trusted:
        approve_all(session)
        session = scripted_session(tmp_path / ".", [[call], ["ok"]], tools=[ReadTool()], is_trusted=True)
        await turn(session)
        await session.aclose()
        assert (tmp_path / "ran").read_text().count("owned") == 6


@pytest.mark.parametrize("line", ["./check.sh", 'sh "$CLAUDE_PROJECT_DIR/check.sh"', "cd sub && ../check.sh"])
async def test_the_user_s_own_hook_runs_no_file_of_a_folder_that_is_not_trusted(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "check.sh").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "check.sh").chmod(0o755)
    own(tmp_path, declared("UserPromptSubmit", line), declared("UserPromptSubmit", "cat check.sh > own"))
    session = scripted_session(tmp_path, [["ok"]])
    notices = [event.text for event in await turn(session) if isinstance(event, Notice)]
    await session.aclose()
    assert (tmp_path / "own").exists() and not [*tmp_path.rglob("ran")]
    [text] = notices
    assert "it runs 'check.sh' of this folder, which you do not trust; /trust yes allows it" in text

    session = scripted_session(tmp_path, [["ok"]], is_trusted=True)
    await turn(session)
    await session.aclose()
    assert [*tmp_path.rglob("ran")]


async def test_a_decision_counts_only_for_what_was_shown(tmp_path: Path) -> None:
    path = tmp_path / ".forge/hooks.json"
    write_hooks(path, declared("Stop", "sh one.sh"), declared("Stop", "cp /dev/null two"))
    (tmp_path / "one.sh").write_text("touch one\n")
    session = scripted_session(tmp_path, [["ok"]], is_trusted=True)
    await session.hooks.begin()
    shown = session.hooks.waiting()

    # Meanwhile another hook has come to the first place, and a script has changed.
    write_hooks(
        path,
        declared("Stop", "touch zero"),
        declared("Stop", "sh one.sh"),
        declared("Stop", "cp /dev/null two"),
    )
    (tmp_path / "one.sh").write_text("touch changed\n")
    await session.hooks.reload()

    assert await session.hooks.decide(shown, {0, 1}) == 1
    assert [one.command_line for one in session.hooks.waiting()] == ["touch zero", "sh one.sh"]
    await turn(session)
    await session.aclose()
    assert {one.name for one in tmp_path.glob("*") if one.stat().st_size == 0} == {"two"}


async def test_a_script_that_changes_after_approval_does_not_run(tmp_path: Path) -> None:
    write_hooks(tmp_path / ".claude/settings.json", declared("PreToolUse", "sh hook.sh", failClosed=True))
    (tmp_path / "hook.sh").write_text("exit 0\n")
    calls = [[Call("read", {"file_path": "a.txt"})]] * 2
    (tmp_path / "a.txt").write_text("text of a\n")
    session = scripted_session(tmp_path, [calls[0], ["ok"]], tools=[ReadTool()], is_trusted=True)
    await session.hooks.begin()
    approve_all(session)
    await session.hooks.reload()
    await turn(session)
    assert "text of a" in str(sent(session))

    for change in ("touch stolen", None):
        if change is None:
            (tmp_path / "hook.sh").unlink()
        else:
            (tmp_path / "hook.sh").write_text(change)
        again = scripted_session(tmp_path, [calls[0], ["ok"]], tools=[ReadTool()], is_trusted=True)
        again.hooks._use(session.hooks.approvals)  # type: ignore[arg-type]
        events = await turn(again)
        texts = [event.text for event in events if isinstance(event, Notice)]
        await again.aclose()
        assert not (tmp_path / "stolen").exists()
        assert texts
    await session.aclose()


def test_without_hooks_nothing_that_runs_them_is_imported(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from tests.support.sessions import scripted_session
session = scripted_session(Path(sys.argv[1]), [["ok"]])
async def run():
    async for _ in session.send("hello"): pass
    await session.aclose()
asyncio.run(run())
print([name for name in sys.modules if name.startswith("forge_core.extensions.hooks")])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


async def test_hooks_see_the_tool_of_a_server_however_it_is_called(tmp_path: Path) -> None:
    refusing = answering(
        {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
    )
    own(
        tmp_path,
        *(seen_by(event, "mcp__git__.*") for event in ("PreToolUse", "PostToolUse")),
        seen_by("PostToolUseFailure", "mcp__git__.*"),
        declared("PreToolUse", refusing, matcher="mcp__git__push"),
    )
    caller, server = Recorder(), server_entry(tmp_path)
    tools = [server_tool(server, caller, {**LOG, "name": name}) for name in ("log", "push")]
    calls = [
        Call("tool_run", {"name": f"mcp__git__{name}", "arguments": {"repo": str(at)}})
        for at, name in enumerate(("log", "push"))
    ]
    calls += [Call("mcp__git__log", {"repo": "2"}), Call("MCP__git__push", {"repo": "3"})]
    session = scripted_session(tmp_path, [calls, ["done"]], approver=Answering(Answer.ONCE))
    session._environment.deferred = ToolChoice.first(tools, "always", None)
    session._agent.set_tools([ToolSearchTool(), ToolRunTool()], tools)

    await turn(session)
    await session.aclose()

    seen = {
        event: sorted((one["tool_input"]["repo"], one["tool_name"]) for one in records(tmp_path, event))
        for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure")
    }
    log, push = "mcp__git__log", "mcp__git__push"
    assert seen == {
        "PreToolUse": [("0", log), ("1", push), ("2", log), ("3", push)],
        "PostToolUse": [("0", log), ("2", log)],
        "PostToolUseFailure": [],
    }
    assert sorted(one["repo"] for one in caller.calls) == ["0", "2"]
