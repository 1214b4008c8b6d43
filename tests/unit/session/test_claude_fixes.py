"""Bugs of hooks that Claude Code's changelog reports as fixed: Forge must not have them.

The versions are those of https://github.com/anthropics/claude-code/blob/main/CHANGELOG.md. Others are in the
tests of matchers (2.1.191, 2.1.195), files (2.1.122), input (2.1.89), the runner (2.0.41, 2.1.19, 2.1.139) and
calls (2.1.77, 2.1.101, 2.1.110, 2.1.211).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer
from forge_core.config.permission_mode import PermissionMode
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_runner import Occasion
from forge_core.tools import BashTool, EditTool, ReadTool, WriteTool
from forge_core.tools.registry import builtin_tools
from tests.support.hooks import HookBench, answering, declared
from tests.support.scripted_llm import Call
from tests.support.sessions import Answering, scripted_session
from tests.unit.extensions.hooks.test_call_hooks import Call as HookedCall
from tests.unit.extensions.hooks.test_hook_runner import permission
from tests.unit.extensions.hooks.test_matching import called, holds
from tests.unit.session.test_session_hooks import own, records, seen_by, sent, turn

YOLO = PermissionMode.YOLO
TOOLS = {tool.name: tool for tool in builtin_tools()}


def bench(tmp_path: Path, *hooks: dict[str, Any]) -> HookBench:
    (tmp_path / "project").mkdir(exist_ok=True)
    return HookBench.of(tmp_path / "project", *hooks)


@pytest.mark.parametrize(
    ("version", "condition", "line", "expected"),
    [
        ("2.1.89", "Bash(git *)", "ls && git push", True),
        ("2.1.89", "Bash(git *)", "FOO=bar git push", True),
        ("2.1.163", "Bash(git *)", "echo $HOME", False),
        ("2.1.163", "Bash(git *)", "echo $(date)", False),
        ("2.1.163", "Bash(git *)", "echo `git status`", True),
        ("2.1.147", "Bash(git push*)", "git push", True),
    ],
)
def test_conditions_of_commands(
    version: str, condition: str, line: str, expected: bool, tmp_path: Path
) -> None:
    assert holds(condition, called("bash", tmp_path, command=line)) is expected


@pytest.mark.parametrize(
    ("condition", "path", "expected"),
    [("Read(.env)", ".env", True), ("Read(~/.ssh/**)", "~/.ssh/id", True), ("Read(src/**)", "a", False)],
)
def test_2_1_176_conditions_of_paths(condition: str, path: str, expected: bool, tmp_path: Path) -> None:
    assert holds(condition, called("read", tmp_path, file_path=path)) is expected


@pytest.mark.parametrize(
    "stdout",
    ['{"decision": 5}', '{"decision": "approve"}', "{", "text"],
    ids=["2.1.214", "2.1.90", "cut", "text"],
)
async def test_exit_2_blocks_whatever_was_printed(tmp_path: Path, stdout: str) -> None:
    made = bench(tmp_path, declared("PreToolUse", f"echo '{stdout}'; echo no >&2; exit 2"))
    result = await HookedCall(made, {"mode": YOLO})("write", file_path="a", content="x")
    assert "no" in str(result.error) and not result.success


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStart"])
async def test_2_1_199_the_reason_of_exit_2_is_shown_where_nothing_can_be_blocked(
    tmp_path: Path, event: str
) -> None:
    made = bench(tmp_path, declared(event, "echo the reason >&2; exit 2"))
    await made.runner.run(HookEvent(event), Occasion({}))
    assert "the reason" in made.texts[0]


async def test_2_1_239_hooks_run_after_the_folder_is_gone(tmp_path: Path) -> None:
    made = bench(tmp_path, declared("SessionStart", "echo still here"))
    shutil.rmtree(made.folder)
    verdict = await made.runner.run(HookEvent.SESSION_START, Occasion({}))
    assert (verdict.context, made.texts) == ("still here", [])


async def test_2_1_210_and_2_1_212_a_timeout_is_no_refusal_by_the_user(tmp_path: Path) -> None:
    made = bench(tmp_path, declared("PreToolUse", "sleep 60", timeout=0.2, failClosed=True))
    run = HookedCall(made, {"mode": YOLO})
    result = await run("write", file_path="a", content="x")
    assert run.decisions == [("deny", "hook")]
    assert "the user did not allow" not in str(result.error)


async def test_2_1_212_a_halt_counts_although_the_tool_fails(tmp_path: Path) -> None:
    made = bench(
        tmp_path, declared("PostToolUseFailure", answering({"continue": False, "stopReason": "enough"}))
    )
    assert (await HookedCall(made)("read", file_path="gone")).ends_run


async def test_2_1_110_context_is_kept_although_the_tool_fails(tmp_path: Path) -> None:
    made = bench(tmp_path, declared("PreToolUse", permission("allow", additionalContext="mind the gap")))
    run = HookedCall(made)
    assert not (await run("read", file_path="gone")).success
    assert "mind the gap" in run.context.instructions


async def test_2_1_0_a_hook_can_replace_input_and_ask(tmp_path: Path) -> None:
    made = bench(tmp_path, declared("PreToolUse", permission("ask", updatedInput={"command": "touch other"})))
    run = HookedCall(made, {"mode": YOLO})
    await run("bash", command="touch t")
    assert [request.target for request in run.asked] == ["touch other"]


async def test_2_1_90_a_formatting_hook_does_not_make_the_next_edit_stale(tmp_path: Path) -> None:
    made = bench(
        tmp_path, declared("PostToolUse", "sed -i 's/ *$//' a.py; echo '# end' >> a.py", matcher="Edit|Write")
    )
    made.folder.joinpath("a.py").write_text("a = 1\nb = 2\n")
    files: dict[str, str] = {}
    run = HookedCall(made, {"mode": YOLO}, files=files)
    await run("read", file_path="a.py")
    for old, new in (("a = 1", "a = 3   "), ("b = 2", "b = 4")):
        result = await run("edit", file_path="a.py", old_string=old, new_string=new)
        assert result.success, result.error
    assert made.folder.joinpath("a.py").read_text() == "a = 3\nb = 4\n# end\n# end\n"


async def test_2_1_73_an_answer_that_says_nothing_adds_nothing(tmp_path: Path) -> None:
    own(
        tmp_path,
        declared("UserPromptSubmit", "echo '{}'"),
        declared("SessionStart", "echo '{\"continue\": true}'"),
    )
    session = scripted_session(tmp_path, [["ok"]])
    await turn(session, "hello")
    assert sent(session)[-1] == "hello"
    await session.aclose()


async def test_2_1_73_and_2_1_136_one_start_and_fresh_variables_after_a_reset(tmp_path: Path) -> None:
    line = '[ -e again ] || echo "export A=1" >> "$CLAUDE_ENV_FILE"; touch again'
    own(tmp_path, seen_by("SessionStart"), declared("SessionStart", line))
    session = scripted_session(tmp_path, [["ok"]])
    await session.hooks.begin()
    await turn(session)
    assert session.hooks.variables == {"A": "1"}
    await session.reset()
    assert session.hooks.variables == {}
    assert [one["source"] for one in records(tmp_path, "SessionStart")] == ["startup", "clear"]
    await session.aclose()


async def test_2_1_78_a_failed_turn_runs_no_hook_of_stop(tmp_path: Path) -> None:
    own(tmp_path, declared("Stop", "touch stop; exit 2"))
    session = scripted_session(tmp_path, [[RuntimeError("no")]])
    await turn(session)
    assert not (tmp_path / "stop").exists()
    await session.aclose()


async def test_2_1_23_an_async_hook_ends_with_the_session(tmp_path: Path) -> None:
    own(tmp_path, declared("Stop", "touch began; sleep 600; touch late", **dict[str, Any]({"async": True})))
    session = scripted_session(tmp_path, [["ok"]])
    await turn(session)
    await session.aclose()
    assert not (tmp_path / "late").exists()


async def test_2_0_30_hooks_run_in_mode_yolo(tmp_path: Path) -> None:
    own(tmp_path, declared("PreToolUse", "exit 2", matcher="Bash"))
    call = Call("bash", {"command": "touch x"})
    tools = [BashTool(), EditTool(), ReadTool(), WriteTool()]
    session = scripted_session(
        tmp_path, [[call], ["ok"]], tools=tools, mode=YOLO, approver=Answering(Answer.ONCE)
    )
    await turn(session)
    assert not (tmp_path / "x").exists()
    await session.aclose()
