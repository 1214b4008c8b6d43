"""Hooks around tool calls, through the executor with the real policy."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, deny_all
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEvent, Notice, Permission
from forge_core.extensions.hooks.call_hooks import ToolCallHooks
from forge_core.permissions.policy import PermissionPolicy
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import builtin_tools
from tests.support.hooks import HookBench, answering, declared
from tests.unit.extensions.hooks.test_hook_runner import MakeBench, permission

TOOLS = {tool.name: tool for tool in builtin_tools()}


@dataclass
class Call:
    """Runs calls with hooks and keeps what came of them."""

    bench: HookBench
    rules: dict[str, Any] = field(default_factory=dict)
    answer: Answer = Answer.NO
    asked: list[ApprovalRequest] = field(default_factory=list)
    events: list[AgentEvent] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    context: ExecutionContext = field(default_factory=ExecutionContext)

    async def __call__(self, tool: str, **arguments: Any) -> ToolResult:
        async def approve(request: Any) -> Any:
            self.asked.append(request)
            return ApprovalReply(self.answer, "the user says no")

        bench = self.bench
        self.context = ExecutionContext(
            bench.folder,
            call_id="c1",
            files=self.files,
            emit=self.events.append,
            interrupted=asyncio.Event(),
            hooks=ToolCallHooks(bench.runner, lambda: {"session_id": "s"}, bench.notices.append),
        )
        executor = ToolExecutor(PermissionPolicy(bench.folder, **self.rules), approve)
        return await executor.execute(TOOLS[tool], arguments, self.context)

    @property
    def decisions(self) -> list[tuple[str, str]]:
        return [(one.decision, one.by) for one in self.events if isinstance(one, Permission)]


ALLOW = declared("PreToolUse", permission("allow", "fine"))
DENY = declared("PreToolUse", "echo not today >&2; exit 2")
ASK = declared("PreToolUse", permission("ask", "sure?"))
GRANT = declared(
    "PermissionRequest",
    answering(
        {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
    ),
)
REFUSE = declared("PermissionRequest", "echo no >&2; exit 2")
WRITE = ("write", {"file_path": "a.txt", "content": "x"})
OUTSIDE = ("write", {"file_path": "../a.txt", "content": "x"})
KEYS = ("read", {"file_path": ".env"})
TOUCH = ("bash", {"command": "touch t"})
NETWORK = ("bash", {"command": "touch t", "network": True})
WIPE = ("bash", {"command": "rm -rf ~"})
GIT = ("write", {"file_path": ".git/config", "content": "x"})
YOLO, PLAN = PermissionMode.YOLO, PermissionMode.PLAN
POWER: list[tuple[str, Any, tuple[str, Any], dict[str, Any], str]] = [
    ("no hook", {}, WRITE, {}, "asked"),
    ("allow", ALLOW, WRITE, {}, "allowed"),
    ("allow of a command", ALLOW, TOUCH, {}, "allowed"),
    ("allow against a deny rule", ALLOW, WRITE, {"deny": ["write(a.txt)"]}, "denied"),
    ("allow against an ask rule", ALLOW, WRITE, {"ask": ["write(a.txt)"]}, "asked"),
    ("allow in plan mode", ALLOW, WRITE, {"mode": PLAN}, "denied"),
    ("allow outside the folder", ALLOW, OUTSIDE, {}, "asked"),
    ("allow of keys", ALLOW, KEYS, {}, "asked"),
    ("allow of git's own files", ALLOW, GIT, {}, "asked"),
    ("allow to leave the sandbox", ALLOW, NETWORK, {"sandbox": "full"}, "asked"),
    ("allow of a catastrophe", ALLOW, WIPE, {}, "denied"),
    ("deny", DENY, WRITE, {}, "denied"),
    ("deny against an allow rule", DENY, WRITE, {"allow": ["write(*)"]}, "denied"),
    ("deny in mode yolo", DENY, WRITE, {"mode": YOLO}, "denied"),
    ("ask", ASK, WRITE, {}, "asked"),
    ("ask against an allow rule", ASK, WRITE, {"allow": ["write(*)"]}, "asked"),
    ("ask in mode yolo", ASK, WRITE, {"mode": YOLO}, "asked"),
    ("grant", GRANT, WRITE, {}, "allowed"),
    ("grant against an ask rule", GRANT, WRITE, {"ask": ["write(a.txt)"]}, "asked"),
    ("grant of keys", GRANT, KEYS, {}, "asked"),
    ("refuse", REFUSE, WRITE, {}, "denied"),
    ("refuse what is not asked", REFUSE, WRITE, {"mode": YOLO}, "allowed"),
]


@pytest.mark.parametrize(
    ("hook", "call", "rules", "expected"), [row[1:] for row in POWER], ids=[row[0] for row in POWER]
)
async def test_what_a_hook_can_change_of_the_policys_verdict(
    bench: MakeBench, hook: dict[str, Any], call: tuple[str, Any], rules: dict[str, Any], expected: str
) -> None:
    made = bench(*([hook] if hook else []))
    (made.folder / ".env").write_text("KEY=1\n")
    run = Call(made, rules)
    result = await run(call[0], **call[1])
    found = "asked" if run.asked else "allowed" if result.success else "denied"
    assert (found, made.texts) == (expected, [])
    if expected == "denied" and hook in (DENY, REFUSE):
        assert run.decisions == [("deny", "hook")]
        assert "the hook " in str(result.error)
        assert not (made.folder / "a.txt").exists()


async def test_an_allow_of_a_projects_hook_is_no_opinion(bench: MakeBench) -> None:
    for hook in (ALLOW, GRANT):
        run = Call(bench(project=hook))
        await run("write", file_path="a.txt", content="x")
        assert len(run.asked) == 1


async def test_a_hook_reads_the_call_as_claude_code_would_make_it(bench: MakeBench) -> None:
    made = bench(
        declared("PreToolUse", "cat > before.json", matcher="Bash"),
        declared("PostToolUse", "cat > after.json", matcher="Bash"),
        declared("PreToolUse", "touch wrong", matcher="Edit|Write"),
        declared("PreToolUse", "touch wrong", **{"if": "Bash(git *)"}),
    )
    run = Call(made, {"mode": YOLO})
    await run("bash", command="echo hi", timeout_s=2)

    before, after = (json.loads((made.folder / name).read_text()) for name in ("before.json", "after.json"))
    assert before["session_id"] == "s"
    assert before["tool_name"] == "Bash"
    assert before["tool_use_id"] == "c1"
    assert before["tool_input"] == {"command": "echo hi", "description": "", "timeout": 2000}
    assert before["forge"]["tool"] == "bash"
    assert before["forge"]["arguments"] == {"command": "echo hi", "description": "", "timeout_s": 2.0}
    assert "hi" in after["tool_response"]["stdout"]
    assert after["duration_ms"] >= 0
    assert not (made.folder / "wrong").exists()


async def test_any_denial_of_one_file_denies_a_call_on_several(bench: MakeBench) -> None:
    check = 'grep -q "/b.txt" && { echo b is closed >&2; exit 2; }; exit 0'
    made = bench(declared("PreToolUse", check, matcher="Edit|Write"))
    for name in "ab":
        (made.folder / f"{name}.txt").write_text("x\n")
    run = Call(made, {"mode": YOLO})
    for name in ("a.txt", "b.txt"):
        await run("read", file_path=name)
    edits = [{"file_path": f"{name}.txt", "old_string": "x", "new_string": "y"} for name in "ab"]
    patch = "*** Begin Patch\n*** Add File: c.txt\n+x\n*** Delete File: b.txt\n*** End Patch"

    for result in (await run("multi_edit", edits=edits), await run("apply_patch", patch=patch)):
        assert "b is closed" in str(result.error)
    assert [(made.folder / f"{name}.txt").read_text() for name in "ab"] == ["x\n", "x\n"]
    assert not (made.folder / "c.txt").exists()


def replacing(event: str, **given: Any) -> dict[str, Any]:
    if event == "PreToolUse":
        return declared(event, permission("allow", updatedInput=given), matcher="Bash")
    decision = {"behavior": "allow", "updatedInput": given}
    return declared(event, answering({"hookSpecificOutput": {"hookEventName": event, "decision": decision}}))


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
async def test_replaced_input_is_judged_anew_and_shown(bench: MakeBench, event: str) -> None:
    made = bench(replacing(event, command="touch other"))
    run = Call(made)
    result = await run("bash", command="touch t")
    assert result.success
    assert sorted(path.name for path in made.folder.iterdir()) == ["other"]
    [notice] = [one for one in run.events if isinstance(one, Notice)]
    assert notice.text.endswith(': {"command": "touch other"}')
    assert "touch other" in run.context.instructions

    denied = await Call(bench_again(made, replacing(event, command="rm -rf ~")))("bash", command="touch t")
    assert not denied.success

    run = Call(bench_again(made, replacing(event, command="touch t", network=True)))
    await run("bash", command="touch t")
    assert run.asked[0].target == "touch t"
    assert "Changed by the hook" in run.asked[0].details

    wrong = await Call(bench_again(made, replacing(event, command=5, colour="red")))(
        "bash", command="touch t"
    )
    assert "cannot be used" in str(wrong.error)


def bench_again(made: HookBench, *hooks: dict[str, Any]) -> HookBench:
    return HookBench.of(made.folder, *hooks)


CHECK = declared("PreToolUse", "grep -q other && { echo not other >&2; exit 2; }; exit 0", matcher="Bash")
LIKES_T = declared(
    "PreToolUse", f"grep -q 'touch t' || exit 0\n{permission('allow', 'fine')}", matcher="Bash"
)


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize(
    ("own", "rules", "expected"),
    [
        ([], {}, "asked"),
        ([LIKES_T], {}, "asked"),
        ([GRANT], {}, "asked"),
        ([CHECK], {}, "denied"),
        ([CHECK], {"mode": YOLO}, "denied"),
        ([declared("PreToolUse", permission("allow", updatedInput={"command": "touch mine"}))], {}, "mine"),
    ],
    ids=["nothing", "allow of the first", "grant of the first", "check", "check in mode yolo", "own update"],
)
async def test_input_that_a_projects_hook_has_replaced_is_judged_by_the_users_own_hooks(
    bench: MakeBench, event: str, own: list[dict[str, Any]], rules: dict[str, Any], expected: str
) -> None:
    made = bench(*own, project=replacing(event, command="touch other"))
    run = Call(made, rules)
    result = await run("bash", command="touch t")
    if expected == "mine":
        assert [path.name for path in made.folder.iterdir()] == ["mine"]
        return
    is_asked = own != [LIKES_T] and "mode" not in rules
    if (event == "PermissionRequest" and not is_asked) or (event == "PreToolUse" and own == [GRANT]):
        assert result.success and not run.asked  # nothing was replaced, or the user's hook has seen it
        return
    assert not result.success
    assert not (made.folder / "other").exists()
    assert [one.target for one in run.asked] == (["touch other"] if expected == "asked" else [])


async def test_an_allow_of_other_input_does_not_count_when_a_projects_hook_replaces_it(
    bench: MakeBench,
) -> None:
    made = bench(LIKES_T, project=replacing("PermissionRequest", command="touch other"))
    run = Call(made, {"ask": ["bash(touch t)"]})
    await run("bash", command="touch t")
    assert [one.target for one in run.asked] == ["touch other"]


async def test_a_projects_hook_replaces_no_output_that_the_users_own_has_replaced(bench: MakeBench) -> None:
    def writing(text: str) -> dict[str, Any]:
        specific = {"hookEventName": "PostToolUse", "updatedToolOutput": text}
        return declared("PostToolUse", answering({"hookSpecificOutput": specific}))

    made = bench(writing("[left out]"), project=writing("password"))
    (made.folder / "a.txt").write_text("password\n")
    assert (await Call(made)("read", file_path="a.txt")).for_model() == "[left out]"


async def test_input_of_several_files_is_denied_rather_than_left_as_it_was(bench: MakeBench) -> None:
    made = bench(declared("PreToolUse", permission("allow", updatedInput={"content": "safe"})))
    patch = "*** Begin Patch\n*** Add File: c.txt\n+x\n*** End Patch"
    result = await Call(made, {"mode": YOLO})("apply_patch", patch=patch)
    assert "cannot be replaced" in str(result.error)
    assert not (made.folder / "c.txt").exists()


async def test_after_a_call_the_model_is_told(bench: MakeBench) -> None:
    made = bench(
        declared("PostToolUse", "echo lint: bad >&2; exit 2"),
        declared("PostToolUse", answering({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "note"}})),
        declared("PostToolUseFailure", "cat > failure.json"),
        declared("PreToolUse", permission("allow", additionalContext="before")),
    )  # fmt: skip
    (made.folder / "a.txt").write_text("x\n")
    run = Call(made)
    assert (await run("read", file_path="a.txt")).success
    told = run.context.instructions
    assert told.index("before") < told.index("lint: bad") < told.index("note")

    assert not (await run("read", file_path="gone.txt")).success
    failure = json.loads((made.folder / "failure.json").read_text())
    assert "gone.txt" in failure["error"]
    assert failure["is_interrupt"] is False
    assert "lint" not in run.context.instructions


async def test_output_can_be_replaced(bench: MakeBench) -> None:
    specific = {"hookEventName": "PostToolUse", "updatedToolOutput": "[left out]"}
    made = bench(declared("PostToolUse", answering({"hookSpecificOutput": specific}), matcher="Read"))
    (made.folder / "a.txt").write_text("password\n")
    assert (await Call(made)("read", file_path="a.txt")).for_model() == "[left out]"


async def test_continue_false_denies_the_call_and_ends_the_turn(bench: MakeBench) -> None:
    made = bench(declared("PreToolUse", answering({"continue": False, "stopReason": "budget spent"})))
    run = Call(made, {"mode": YOLO})
    result = await run("write", file_path="a.txt", content="x")
    assert result.ends_run
    assert "budget spent" in str(result.error)
    assert made.texts == ["A hook ended the turn: budget spent"]
    assert not (made.folder / "a.txt").exists()


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_an_interrupt_ends_hooks(bench: MakeBench, event: str) -> None:
    made = bench(
        declared(event, "touch started; sleep 600"), declared("PostToolUseFailure", "cat > failure.json")
    )
    run = Call(made, {"mode": YOLO})
    (made.folder / "a.txt").write_text("x\n")
    running = asyncio.create_task(run("read", file_path="a.txt"))
    async with asyncio.timeout(20):
        while not (made.folder / "started").exists():
            await asyncio.sleep(0.01)
        assert run.context.interrupted is not None
        run.context.interrupted.set()
        result = await running
    assert result.outcome == ("interrupted" if event == "PreToolUse" else None)
    assert made.texts == []


async def test_a_call_that_is_interrupted_is_reported_as_such(bench: MakeBench) -> None:
    made = bench(declared("PostToolUseFailure", "cat > failure; mv failure failure.json"))
    run = Call(made, {"mode": YOLO})
    running = asyncio.create_task(run("bash", command="touch started; sleep 600"))
    async with asyncio.timeout(20):
        while not (made.folder / "started").exists():
            await asyncio.sleep(0.01)
        assert run.context.interrupted is not None
        run.context.interrupted.set()
        await running
        while not (made.folder / "failure.json").exists():
            await asyncio.sleep(0.01)
    assert json.loads((made.folder / "failure.json").read_text())["is_interrupt"] is True
    await made.runner.aclose()


async def test_a_call_with_bad_arguments_runs_no_hook(bench: MakeBench) -> None:
    made = bench(declared("PreToolUse", "touch ran"), declared("PostToolUseFailure", "touch ran"))
    assert not (await Call(made)("read")).success
    assert not (made.folder / "ran").exists()


async def test_without_a_user_a_hook_can_answer(bench: MakeBench) -> None:
    made = bench(GRANT)
    context = ExecutionContext(made.folder, hooks=ToolCallHooks(made.runner, dict, made.notices.append))
    executor = ToolExecutor(PermissionPolicy(made.folder), deny_all)
    assert (await executor.execute(TOOLS["write"], dict(WRITE[1]), context)).success
