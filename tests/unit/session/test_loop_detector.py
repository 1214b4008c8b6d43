"""A run that goes round in circles is noticed, and ends unless the person wants it to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, QuestionReply, QuestionRequest
from forge_core.events import AgentEnd
from forge_core.langchain import ForgeAgent
from forge_core.result import AgentResult, ToolCallRecord
from forge_core.session.loop_detector import (
    SAME_CALLS,
    SAME_ERRORS,
    LoopDetector,
    ask_to_continue,
    error_class,
)
from forge_core.tools.base import BaseTool, ExecutionContext, ToolParameter, ToolResult
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import ToolRegistry, builtin_tools
from tests.support.agent_tools import Echo, Failing
from tests.support.scripted_llm import Call, Piece, ScriptedLLM


class Poll(BaseTool):
    """Gives the same answer each time."""

    name = "poll"
    description = "Polls."

    def __init__(self, *, may_repeat: bool) -> None:
        self.may_repeat = may_repeat

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        return ToolResult(True, "still running")


class Counter(BaseTool):
    """Gives another answer each time."""

    name = "count"
    description = "Counts."

    def __init__(self) -> None:
        self.calls = 0

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.calls += 1
        return ToolResult(True, f"now {self.calls}")


class Complaining(BaseTool):
    """Fails with an error that names what it was given."""

    name = "complain"
    description = "Fails."
    parameters = (ToolParameter("path", "string", "a path"),)

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        return ToolResult(False, error=f"there is no file '{params['path']}' (line {len(params['path'])})")


class Person:
    """Says whether to go on; `asked` holds what was the matter."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, what: str) -> bool:
        self.asked.append(what)
        return self.answers.pop(0)


async def run(
    replies: Sequence[Sequence[Piece]],
    tools: Sequence[BaseTool],
    person: Person | None = None,
    **options: Any,
) -> AgentResult:
    agent = ForgeAgent(
        llm=ScriptedLLM(replies=[list(reply) for reply in replies]),
        tools=list(tools),
        **{"max_iterations": 20, "make_watch": LoopDetector, "may_continue": person} | options,
    )
    result = await agent.run("go")
    answered = [call.id for message in result.messages for call in message.tool_calls or ()]
    assert answered == [message.tool_call_id for message in result.messages if message.tool_call_id]
    return result


async def test_the_same_call_with_the_same_result_three_times_in_a_row_ends_the_run() -> None:
    result = await run([[Call("echo", {"text": "again"})]], [Echo()])
    assert (result.stopped_reason, result.iterations, len(result.tool_calls)) == (
        "loop",
        SAME_CALLS,
        SAME_CALLS,
    )
    assert "same call 3 times in a row" in (result.warning or "")
    assert "echo again" in (result.warning or "")


async def test_the_same_call_with_another_result_is_progress() -> None:
    result = await run([[Call("count")]] * 7 + [["done"]], [Counter()])
    assert (result.stopped_reason, len(result.tool_calls)) == ("complete", 7)


async def test_another_call_in_between_resets_the_count() -> None:
    echo = [Call("echo", {"text": "a"})]
    result = await run([echo, echo, [Call("count")], echo, echo, ["done"]], [Echo(), Counter()])
    assert result.stopped_reason == "complete"


async def test_argument_order_does_not_make_a_call_different() -> None:
    one = ToolCallRecord("1", "t", {"a": 1, "b": 2}, "r", True, 0.1)
    other = ToolCallRecord("2", "t", {"b": 2, "a": 1}, "r", True, 0.2)
    detector = LoopDetector(ToolRegistry())
    assert [detector.observe(record) is None for record in (one, other, one)] == [True, True, False]


async def test_the_duration_of_a_command_does_not_make_a_result_different(tmp_path: Path) -> None:
    call = [Call("bash", {"command": "echo hi; sleep 0.0$((RANDOM % 9))"})]
    context = lambda: ExecutionContext(tmp_path)  # noqa: E731
    result = await run([call], builtin_tools(), make_context=context)
    assert (result.stopped_reason, result.iterations) == ("loop", SAME_CALLS)


async def test_a_repeatable_tool_is_not_a_loop() -> None:
    result = await run([[Call("poll")]] * 8 + [["done"]], [Poll(may_repeat=True)])
    assert (result.stopped_reason, len(result.tool_calls)) == ("complete", 8)
    assert (await run([[Call("poll")]] * 8, [Poll(may_repeat=False)])).stopped_reason == "loop"


def test_tools_that_wait_for_a_job_or_the_user_are_repeatable() -> None:
    assert {tool.name for tool in builtin_tools() if tool.may_repeat} == {
        "job_output",
        "job_stop",
        "ask_user",
        "exit_plan_mode",
    }


async def test_five_errors_of_one_kind_end_the_run_despite_different_arguments() -> None:
    replies = [[Call("complain", {"path": "x" * number + "/a.py"})] for number in range(1, 12)]
    result = await run(replies, [Complaining()])
    assert (result.stopped_reason, len(result.tool_calls)) == ("loop", SAME_ERRORS)
    assert "kind of error 5 times" in (result.warning or "")


async def test_calls_to_different_unknown_tools_are_one_kind_of_error() -> None:
    result = await run([[Call(f"tool{number}")] for number in range(9)], [Echo()])
    assert (result.stopped_reason, len(result.tool_calls)) == ("loop", SAME_ERRORS)


async def test_errors_of_different_kinds_are_counted_separately() -> None:
    replies: list[list[Piece]] = [[Call("fail", {"how": how})] for how in ("raise", "crash", "error")] * 2
    result = await run([*replies, ["done"]], [Failing()])
    assert result.stopped_reason == "complete"


async def test_a_success_of_the_same_tool_resets_its_error_count(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("x")
    missing = [[Call("read", {"file_path": f"gone{n}.txt"})] for n in range(4)]
    replies = [*missing, [Call("read", {"file_path": "there.txt"})], *missing, ["done"]]
    result = await run(replies, builtin_tools(), make_context=lambda: ExecutionContext(tmp_path))
    assert result.stopped_reason == "complete"
    assert sum(not record.success for record in result.tool_calls) == 8


async def test_failing_tests_between_edits_are_not_a_loop(tmp_path: Path) -> None:
    replies: list[list[Piece]] = []
    for number in range(7):
        replies.append([Call("bash", {"command": "echo '1 failed in 0.1s'; exit 1"})])
        replies.append([Call("write", {"file_path": f"a{number}.txt", "content": str(number)})])
    result = await run([*replies, ["done"]], builtin_tools(), make_context=lambda: ExecutionContext(tmp_path))
    assert result.stopped_reason == "complete"


async def test_the_user_can_continue_a_loop_and_is_asked_again_if_nothing_changes() -> None:
    person = Person(True, False)
    result = await run([[Call("echo", {"text": "x"})]], [Echo()], person)
    assert (result.stopped_reason, result.iterations) == ("loop", 2 * SAME_CALLS)
    assert len(person.asked) == 2
    assert all("same call" in what for what in person.asked)


async def test_user_advice_on_a_loop_is_sent_to_the_model_and_the_run_continues() -> None:
    async def advise(what: str) -> str:
        return "try the other file"

    llm = ScriptedLLM(replies=[[Call("echo", {"text": "x"})]] * 3 + [["I will."]])
    agent = ForgeAgent(llm=llm, tools=[Echo()], make_watch=LoopDetector, may_continue=advise)
    result = await agent.run("go")
    assert (result.stopped_reason, result.output) == ("complete", "I will.")
    assert str(llm.seen[-1][-1].content) == "try the other file"


async def test_loop_counts_are_reset_for_every_turn() -> None:
    replies: list[list[Piece]] = [[Call("echo", {"text": "x"})], ["done"]] * 4
    agent = ForgeAgent(llm=ScriptedLLM(replies=replies), tools=[Echo()], make_watch=LoopDetector)
    assert [(await agent.run("again")).stopped_reason for _ in range(4)] == ["complete"] * 4


async def test_an_agent_without_loop_detection_runs_to_its_limit() -> None:
    result = await run([[Call("echo", {"text": "x"})]], [Echo()], make_watch=None, max_iterations=6)
    assert (result.stopped_reason, result.iterations) == ("max_iterations", 6)


async def test_at_the_call_limit_the_user_is_asked_and_can_double_it() -> None:
    person = Person(True, False)
    result = await run([[Call("count")]], [Counter()], person, max_iterations=4)
    assert (result.stopped_reason, result.iterations) == ("max_iterations", 8)
    assert person.asked == [
        "4 model calls were made for this request, the limit.",
        "8 model calls were made for this request, the limit.",
    ]
    assert "maximum" in (result.warning or "")


async def test_an_answer_within_the_limit_does_not_ask() -> None:
    person = Person()
    result = await run([[Call("count")]] * 3 + [["done"]], [Counter()], person, max_iterations=4)
    assert (result.stopped_reason, person.asked) == ("complete", [])


async def test_an_interrupt_during_the_loop_question_ends_the_run_and_closes_it() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def silent(what: str) -> bool:
        asked.set()
        try:
            return bool(await asyncio.Event().wait())
        finally:
            ended.set()

    agent = ForgeAgent(
        llm=ScriptedLLM(replies=[[Call("echo", {"text": "x"})]]),
        tools=[Echo()],
        make_watch=LoopDetector,
        may_continue=silent,
    )
    running = asyncio.create_task(agent.run("go"))
    await asked.wait()
    agent.interrupt()
    assert (await running).stopped_reason == "cancelled"
    assert ended.is_set()


async def test_waiting_for_the_answer_does_not_count_against_the_timeout() -> None:
    counted: list[float] = []

    async def slow(what: str) -> bool:
        assert agent.clock is not None
        before = agent.clock.elapsed()
        await asyncio.sleep(0.1)
        counted.append(agent.clock.elapsed() - before)
        return True

    replies: list[list[Piece]] = [[Call("echo", {"text": "x"})]] * 3 + [["done"]]
    agent = ForgeAgent(
        llm=ScriptedLLM(replies=replies), tools=[Echo()], make_watch=LoopDetector, may_continue=slow
    )
    assert (await agent.run("go")).stopped_reason == "complete"
    assert counted == [pytest.approx(0, abs=0.01)]


async def test_a_failing_continue_hook_ends_the_run() -> None:
    async def broken(what: str) -> bool:
        raise RuntimeError("no screen")

    agent = ForgeAgent(
        llm=ScriptedLLM(replies=[[Call("echo", {"text": "x"})]]),
        tools=[Echo()],
        make_watch=LoopDetector,
        may_continue=broken,
    )
    events = [event async for event in agent.stream("go")]
    assert isinstance(events[-1], AgentEnd)
    assert events[-1].result.stopped_reason == "loop"


@pytest.mark.parametrize(
    ("reply", "goes_on"),
    [
        (QuestionReply((("Continue",),)), True),
        (QuestionReply((("Stop",),)), False),
        (QuestionReply((("try the other file",),)), "try the other file"),
        (QuestionReply(((),)), False),
        (QuestionReply(), False),
        (QuestionReply((("Continue",),), declined=True), False),
    ],
)
async def test_the_loop_question_preselects_stop_and_continues_only_on_an_answer(
    reply: QuestionReply, goes_on: bool | str
) -> None:
    seen: list[QuestionRequest] = []

    async def person(request: QuestionRequest) -> QuestionReply:
        seen.append(request)
        return reply

    assert await ask_to_continue(person)("It loops.") == goes_on
    (question,) = seen[0].questions
    assert question.text == "It loops. Continue?"
    assert [option.label for option in question.options] == ["Stop", "Continue"]


def test_errors_are_of_one_kind_when_only_names_and_figures_differ() -> None:
    assert error_class("Error: no 'a.py' at line 3") == error_class("Error: no 'b.py' at line 77")
    assert error_class("Error: exit code 1\nImportError: x") != error_class("Error: exit code 1\nKeyError: y")
    assert error_class("") == error_class("\n")


async def test_three_identical_denied_calls_end_the_run(tmp_path: Path) -> None:
    from forge_core.permissions.policy import PermissionPolicy
    from tests.support.sessions import Answering

    executor = ToolExecutor(policy=PermissionPolicy(root=tmp_path), approver=Answering(Answer.NO))
    result = await run(
        [[Call("write", {"file_path": "a.txt", "content": "x"})]],
        builtin_tools(),
        executor=executor,
        make_context=lambda: ExecutionContext(tmp_path),
    )
    assert (result.stopped_reason, len(result.tool_calls)) == ("loop", SAME_CALLS)
    assert not (tmp_path / "a.txt").exists()
