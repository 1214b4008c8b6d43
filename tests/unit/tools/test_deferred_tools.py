"""tool_search and tool_run, and calls of tools that the model was sent no definition of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from forge_core.events import AgentEvent, ToolEnd, ToolStart
from forge_core.langchain.agent import ForgeAgent
from forge_core.mcp.tool_ranking import ToolIndex
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.builtin.tool_run import ToolRunTool
from forge_core.tools.builtin.tool_search import MAX_NAMES, ToolSearchTool
from forge_core.tools.executor import ToolExecutor
from tests.support.many_tools import AnsweringCaller, listed_tool, many_tools, server_tools
from tests.support.scripted_llm import Call, ScriptedLLM


class Deferred:
    """Deferred tools that never change."""

    def __init__(self, tools: Sequence[Any]) -> None:
        self.is_active = True
        self._index = ToolIndex(tools)

    def ranked(self, query: str) -> Sequence[BaseTool]:
        return self._index.ranked(query)

    def nearest(self, name: str) -> Sequence[BaseTool]:
        return self._index.nearest(name)


CALLER = AnsweringCaller()
TOOLS = many_tools(CALLER)


async def searched(query: str, *, tools: Sequence[Any] = TOOLS, **more: Any) -> str:
    context = ExecutionContext(deferred=Deferred(tools))
    result = await ToolExecutor().execute(ToolSearchTool(), {"query": query, **more}, context)
    assert result.success
    return result.output


async def test_a_search_returns_definitions_and_the_names_of_more_matches() -> None:
    text = await searched("jira issue", limit=2)
    head, first, second, others = text.split("\n\n")
    assert head.startswith("2 of ") and others.startswith("Other matches: mcp__")
    assert others.count("mcp__") == MAX_NAMES and " more" in others
    assert first.startswith("mcp__") and '\nArguments: {"type":"object","properties":' in second
    assert (
        (await searched("mcp__grafana__close_page"))
        .split("\n\n")[1]
        .startswith("mcp__grafana__close_page: Close")
    )
    assert "No tool matches" in await searched("weather")


async def test_long_definitions_leave_room_for_the_first_ones_only() -> None:
    names = ["one_thing", "two_thing", "three_thing"]
    long = {f"at{number}": {"type": "string", "description": "x" * 1_000} for number in range(15)}
    tools = server_tools(CALLER, "big", [listed_tool(name, **long) for name in names])
    text = await searched("thing", tools=tools)
    assert text.startswith("1 of 3") and "Other matches: mcp__big__two_thing, mcp__big__three_thing" in text


async def run(*calls: Call, tools: Sequence[BaseTool] | None = None) -> tuple[ForgeAgent, list[AgentEvent]]:
    """Play the calls in one answer, in a conversation with 500 deferred tools."""
    context = ExecutionContext(deferred=Deferred(TOOLS))
    model = ScriptedLLM(replies=[list(calls), ["done"]])
    agent = ForgeAgent(llm=model, make_context=lambda: ExecutionContext(deferred=context.deferred))
    agent.set_tools([ToolSearchTool(), ToolRunTool()], TOOLS if tools is None else tools)
    return agent, [event async for event in agent.stream("go")]


async def result_of(call: Call) -> ToolEnd:
    [end] = [event for event in (await run(call))[1] if isinstance(event, ToolEnd)]
    return end


def with_name(name: str, **arguments: Any) -> Call:
    return Call("tool_run", {"name": name, "arguments": arguments})


@pytest.mark.parametrize(
    "call",
    [
        with_name("mcp__grafana__get_page", page_id="7"),
        with_name("grafana get_page", page_id="7"),
        Call("tool_run", {"name": "mcp__grafana__get_page", "arguments": '{"page_id": "7"}'}),
        Call("mcp__grafana__get_page", {"page_id": "7"}),
        Call("mcp__Grafana__Get-Page", {"page_id": "7"}),
    ],
    ids=["tool_run", "spelling", "text", "direct", "direct-spelling"],
)
async def test_a_deferred_tool_runs_under_its_own_name(call: Call) -> None:
    CALLER.calls.clear()
    agent, events = await run(call)
    [start] = [event for event in events if isinstance(event, ToolStart)]
    [end] = [event for event in events if isinstance(event, ToolEnd)]
    assert CALLER.calls == [("mcp__grafana__get_page", {"page_id": "7"})]
    assert (start.name, start.title, dict(start.arguments)) == (
        end.name,
        "grafana · get_page",
        {"page_id": "7"},
    )
    assert (end.name, end.success) == ("mcp__grafana__get_page", True)
    result = agent.last_result
    assert result is not None and [one.name for one in result.tool_calls] == ["mcp__grafana__get_page"]
    # The history has the call as the model made it, and the answer under the same name.
    _, answer, message = agent.memory.get_history()[:3]
    assert [one.name for one in answer.tool_calls or ()] == [call.name] and message.extra["name"] == call.name


async def test_only_the_stand_ins_are_in_the_request() -> None:
    agent, _ = await run()
    assert isinstance(agent.llm, ScriptedLLM)
    assert [tool["function"]["name"] for tool in agent.llm.bound] == ["tool_search", "tool_run"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (with_name("mcp__grafana__gett_page"), "The nearest names are: mcp__grafana__get_page"),
        (with_name("tool_run"), "there is no tool 'tool_run', so nothing was run"),
        (with_name("mcp__grafana__get_page"), "'page_id' is a required property"),
        (
            Call("tool_run", {"name": "mcp__grafana__get_page", "page_id": "7"}),
            "'page_id' must be in 'arguments'",
        ),
        (Call("tool_run", {"name": "mcp__grafana__get_page", "arguments": [1]}), "is not an object"),
        (Call("tool_run", {"name": "mcp__grafana__get_page", "arguments": "{"}), "is not valid JSON"),
        (Call("tool_run", {"arguments": {}}), "tool_run needs 'name'"),
        (Call("mcp__grafana__gett_page"), "Did you mean 'mcp__grafana__get_page'?"),
    ],
)
async def test_a_call_that_cannot_be_run_says_what_to_do(call: Call, error: str) -> None:
    CALLER.calls.clear()
    end = await result_of(call)
    assert not end.success and error in str(end.result)
    assert CALLER.calls == []


async def test_tool_run_reaches_nothing_but_the_tools_of_its_conversation() -> None:
    few = [tool for tool in TOOLS if tool.server.name == "jira"]
    CALLER.calls.clear()
    _, events = await run(with_name("mcp__grafana__get_page", page_id="7"), tools=few)
    [end] = [event for event in events if isinstance(event, ToolEnd)]
    assert (end.outcome, CALLER.calls) == ("unknown_tool", [])
