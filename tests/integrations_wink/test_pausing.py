"""Pauses and how they go on, checkpoints in the session, events of a stream, missing packages."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("weakincentives", reason="weakincentives is not installed (extra 'wink')")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra 'wink')")

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from weakincentives.adapters.core import PromptEvaluationError
from weakincentives.budget import Budget
from weakincentives.prompt import ToolResult
from weakincentives.runtime.session import Snapshot

from forge_core.events import AgentEnd, AgentEventType, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.integrations.langgraph import LangGraphAdapter, LangGraphClientConfig, SessionCheckpointer
from tests.integrations_wink.prompts import (
    EVENTS,
    Answer,
    Handlers,
    Model,
    Total,
    calls,
    make_prompt,
    make_session,
    names,
    says,
    tool,
)
from tests.support.sse_server import SseServer, answer, tool_answer

ADD = calls(("add", {"a": 1, "b": 2}))


@pytest.mark.parametrize("config", [{"interrupt_before": ("tools",)}, {"interrupt_after": ("tools",)}])
@pytest.mark.parametrize("saver", [None, InMemorySaver])
def test_a_paused_graph_raises_an_error_with_its_thread_and_can_be_resumed(config: Any, saver: Any) -> None:
    session, told = make_session()
    adapter = LangGraphAdapter(
        model="m", llm=Model(replies=[ADD, says("three")]), client_config=LangGraphClientConfig(**config),
        checkpointer=saver and saver(),
    )  # fmt: skip
    with pytest.raises(PromptEvaluationError, match=str(session.session_id)):
        adapter.evaluate(make_prompt(tool("add", Handlers().add)), session=session)
    assert "PromptExecuted" not in names(told)
    assert adapter.resume(session=session).text == "three"
    assert names(told) == ["PromptRendered", "RenderedTools", "ToolInvoked", "PromptExecuted"]
    assert told[-1].usage.total_tokens == 30, "both halves count"
    with pytest.raises(RuntimeError, match="Nothing is paused"):
        adapter.resume(session=session)


def test_a_handler_can_interrupt_and_runs_again_with_the_answer() -> None:
    session, told = make_session()

    def asking(params: Any, *, context: Any) -> Any:
        context.session[Total].append(Total(-5))
        said = interrupt({"question": "really?"})
        return ToolResult.ok(Total(said))

    adapter = LangGraphAdapter(
        model="m", llm=Model(replies=[calls(("ask", {"a": 1})), says("ok")]), checkpointer=InMemorySaver()
    )
    with pytest.raises(PromptEvaluationError) as caught:
        adapter.evaluate(make_prompt(tool("ask", asking)), session=session)
    assert caught.value.provider_payload["interrupts"] == [{"question": "really?"}]
    assert session[Total].all() == (), "what was done before the question is undone"
    assert adapter.resume(session=session, value=9).text == "ok"
    assert session[Total].all() == (Total(-5), Total(9))
    assert names(told).count("ToolInvoked") == 1


def test_a_new_evaluation_instead_of_a_resume_discards_the_paused_call() -> None:
    session, _ = make_session()
    llm = Model(replies=[ADD, says("something else")])
    adapter = LangGraphAdapter(
        model="m", llm=llm, checkpointer=InMemorySaver(),
        client_config=LangGraphClientConfig(interrupt_before=("tools",)),
    )  # fmt: skip
    handlers = Handlers()
    prompt = make_prompt(tool("add", handlers.add))
    with pytest.raises(PromptEvaluationError):
        adapter.evaluate(prompt, session=session)
    assert adapter.evaluate(prompt, session=session).text == "something else"
    assert [m.type for m in llm.seen[1]] == ["human", "ai", "tool", "human"]
    assert handlers.contexts == []
    with pytest.raises(RuntimeError, match="Nothing is paused"):
        adapter.resume(session=session)


def test_an_interrupt_without_a_checkpointer_raises_an_error_and_cannot_be_resumed() -> None:
    session, _ = make_session()

    def asking(params: Any, *, context: Any) -> Any:
        return ToolResult.ok(Total(interrupt("?")))

    adapter = LangGraphAdapter(model="m", llm=Model(replies=[calls(("ask", {"a": 1})), says("ok")]))
    with pytest.raises(PromptEvaluationError, match="checkpointer"):
        adapter.evaluate(make_prompt(tool("ask", asking)), session=session)
    with pytest.raises(RuntimeError, match="Nothing is paused"):
        adapter.resume(session=session)


def test_the_session_keeps_checkpoints_through_a_rollback_and_a_snapshot() -> None:
    handlers, (session, _) = Handlers(), make_session()
    saver = SessionCheckpointer(session)
    assert isinstance(saver, BaseCheckpointSaver)
    SessionCheckpointer(session)  # a second one over the same session stores nothing twice
    llm = Model(replies=[calls(("bad", {"a": 1}), ("add", {"a": 1})), says("one"), says("two")])
    adapter = LangGraphAdapter(model="m", llm=llm, checkpointer=saver)
    prompt = make_prompt(tool("bad", handlers.store_then_fail), tool("add", handlers.add))
    adapter.evaluate(prompt, session=session)
    config: Any = {"configurable": {"thread_id": str(session.session_id)}}
    ids = [found.checkpoint["id"] for found in saver.list(config)]
    assert len(ids) == len(set(ids)) >= 4 and ids == sorted(ids, reverse=True)
    assert [t.config for t in saver.list(config, limit=2)] == [t.config for t in saver.list(config)][:2]
    written = session.snapshot(include_all=True).to_json()
    other, _ = make_session()
    copied = SessionCheckpointer(other)
    for kind in (*EVENTS, Total):  # a session restores only what it knows
        other[kind].seed(())
    other.restore(Snapshot.from_json(written), preserve_logs=False)
    assert [t.checkpoint["id"] for t in copied.list(config)] == ids
    again = LangGraphAdapter(
        model="m", llm=(second := Model(replies=[says("two")])), checkpointer=copied,
        client_config=LangGraphClientConfig(thread_id=str(session.session_id)),
    )  # fmt: skip
    assert again.evaluate(make_prompt(), session=other).text == "two"
    assert [m.type for m in second.seen[0]] == ["human", "ai", "tool", "tool", "ai", "human"]
    saver.copy_thread(str(session.session_id), "copy")
    assert saver.get_tuple({"configurable": {"thread_id": "copy"}}).checkpoint["id"] == ids[0]
    saver.delete_thread(str(session.session_id))
    assert list(saver.list(config)) == [] and saver.get_tuple(config) is None
    assert saver.get_tuple({"configurable": {"thread_id": "copy"}}) is not None


def test_the_session_checkpointer_resumes_a_pause_and_answers_asynchronously() -> None:
    session, _ = make_session()
    saver = SessionCheckpointer(session)
    adapter = LangGraphAdapter(
        model="m", llm=Model(replies=[ADD, says("three")]), checkpointer=saver,
        client_config=LangGraphClientConfig(interrupt_before=("tools",)),
    )  # fmt: skip
    with pytest.raises(PromptEvaluationError):
        adapter.evaluate(make_prompt(tool("add", Handlers().add)), session=session)
    assert adapter.resume(session=session).text == "three"
    config: Any = {"configurable": {"thread_id": str(session.session_id)}}

    async def read() -> Any:
        return await saver.aget_tuple(config), [found async for found in saver.alist(config)]

    latest, everything = asyncio.run(read())
    assert latest == everything[0] == saver.get_tuple(config)


def test_a_stream_over_http_yields_forge_events_and_ends_with_the_response(server: SseServer) -> None:
    server.add(tool_answer(("c1", "add", {"a": 2})), answer("th", "ree"))
    session, told = make_session()
    stream = LangGraphAdapter(model="m").stream(make_prompt(tool("add", Handlers().add)), session=session)
    events: list[Any] = []
    while True:
        try:
            events.append(next(stream))
        except StopIteration as end:
            response = end.value
            break
    assert response.text == "three"
    assert [e.type for e in events if e.type is not AgentEventType.LLM_CHUNK] == [
        "llm_start", "llm_end", "tool_start", "tool_end", "llm_start", "llm_end", "agent_end",
    ]  # fmt: skip
    texts = [e.text for e in events if e.type == "llm_chunk" and e.kind == "answer"]
    assert texts == ["th", "ree"]
    assert (events[-1].result.output, events[-1].result.usage.total_tokens) == ("three", 34)
    assert told[-1].usage.total_tokens == 34
    assert {e.call_id for e in events if isinstance(e, ToolStart | ToolEnd)} == {"c1"}


def test_a_stream_reports_a_failure_instead_of_raising_it() -> None:
    session, told = make_session()
    llm = Model(replies=[calls(("add", {"a": 1}))])
    adapter = LangGraphAdapter(model="m", llm=llm)
    events = list(
        adapter.stream(
            make_prompt(tool("add", Handlers().add)), session=session, budget=Budget(max_total_tokens=20)
        )
    )
    assert [e.type for e in events[-2:]] == ["error", "agent_end"]
    assert (events[-1].result.stopped_reason, len(llm.seen)) == ("budget", 2)
    assert sum(isinstance(e, LLMStart) for e in events) == sum(isinstance(e, LLMEnd) for e in events) == 2
    assert "PromptExecuted" not in names(told)
    bad = LangGraphAdapter(model="m", llm=Model(replies=[says("no json")]))
    events = list(bad.stream(make_prompt(output=Answer), session=session))
    assert (events[-2].kind, events[-1].result.stopped_reason) == ("PromptEvaluationError", "error")


def test_closing_the_stream_stops_the_graph() -> None:
    session, told = make_session()
    llm = Model(replies=[calls(("add", {"a": 1}))])
    stream = LangGraphAdapter(model="m", llm=llm).stream(
        make_prompt(tool("add", Handlers().add)), session=session
    )
    assert next(stream).type == "llm_start"
    stream.close()
    assert len(llm.seen) < 12, "the graph would have gone on to its limit"
    assert not any(isinstance(event, AgentEnd) for event in told)


_MISSING = """
import sys
for name in {missing!r}: sys.modules[name] = None
from forge_core.integrations.langgraph import *
from forge_core.integrations import langgraph
for make in {makers!r}:
    try:
        eval(make, vars(langgraph) | globals())
    except RuntimeError as error:
        print(error)
    else:
        raise SystemExit(make + " did not complain")
"""


@pytest.mark.parametrize(
    ("missing", "makers"),
    [
        (["langgraph"], ["LangGraphAdapter(model='m')", "GraphRunner(llm=1)", "SessionCheckpointer({})"]),
        (["weakincentives"], ["LangGraphAdapter(model='m')", "SessionCheckpointer({})", "BudgetTrackingCallback(None)"]),
    ],
)  # fmt: skip
def test_only_the_constructor_reports_a_missing_package(missing: list[str], makers: list[str]) -> None:
    program = _MISSING.format(missing=missing, makers=makers)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(makers)
    assert all(missing[0] in line and "pip install" in line for line in lines)
