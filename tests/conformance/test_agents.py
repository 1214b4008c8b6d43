"""LangChain's agents with their middleware, and deepagents, on our model: real packages, a loopback server.

Each run is made twice, once with whole answers and once with streamed ones; the server refuses a conversation
that is not valid for the API.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed (extra 'conformance')")
pytest.importorskip("deepagents", reason="deepagents is not installed (extra 'conformance')")

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
)
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from forge_core.langchain import OpenRouterLLM
from tests.conformance.model_server import MODEL, as_asked, check, usage_of
from tests.support.sse_server import Reply, Seen, SseServer, error_reply

THREAD: Any = {"configurable": {"thread_id": "t"}}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    made = [
        {
            "id": f"call_{name}_{place}",
            "index": place,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for place, (name, arguments) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


@dataclass
class Script:
    """Answers one after the other, each in the form that was asked for; checks what it is sent."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    total_tokens: dict[int, int] = field(default_factory=dict)
    """What the usage of the n-th answer says, where it is not what it was."""

    def __call__(self, seen: Seen) -> Reply:
        body = seen.json
        check(body)
        self.bodies.append(body)
        place = len(self.bodies) - 1
        message, usage = self.messages[place], usage_of(body)
        if place in self.total_tokens:
            usage |= {
                "prompt_tokens": self.total_tokens[place] - 20,
                "total_tokens": self.total_tokens[place],
            }
        return as_asked(body, message, "tool_calls" if "tool_calls" in message else "stop", usage)

    def tools_of(self, place: int) -> set[str]:
        return {offered["function"]["name"] for offered in self.bodies[place].get("tools") or ()}

    def texts_of(self, place: int) -> str:
        return json.dumps(self.bodies[place]["messages"], ensure_ascii=False)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def endpoint(script: Script) -> Iterator[SseServer]:
    with SseServer(routes={"POST /chat/completions": script}) as made:
        yield made


@pytest.fixture
def llm(endpoint: SseServer) -> Iterator[OpenRouterLLM]:
    model = OpenRouterLLM(model=MODEL, base_url=endpoint.base_url, max_retries=0)
    yield model
    model.client.close()


Run = Callable[..., dict[str, Any]]


def _whole(graph: Any, given: Any, config: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = graph.invoke(given, config)
    return found


def _streamed(graph: Any, given: Any, config: Any = None) -> dict[str, Any]:
    """The final state of a run whose model calls are streamed token by token."""

    async def run() -> dict[str, Any]:
        last: dict[str, Any] = {}
        chunks = 0
        async for mode, part in graph.astream(given, config, stream_mode=["messages", "values"]):
            if mode == "values":
                last = part
            else:
                chunks += isinstance(part[0], AIMessageChunk)
        assert chunks > 1 or "__interrupt__" in last
        return last

    return asyncio.run(run())


@pytest.fixture(params=[_whole, _streamed], ids=["whole", "streamed"])
def run(request: pytest.FixtureRequest) -> Run:
    found: Run = request.param
    return found


def asked(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def results(state: Mapping[str, Any]) -> list[str]:
    return [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]


SENT: list[str] = []


@tool
def send_mail(to: str) -> str:
    """Sends a mail."""
    SENT.append(to)
    return f"sent to {to}"


@tool
def clock() -> str:
    """Tells the time."""
    return "noon"


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


def test_reported_tokens_start_a_summary(run: Run, script: Script, llm: OpenRouterLLM) -> None:
    script.messages = [
        calls(("clock", {})),
        says("It is noon."),
        says("SUMMARY: noon was told"),
        says("As I said."),
    ]
    script.total_tokens = {1: 5_000}
    summarise = SummarizationMiddleware(
        llm,
        trigger=("tokens", 4_000),
        keep=("messages", 1),
        token_counter=lambda _: 1,  # only what the provider reported can start it
    )
    graph = create_agent(llm, [clock], middleware=[summarise], checkpointer=InMemorySaver())
    run(graph, asked("What time is it?"), THREAD)
    state = run(graph, asked("Again?"), THREAD)
    assert script.tools_of(2) == set()
    assert "What time is it?" in script.texts_of(2)
    assert "SUMMARY: noon was told" in script.texts_of(3)
    assert "What time is it?" not in script.texts_of(3)
    assert state["messages"][-1].content == "As I said."


@pytest.mark.parametrize(
    ("decision", "sent", "told"),
    [
        ({"type": "approve"}, ["bob"], "sent to bob"),
        (
            {"type": "edit", "edited_action": {"name": "send_mail", "args": {"to": "eve"}}},
            ["eve"],
            "sent to eve",
        ),
        ({"type": "reject", "message": "not now"}, [], "not now"),
    ],
)
def test_a_person_decides_about_a_call(
    run: Run, script: Script, llm: OpenRouterLLM, decision: dict[str, Any], sent: Sequence[str], told: str
) -> None:
    script.messages = [calls(("send_mail", {"to": "bob"}), ("clock", {})), says("Done.")]
    ask = HumanInTheLoopMiddleware({"send_mail": True})
    graph = create_agent(llm, [send_mail, clock], middleware=[ask], checkpointer=InMemorySaver())
    paused = run(graph, asked("mail bob"), THREAD)
    [pause] = paused["__interrupt__"]
    assert pause.value["action_requests"][0]["args"] == {"to": "bob"}
    assert SENT == []
    state = run(graph, Command(resume={"decisions": [decision]}), THREAD)
    assert list(sent) == SENT
    assert any(told in result for result in results(state))
    assert "noon" in results(state)
    assert state["messages"][-1].content == "Done."


@pytest.mark.parametrize("failure", [error_reply(503, "overloaded"), error_reply(401, "no such key")])
def test_the_next_model_answers_when_one_fails(
    run: Run, script: Script, llm: OpenRouterLLM, failure: Reply
) -> None:
    script.messages = [calls(("clock", {})), says("It is noon.")]
    with SseServer(routes={"POST /chat/completions": failure}) as broken:
        first = OpenRouterLLM(model="first/model", base_url=broken.base_url, max_retries=0)
        graph = create_agent(first, [clock], middleware=[ModelFallbackMiddleware(llm)])
        state = run(graph, asked("What time is it?"))
        first.client.close()
        assert [seen.json["model"] for seen in broken.requests] == ["first/model"] * 2
    assert [body["model"] for body in script.bodies] == [MODEL] * 2
    assert results(state) == ["noon"]
    assert state["messages"][-1].content == "It is noon."


def test_a_deep_agent_plans_writes_reads_and_delegates(run: Run, script: Script, llm: OpenRouterLLM) -> None:
    todos = [{"content": "write the note", "status": "in_progress"}]
    delegated = {"description": "look at the clock", "subagent_type": "timekeeper"}
    script.messages = [
        calls(("write_todos", {"todos": todos})),
        calls(("write_file", {"file_path": "/note.md", "content": "It is early.\n"})),
        calls(("read_file", {"file_path": "/note.md"})),
        calls(("edit_file", {"file_path": "/note.md", "old_string": "early", "new_string": "noon"})),
        calls(("task", delegated)),
        calls(("clock", {})),  # within the subagent
        says("The clock says noon."),
        calls(("ls", {"path": "/"})),
        says("The note is written."),
    ]
    timekeeper: Any = {
        "name": "timekeeper",
        "description": "Knows the time.",
        "system_prompt": "You keep the time.",
        "tools": [clock],
    }
    graph = create_deep_agent(
        llm, [], middleware=[TodoListMiddleware()], subagents=[timekeeper], system_prompt="You write notes."
    )
    state = run(graph, asked("write a note about the time"))
    assert state["todos"] == todos
    assert "noon" in str(state["files"]["/note.md"])
    told = results(state)
    assert "It is early." in told[2]
    assert "The clock says noon." in told[4]
    assert "/note.md" in told[5]
    assert "You keep the time." in script.texts_of(5)
    assert "clock" in script.tools_of(5)
    assert "clock" not in script.tools_of(4)
    assert isinstance(state["messages"][-1], AIMessage)
    assert state["messages"][-1].content == "The note is written."
    assert len(script.bodies) == len(script.messages)


def test_a_deep_agent_waits_for_a_persons_yes(run: Run, script: Script, llm: OpenRouterLLM) -> None:
    script.messages = [
        calls(("write_file", {"file_path": "/a.md", "content": "a"})),
        says("It is written."),
    ]
    graph = create_deep_agent(llm, [], interrupt_on={"write_file": True}, checkpointer=InMemorySaver())
    assert "__interrupt__" in run(graph, asked("write"), THREAD)
    assert "/a.md" not in (graph.get_state(THREAD).values.get("files") or {})
    state = run(graph, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert "/a.md" in state["files"]
    assert state["messages"][-1].content == "It is written."
