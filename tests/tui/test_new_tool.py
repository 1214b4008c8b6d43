"""A tool that no other module knows: its declaration alone places it in policy, prompt, card and output."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect, ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEvent, Subject
from forge_core.headless.printers import StreamJsonPrinter, TextPrinter
from forge_core.langchain import ForgeAgent
from forge_core.permissions.policy import PermissionPolicy
from forge_core.session.loop_detector import LoopDetector
from forge_core.tools.arguments import text_of
from forge_core.tools.base import BaseTool, ExecutionContext, ToolParameter, ToolResult, ToolUse
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.paths import locate
from forge_core.tools.registry import builtin_tools
from forge_tui.screens.prompts.request_text import title_of
from tests.support.scripted_llm import Call, ScriptedLLM
from tests.support.transcripts import layout_of, shown


class StampTool(BaseTool):
    """Writes a line into a file."""

    name = "stamp"
    description = "Stamps a file."
    parameters = (ToolParameter("path", "string", "The file."),)
    effect = Effect.WRITE
    kind = ToolKind.WRITE
    title = "Stamp"
    action = "stamp a file"
    preview_rows = 2

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "path")

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(self.effect, params["path"], (locate(params["path"], context),))

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        locate(params["path"], context).write_text("stamped\n")
        return ToolResult(True, "one\ntwo\nthree", summary="stamped")


class WeighTool(BaseTool):
    """Gives the size of a file."""

    name = "weigh"
    description = "Weighs a file."
    parameters = (ToolParameter("path", "string", "The file."),)
    kind = ToolKind.LOOK
    title = "Weigh"
    may_repeat = True

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "path")

    def subject(self, arguments: Mapping[str, Any]) -> Subject:
        path = text_of(arguments, "path")
        return Subject("weighed", "file", path, path)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(self.effect, params["path"], (locate(params["path"], context),))

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        return ToolResult(True, f"{locate(params['path'], context).stat().st_size} bytes", summary="weighed")


async def run(
    folder: Path, *rounds: list[Call], mode: PermissionMode = PermissionMode.ASK, deny: tuple[str, ...] = ()
) -> tuple[list[AgentEvent], list[ApprovalRequest]]:
    """Run these rounds of calls with the new tools beside the built-in ones."""
    asked: list[ApprovalRequest] = []
    tools = [*builtin_tools(), StampTool(), WeighTool()]

    async def approve(request: ApprovalRequest) -> ApprovalReply:
        asked.append(request)
        return ApprovalReply(Answer.SESSION)

    edit_tools = {tool.name for tool in tools if tool.kind is ToolKind.WRITE}
    policy = PermissionPolicy(folder, mode, edit_tools=edit_tools, deny=deny)
    agent = ForgeAgent(
        llm=ScriptedLLM(replies=[*rounds, ["done"]]),
        tools=tools,
        executor=ToolExecutor(policy, approve),
        make_context=lambda: ExecutionContext(folder),
        make_watch=LoopDetector,
    )
    return [event async for event in agent.stream("go")], asked


async def test_approval_of_a_writing_tool_shows_its_title_and_grants_edits(tmp_path: Path) -> None:
    stamp = Call("stamp", {"path": "a.txt"})
    _, asked = await run(tmp_path, [stamp], [stamp])
    assert [(title_of(request), request.session_rule) for request in asked] == [
        ("Forge wants to stamp a file", "edit(./a.txt)")
    ]
    assert (tmp_path / "a.txt").read_text() == "stamped\n"


async def test_permission_modes_treat_a_new_tool_by_its_kind(tmp_path: Path) -> None:
    calls = [Call("stamp", {"path": "a.txt"})], [Call("weigh", {"path": "a.txt"})]
    _, asked = await run(tmp_path, *calls, mode=PermissionMode.ACCEPT_EDITS)
    assert asked == []
    _, asked = await run(tmp_path, [Call("weigh", {"path": "../x"})])
    assert [request.target for request in asked] == ["../x"]


async def test_deny_rules_for_the_tool_and_for_edits_cover_each_other(tmp_path: Path) -> None:
    for deny in ("stamp(*.txt)", "edit(*.txt)"):
        calls = [Call("stamp", {"path": "a.txt"}), Call("write", {"file_path": "b.txt", "content": "x"})]
        await run(tmp_path, calls, mode=PermissionMode.YOLO, deny=(deny,))
        assert list(tmp_path.iterdir()) == []


async def test_the_card_of_a_new_tool_shows_title_target_and_preview_and_groups_reads(tmp_path: Path) -> None:
    calls = [Call("weigh", {"path": name}) for name in ("a.txt", "b.txt")]
    (tmp_path / "b.txt").touch()
    events, _ = await run(tmp_path, [Call("stamp", {"path": "a.txt"})], calls)
    rows = [" ".join(row.split()) for row in shown(layout_of(*events))]
    start = next(at for at, row in enumerate(rows) if "Stamp a.txt stamped" in row)
    assert rows[start + 1 : start + 4] == ["│ … 1 more line (Ctrl+O)", "│ two", "│ three"]
    assert any("Weighed 2 files" in row for row in rows)


async def test_a_repeated_call_is_a_loop_unless_the_tool_may_repeat(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    ends = {}
    for name in ("stamp", "weigh"):
        events, _ = await run(tmp_path, *[[Call(name, {"path": "a.txt"})]] * 4)
        ends[name] = events[-1].data["result"].stopped_reason
    assert ends == {"stamp": "loop", "weigh": "complete"}


async def test_headless_output_contains_the_declared_title_target_and_kind(tmp_path: Path) -> None:
    events, _ = await run(tmp_path, [Call("stamp", {"path": "a.txt"})])
    out, answer, progress = io.StringIO(), io.StringIO(), io.StringIO()
    for event in events:
        StreamJsonPrinter(out).event(event)
        TextPrinter(answer, progress).event(event)
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    start = next(record["data"] for record in records if record["type"] == "tool_start")
    assert (start["title"], start["target"], start["kind"]) == ("Stamp", "a.txt", "write")
    assert "✓ stamp  stamped" in progress.getvalue()
