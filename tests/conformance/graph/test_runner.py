"""GraphRunner on the real LangGraph: Forge's models and tools in, Forge's events and results out."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra 'conformance')")
pytest.importorskip("langchain.agents", reason="langchain is not installed (extra 'conformance')")

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.integrations.langgraph import GraphRunner, LangGraphClientConfig
from forge_core.langchain import OpenRouterLLM, TokenTrackingCallback
from forge_core.tools.base import BaseTool, ExecutionContext, ToolParameter, ToolResult
from tests.support.sse_server import SseServer, answer, error_reply, json_reply, tool_answer


class Square(BaseTool):
    """Squares; remembers which threads were inside it at the same time."""

    name = "square"
    description = "Squares a number."
    parameters = (ToolParameter("n", "integer", "What"),)

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.inside = 0
        self.most = 0

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.01)
        self.calls.append(params["n"])
        self.inside -= 1
        if params["n"] < 0:
            return ToolResult(False, error="too small")
        return ToolResult(True, str(params["n"] ** 2))


def whole(text: str | None = None, *calls: tuple[str, dict[str, Any] | str], finish: str = "stop") -> Any:
    """One answer as JSON."""
    wanted = [
        {"id": f"c{i}", "type": "function",
         "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)}}
        for i, (n, a) in enumerate(calls)
    ]  # fmt: skip
    message = {"role": "assistant", "content": text, **({"tool_calls": wanted} if wanted else {})}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0.001}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if wanted else finish}
    return json_reply({"id": "g", "model": "test/model", "choices": [choice], "usage": usage})


@pytest.fixture
def provider() -> Iterator[SseServer]:
    with SseServer() as running:
        yield running


def runner_of(provider: SseServer, *replies: Any, **options: Any) -> GraphRunner:
    provider.add(*replies)
    llm = OpenRouterLLM(model="test/model", api_key="sk-or-test", base_url=provider.base_url, max_retries=0)
    return GraphRunner(**{"llm": llm, **options})


def test_a_run_has_output_messages_tool_calls_usage_and_cost(provider: SseServer) -> None:
    square, tracker = Square(), TokenTrackingCallback()
    runner = runner_of(
        provider, whole(None, ("square", {"n": 3}), ("square", {"n": -1})), whole("nine"),
        tools=[square], tracker=tracker,
    )  # fmt: skip
    result = runner.run("3 squared?")
    assert (result.output, result.stopped_reason, result.iterations) == ("nine", "complete", 2)
    assert [(r.id, r.result, r.success) for r in result.tool_calls] == [
        ("c0", "9", True),
        ("c1", "Error: too small", False),
    ]
    assert [m.role.value for m in result.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert (result.usage.total_tokens, str(result.usage.cost_usd)) == (30, "0.002")
    assert tracker.get_usage() == result.usage


def test_tools_of_one_answer_run_one_by_one_in_call_order(provider: SseServer) -> None:
    for streams in (False, True):
        square = Square()
        wanted = [(f"c{n}", "square", {"n": n}) for n in range(6)]
        if streams:
            runner = runner_of(provider, tool_answer(*wanted), answer("done"), tools=[square])
            list(runner.stream("go"))
        else:
            runner = runner_of(provider, whole(None, *[w[1:] for w in wanted]), whole("done"), tools=[square])
            runner.run("go")
        assert square.calls == list(range(6))
        assert square.most == 1


def test_a_stream_keeps_the_promises_of_events(provider: SseServer) -> None:
    runner = runner_of(
        provider, tool_answer(("c1", "square", {"n": 2})), answer("fo", "ur"), tools=[Square()]
    )
    events = list(runner.stream("2 squared?"))
    assert "".join(e.text for e in events if e.type == "llm_chunk" and e.kind == "answer") == "four"
    assert sum(isinstance(e, LLMStart) for e in events) == sum(isinstance(e, LLMEnd) for e in events) == 2
    starts = [e.call_id for e in events if isinstance(e, ToolStart)]
    assert starts == [e.call_id for e in events if isinstance(e, ToolEnd)] == ["c1"]
    assert isinstance(events[-1], AgentEnd) and events[-1].result.output == "four"
    assert [e.total_usage.total_tokens for e in events if isinstance(e, LLMEnd)] == [17, 34]
    assert [e for e in events if e.type == "llm_start"][1].iteration == 2


def test_a_providers_failure_is_told_and_not_raised(provider: SseServer) -> None:
    result = runner_of(provider, error_reply(401, "bad key")).run("hi")
    assert result.stopped_reason == "error" and "bad key" in (result.error or "")
    events = list(runner_of(provider, error_reply(500, "oh")).stream("hi"))
    assert [e.type for e in events] == ["llm_start", "llm_end", "error", "agent_end"]
    assert (events[2].kind, events[2].recoverable) == ("ServerError", True)


@pytest.mark.parametrize("bad", [("nope", {"n": 1}), ("square", {"n": "x"}), ("square", '{"n": 1')])
def test_calls_that_cannot_run_are_answered_and_the_model_goes_on(provider: SseServer, bad: Any) -> None:
    square = Square()
    result = runner_of(provider, whole(None, bad), whole("sorry"), tools=[square]).run("go")
    assert (result.output, square.calls) == ("sorry", [])
    assert [(r.id, r.success) for r in result.tool_calls] == [("c0", False)]
    sent = provider.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c0"


def test_the_recursion_limit_stops_the_loop(provider: SseServer) -> None:
    replies = [whole(None, ("square", {"n": 1}))] * 5
    runner = runner_of(provider, *replies, tools=[Square()], config=LangGraphClientConfig(recursion_limit=6))
    result = runner.run("go")
    assert (result.stopped_reason, result.iterations, result.error) == ("max_iterations", 3, None)
    assert "6" in (result.warning or "")


def test_what_check_raises_ends_the_run_before_the_next_call(provider: SseServer) -> None:
    square = Square()

    def check() -> None:
        if square.calls:
            raise ForgeError("enough")

    result = runner_of(provider, whole(None, ("square", {"n": 1})), tools=[square], check=check).run("go")
    assert (result.stopped_reason, result.error, len(provider.requests)) == ("error", "enough", 1)
    late = runner_of(provider, tools=[square], timeout=-1.0).run("go")
    assert (late.stopped_reason, len(provider.requests)) == ("timeout", 1)


def test_closing_a_stream_stops_the_graph(provider: SseServer) -> None:
    runner = runner_of(
        provider, *[tool_answer((f"c{n}", "square", {"n": 1})) for n in range(9)], tools=[Square()]
    )
    stream = runner.stream("go")
    assert next(stream).type == "llm_start"
    stream.close()
    assert len(provider.requests) < 9
    assert not [t for t in threading.enumerate() if t.name == "forge-graph-run"]


@pytest.mark.parametrize("saver", ["none", "memory", "sqlite"])
def test_a_pause_is_told_and_resumed(provider: SseServer, saver: str) -> None:
    kept = {"none": lambda: None, "memory": InMemorySaver, "sqlite": _sqlite}[saver]()
    square = Square()
    runner = runner_of(
        provider, whole(None, ("square", {"n": 5})), whole("25"), tools=[square], checkpointer=kept,
        config=LangGraphClientConfig(interrupt_before=("tools",), thread_id="th1"),
    )  # fmt: skip
    result = runner.run("go")
    assert (result.stopped_reason, square.calls) == ("error", [])
    assert "'th1'" in (result.error or "") and "tools" in (result.error or "")
    assert runner.resume().output == "25"
    assert square.calls == [5]
    with pytest.raises(ForgeError, match="Nothing is paused"):
        runner.resume()


def _sqlite() -> Any:
    import sqlite3

    return SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))


def test_interrupt_in_a_tool_gets_its_value_from_resume(provider: SseServer) -> None:
    @tool
    def ask(question: str) -> str:
        """Asks."""
        return f"they said {interrupt(question)}"

    runner = runner_of(
        provider,
        whole(None, ("ask", {"question": "ok?"})),
        whole("fine"),
        tools=[ask],
        checkpointer=InMemorySaver(),
    )
    assert runner.run("go").stopped_reason == "error"
    assert runner.resume("yes").tool_calls[-1].result == "they said yes"


def test_a_graph_of_ones_own_gets_meter_events_and_tools(provider: SseServer) -> None:
    llm = OpenRouterLLM(model="test/model", api_key="sk-or-test", base_url=provider.base_url)
    provider.add(whole("one"), whole("two"))
    graph = StateGraph(MessagesState)
    graph.add_node("a", lambda state: {"messages": [llm.invoke(state["messages"])]})
    graph.add_node("b", lambda state: {"messages": [llm.invoke(state["messages"])]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    runner = GraphRunner(graph=graph.compile())
    events = list(runner.stream("go"))
    assert (events[-1].result.output, events[-1].result.iterations) == ("two", 2)


def test_more_middleware_is_put_around_forges(provider: SseServer) -> None:
    class Shout(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(system_prompt="SHOUT"))

    runner_of(provider, whole("X"), middleware=[Shout()]).run("go")
    assert provider.requests[0].json["messages"][0] == {"role": "system", "content": "SHOUT"}


def test_a_run_without_a_model_or_a_graph_is_refused() -> None:
    with pytest.raises(ForgeError, match="llm"):
        GraphRunner()
    with pytest.raises(ValueError, match="recursion_limit is 0"):
        LangGraphClientConfig(recursion_limit=0)


def test_without_langgraph_the_import_works_and_the_constructor_names_it() -> None:
    program = (
        "import sys; sys.modules['langgraph'] = None\n"
        "from forge_core.integrations.langgraph import *\n"
        "try: GraphRunner(llm=1)\n"
        "except RuntimeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180)
    assert "langgraph" in done.stdout and "pip install" in done.stdout, done.stderr
