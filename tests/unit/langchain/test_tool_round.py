"""One round of tool calls: what the model and the callbacks get of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler

from forge_core.approval import Effect, deny_all
from forge_core.events import ToolEnd
from forge_core.langchain import ForgeAgent
from forge_core.permissions.policy import PermissionPolicy
from forge_core.tools.base import ExecutionContext, ToolCategory, ToolResult
from forge_core.tools.executor import ToolExecutor
from tests.support.agent_tools import Echo
from tests.support.scripted_llm import Call, Piece, ScriptedLLM


class Foreign(Echo):
    """A command: its output is not the user's."""

    name = "foreign"
    category = ToolCategory.EXECUTION
    effect = Effect.RUN


def agent_for(*replies: list[Piece], **options: Any) -> ForgeAgent:
    return ForgeAgent(llm=ScriptedLLM(replies=list(replies)), **options)


def results(agent: ForgeAgent) -> list[str]:
    return [message.text for message in agent.memory.get_history() if message.role == "tool"]


async def test_output_of_a_command_is_marked_as_data_and_a_message_of_forge_is_not() -> None:
    calls: list[Piece] = [Call("foreign", {"text": "theirs"}), Call("foreign", raw='{"text": "half')]
    agent = agent_for(calls, ["done"], tools=[Foreign()])
    await agent.run("go")
    output, message = results(agent)
    assert output.startswith("<tool-output") and "theirs" in output
    assert message.startswith("Error:") and "<tool-output" not in message


async def test_a_denial_is_not_marked_as_data(tmp_path: Path) -> None:
    agent = agent_for(
        [Call("foreign", {"text": "x"})],
        ["done"],
        tools=[Foreign()],
        executor=ToolExecutor(PermissionPolicy(tmp_path), deny_all),
        make_context=lambda: ExecutionContext(tmp_path),
    )
    await agent.run("go")
    (denial,) = results(agent)
    assert denial.startswith("Error:") and "<tool-output" not in denial


async def test_a_callback_for_a_permission_ends_before_the_run_does(tmp_path: Path) -> None:
    class Slow(AsyncCallbackHandler):
        ended = 0

        async def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            for _ in range(200):
                await asyncio.sleep(0)
            self.ended += 1

    handler = Slow()
    agent = agent_for(
        [Call("foreign", {"text": "x"})],
        ["done"],
        tools=[Foreign()],
        executor=ToolExecutor(PermissionPolicy(tmp_path), deny_all),
        make_context=lambda: ExecutionContext(tmp_path),
        stop_tools=frozenset({"foreign"}),
    )
    await agent.run("go", callbacks=[handler])
    assert handler.ended == 1


@pytest.mark.parametrize(
    ("category", "effect"),
    [(ToolCategory.EXECUTION, Effect.READ), (ToolCategory.FILE, Effect.WRITE)],
)
async def test_a_call_that_writes_or_executes_runs_alone(category: ToolCategory, effect: Effect) -> None:
    order: list[str] = []

    class Step(Echo):
        name = "step"

        async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
            order.append(f"+{params['text']}")
            await asyncio.sleep(0)
            order.append(f"-{params['text']}")
            return ToolResult(True, params["text"])

    step = Step()
    step.category, step.effect = category, effect
    await agent_for([Call("step", {"text": name}) for name in "ab"], ["done"], tools=[step]).run("go")
    assert order == ["+a", "-a", "+b", "-b"]


async def test_the_duration_of_a_call_leaves_out_the_wait_for_the_user() -> None:
    class Asking(Echo):
        async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
            context.waited_s += 1000.0
            return ToolResult(True, "x")

    agent = agent_for([Call("echo", {"text": "x"})], ["done"], tools=[Asking()])
    ends = [event async for event in agent.stream("go") if isinstance(event, ToolEnd)]
    assert [event.duration_s for event in ends] == [0.0]
