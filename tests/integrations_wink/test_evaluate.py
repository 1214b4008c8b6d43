"""What an evaluation shows: events, usage, context, state, structured output, graphs of one's own."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

pytest.importorskip("weakincentives", reason="weakincentives is not installed (extra 'wink')")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra 'wink')")

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from weakincentives.adapters.core import ProviderAdapter
from weakincentives.budget import Budget, BudgetTracker
from weakincentives.prompt import MarkdownSection, SectionVisibility, VisibilityExpansionRequired
from weakincentives.prompt.policy import SequentialDependencyPolicy
from weakincentives.runtime.run_context import RunContext
from weakincentives.runtime.session import SetVisibilityOverride
from weakincentives.runtime.watchdog import Heartbeat

from forge_core.integrations.langgraph import (
    LangGraphAdapter,
    LangGraphClientConfig,
    LangGraphModelConfig,
    ToolExecutionContext,
    bind_wink_tools,
    wink_tool_to_langgraph,
)
from tests.integrations_wink.prompts import (
    TEXT,
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
from tests.support.sse_server import SseServer, json_reply


def adapter_of(*replies: Any, **options: Any) -> tuple[Any, Model]:
    llm = Model(replies=list(replies))
    return LangGraphAdapter(model="test/model", llm=llm, **options), llm


def test_the_adapter_is_a_wink_provider_adapter_named_langgraph() -> None:
    adapter, _ = adapter_of(says("x"))
    assert isinstance(adapter, ProviderAdapter)
    assert adapter.adapter_name == "langgraph"


def test_events_come_in_order_with_one_session_and_one_run_context() -> None:
    handlers, run_context = Handlers(), RunContext(worker_id="w")
    session, told = make_session()
    adapter, _ = adapter_of(calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3})), says("It is 3."))
    response = adapter.evaluate(
        make_prompt(tool("add", handlers.add)), session=session, run_context=run_context
    )
    assert (response.prompt_name, response.text, response.output) == ("sum", "It is 3.", None)
    assert names(told) == ["PromptRendered", "RenderedTools", "ToolInvoked", "ToolInvoked", "PromptExecuted"]
    assert {event.session_id for event in told} == {session.session_id}
    assert all(event.run_context is run_context for event in told if hasattr(event, "run_context"))
    assert told[1].render_event_id == told[0].event_id
    assert [schema.name for schema in told[1].tools] == ["add"]
    assert [(e.call_id, e.rendered_output, e.params) for e in told[2:4]] == [
        ("call_0", "total 3", {"a": 1, "b": 2}),
        ("call_1", "total 4", {"a": 3}),
    ]
    assert told[-1].result == response


def test_the_rendered_text_is_sent_once_as_the_users_message() -> None:
    session, told = make_session()
    adapter, llm = adapter_of(says("done"))
    adapter.evaluate(make_prompt(), session=session)
    assert [(m.type, m.text) for m in llm.seen[0]] == [("human", told[0].rendered_prompt)]
    assert TEXT in told[0].rendered_prompt


def test_usage_is_summed_over_all_model_calls_and_charged_to_the_tracker() -> None:
    session, told = make_session()
    tracker = BudgetTracker(Budget(max_total_tokens=1_000))
    adapter, _ = adapter_of(calls(("add", {"a": 1})), calls(("add", {"a": 2})), says("done"))
    prompt = make_prompt(tool("add", Handlers().add))
    adapter.evaluate(prompt, session=session, budget_tracker=tracker)
    assert (told[-1].usage.input_tokens, told[-1].usage.output_tokens) == (30, 15)
    again, _ = adapter_of(says("done"))
    again.evaluate(prompt, session=session, budget_tracker=tracker)
    assert tracker.consumed.total_tokens == 60, "a second evaluation of the same prompt adds up"


def test_the_tool_context_is_complete() -> None:
    handlers, heartbeat, run_context = Handlers(), Heartbeat(), RunContext()
    beats: list[int] = []
    heartbeat.add_callback(lambda: beats.append(1))
    session, _ = make_session()
    tracker = BudgetTracker(Budget(max_total_tokens=1_000))
    adapter, _ = adapter_of(calls(("add", {"a": 1})), says("done"))
    prompt = make_prompt(tool("add", handlers.add))
    adapter.evaluate(
        prompt, session=session, budget_tracker=tracker, heartbeat=heartbeat, run_context=run_context
    )
    (context,) = handlers.contexts
    assert context.rendered_prompt is not None and TEXT in context.rendered_prompt.text
    assert (context.prompt, context.adapter, context.session) == (prompt, adapter, session)
    assert (context.heartbeat, context.run_context) == (heartbeat, run_context)
    assert context.budget_tracker is tracker
    assert len(beats) >= 4


def test_session_reducers_see_result_values() -> None:
    session, _ = make_session()
    adapter, _ = adapter_of(calls(("add", {"a": 4, "b": 5})), says("9"))
    adapter.evaluate(make_prompt(tool("add", Handlers().add)), session=session)
    assert session[Total].all() == (Total(9),)


@pytest.mark.parametrize("failing", ["store_then_fail", "store_then_raise"])
@pytest.mark.parametrize("order", ["first", "last"])
def test_only_the_failing_one_of_two_tool_calls_is_rolled_back(failing: str, order: str) -> None:
    handlers = Handlers()
    session, told = make_session()
    wanted = [("bad", {"a": 0}), ("add", {"a": 1, "b": 1})]
    adapter, llm = adapter_of(calls(*(wanted if order == "first" else wanted[::-1])), says("done"))
    prompt = make_prompt(tool("add", handlers.add), tool("bad", getattr(handlers, failing)))
    adapter.evaluate(prompt, session=session)
    assert session[Total].all() == (Total(2),)
    results = {m.name: m for m in llm.seen[1] if m.type == "tool"}
    assert (results["bad"].status, results["add"].status) == ("error", "success")
    assert results["add"].text == "total 2"
    assert names(told)[-1] == "PromptExecuted"


def test_a_policy_denial_reaches_the_model_but_not_the_handler() -> None:
    handlers = Handlers()
    session, told = make_session()
    policy = SequentialDependencyPolicy(dependencies={"second": frozenset({"first"})})
    prompt = make_prompt(tool("first", handlers.add), tool("second", handlers.add), policies=(policy,))
    adapter, llm = adapter_of(
        calls(("second", {"a": 1})), calls(("first", {"a": 1})), calls(("second", {"a": 1})), says("done")
    )
    adapter.evaluate(prompt, session=session)
    denied = llm.seen[1][-1]
    assert (denied.status, denied.text) == ("error", "Tool 'second' requires: first")
    assert len(handlers.contexts) == 2, "after the first tool the second is allowed"
    assert [e.result.success for e in told if hasattr(e, "call_id")] == [False, True, True]


def test_an_expand_request_propagates_from_evaluate_and_the_next_call_shows_the_section() -> None:
    section = MarkdownSection(
        title="Notes", key="notes", template="All of the notes.", summary="Some notes.",
        visibility=SectionVisibility.SUMMARY, tools=(tool("hidden", Handlers().add),),
    )  # fmt: skip
    prompt = make_prompt(sections=[section])
    session, told = make_session()
    adapter, _ = adapter_of(
        calls(("open_sections", {"section_keys": ["notes"], "reason": "need them"})), says("done")
    )
    with pytest.raises(VisibilityExpansionRequired) as asked:
        adapter.evaluate(prompt, session=session)
    assert names(told) == ["PromptRendered", "RenderedTools"]
    for path, visibility in asked.value.requested_overrides.items():
        session.dispatch(SetVisibilityOverride(path=path, visibility=visibility))
    again, llm = adapter_of(says("done"))
    again.evaluate(prompt, session=session)
    assert "All of the notes." in llm.seen[0][0].text


@pytest.mark.parametrize("how", ["prompt", "provider"])
def test_a_structured_object_is_parsed(how: Any) -> None:
    session, _ = make_session()
    adapter, llm = adapter_of(
        calls(("add", {"a": 1})), says('{"answer": "2", "confidence": 0.5}'), response_format=how
    )
    prompt = make_prompt(tool("add", Handlers().add), output=Answer)
    response = adapter.evaluate(prompt, session=session)
    assert response.output == Answer("2", 0.5)
    assert session[Answer].latest() == Answer("2", 0.5)
    if how == "prompt":
        assert llm.seen[0][0].type == "system" and '"confidence"' in llm.seen[0][0].text
    else:
        assert llm.kwargs[0]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "text", ['[{"answer": "a", "confidence": 1.0}]', '{"items": [{"answer": "a", "confidence": 1.0}]}']
)
def test_a_structured_array_is_parsed(text: str) -> None:
    session, _ = make_session()
    adapter, _ = adapter_of(says(f"Here:\n```json\n{text}\n```"))
    assert adapter.evaluate(make_prompt(output=list[Answer]), session=session).output == [Answer("a", 1.0)]


def test_a_structured_answer_through_a_tool_is_parsed() -> None:
    session, _ = make_session()
    llm = Model()
    llm.replies = [calls(("Answer", {"answer": "a", "confidence": 1.0}))]
    adapter = LangGraphAdapter(model="m", llm=llm, response_format="tool")
    assert adapter.evaluate(make_prompt(output=Answer), session=session).output == Answer("a", 1.0)


def graph_with_tools(llm: Model, handle_tool_errors: bool = False) -> Any:
    """A graph of one's own: asks, runs the prompt's tools, asks again."""

    def ask(state: Any, config: RunnableConfig) -> Any:
        found = config["configurable"]["forge_tools"]
        return {"messages": [llm.bind_tools(found).invoke(state["messages"])]}

    def work(state: Any, config: RunnableConfig) -> Any:
        tools = config["configurable"]["forge_tools"]
        return ToolNode(tools, handle_tool_errors=handle_tool_errors).invoke(state, config)

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("work", work)
    graph.add_node("last", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "work")
    graph.add_edge("work", "last")
    return graph.compile()


def test_a_custom_graph_runs_with_the_prompt_tools_usage_tracking_and_events() -> None:
    handlers, (session, told) = Handlers(), make_session()
    llm = Model(replies=[calls(("add", {"a": 1}), ("add", {"a": 2})), says("done")])
    adapter = LangGraphAdapter(model="m", llm=llm, graph=graph_with_tools(llm))
    assert adapter.evaluate(make_prompt(tool("add", handlers.add)), session=session).text == "done"
    assert names(told) == ["PromptRendered", "RenderedTools", "ToolInvoked", "ToolInvoked", "PromptExecuted"]
    assert {e.call_id for e in told[2:4]} == {"call_0", "call_1"}
    assert told[-1].usage.total_tokens == 30
    assert all(context.rendered_prompt is not None for context in handlers.contexts)


def test_an_expand_request_escapes_a_graph_that_swallows_tool_errors() -> None:
    section = MarkdownSection(
        title="Notes", key="notes", template="All.", summary="Some.",
        visibility=SectionVisibility.SUMMARY, tools=(tool("hidden", Handlers().add),),
    )  # fmt: skip
    handlers, (session, told) = Handlers(), make_session()
    wanted = ("open_sections", {"section_keys": ["notes"], "reason": "need them"})
    llm = Model(replies=[calls(wanted, ("add", {"a": 1})), says("done")])
    adapter = LangGraphAdapter(model="m", llm=llm, graph=graph_with_tools(llm, handle_tool_errors=True))
    with pytest.raises(VisibilityExpansionRequired):
        adapter.evaluate(make_prompt(tool("add", handlers.add), sections=[section]), session=session)
    assert len(llm.seen) == 1, "the model is not asked again"
    assert "PromptExecuted" not in names(told)


def test_the_thread_id_defaults_to_the_session_id() -> None:
    session, _ = make_session()
    saver = InMemorySaver()
    for config, thread in (
        (None, str(session.session_id)),
        (LangGraphClientConfig(thread_id="mine"), "mine"),
    ):
        adapter, llm = adapter_of(says("one"), says("two"), client_config=config, checkpointer=saver)
        adapter.evaluate(make_prompt(), session=session)
        adapter.evaluate(make_prompt(), session=session)
        assert saver.get_tuple({"configurable": {"thread_id": thread}}) is not None
        assert [m.type for m in llm.seen[1]] == ["human", "ai", "human"], "the thread is kept"


def test_without_a_checkpointer_every_evaluation_starts_afresh() -> None:
    session, _ = make_session()
    adapter, llm = adapter_of(says("one"), says("two"))
    adapter.evaluate(make_prompt(), session=session)
    assert adapter.evaluate(make_prompt(), session=session).text == "two"
    assert len(llm.seen[1]) == 1


def test_usage_of_an_evaluation_inside_a_tool_is_counted_separately() -> None:
    inner_session, _ = make_session()
    inner, _ = adapter_of(says("inner answer"))

    def delegate(params: Any, *, context: Any) -> Any:
        response = inner.evaluate(make_prompt(), session=inner_session)
        return Handlers().add(params, context=context) if response.text == "inner answer" else None

    session, told = make_session()
    adapter, _ = adapter_of(calls(("delegate", {"a": 1})), says("outer"))
    assert adapter.evaluate(make_prompt(tool("delegate", delegate)), session=session).text == "outer"
    assert told[-1].usage.total_tokens == 30, "the inner model call is the inner evaluation's"


def test_resources_entered_by_the_caller_stay_open() -> None:
    session, _ = make_session()
    adapter, _ = adapter_of(says("one"))
    prompt = make_prompt()
    with prompt.resources:
        adapter.evaluate(prompt, session=session)
        assert prompt.resources.context is not None


def test_a_forced_tool_choice_applies_to_the_first_call_only() -> None:
    session, _ = make_session()
    adapter, llm = adapter_of(
        calls(("add", {"a": 1})), says("x"), tool_choice="required",
        model_config=LangGraphModelConfig(temperature=0.1, stop=("END",), parallel_tool_calls=False),
    )  # fmt: skip
    adapter.evaluate(make_prompt(tool("add", Handlers().add)), session=session)
    assert [kwargs.get("tool_choice") for kwargs in llm.kwargs] == ["required", None]
    assert all(k["temperature"] == 0.1 and k["parallel_tool_calls"] is False for k in llm.kwargs)


def test_tools_can_be_bound_and_called_by_hand() -> None:
    handlers, (session, told) = Handlers(), make_session()
    adapter, llm = adapter_of(says("x"))
    prompt = make_prompt(wanted := tool("add", handlers.add))
    context = ToolExecutionContext(session=session, prompt=prompt, adapter=adapter)
    bind_wink_tools(llm, [wanted], context=context).invoke("hi")
    assert [t.name for t in llm.kwargs[0]["tools"]] == ["add"]
    with prompt.resources:
        made = wink_tool_to_langgraph(wanted, session=session, prompt=prompt, adapter=adapter)
        assert made.invoke({"a": 2, "b": 2}) == "total 4"
        answer = made.invoke({"name": "add", "args": {"a": "x"}, "id": "c1", "type": "tool_call"})
    assert (answer.status, names(told)) == ("error", ["ToolInvoked"])


def test_the_http_request_contains_model_tools_and_sampling_parameters(server: SseServer) -> None:
    def reply(message: dict[str, Any], reason: str) -> Any:
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return json_reply({"id": "g", "model": "acme/m", "choices": [choice], "usage": usage})

    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    server.add(
        reply({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"),
        reply({"role": "assistant", "content": "three"}, "stop"),
    )
    session, told = make_session()
    config = LangGraphModelConfig(model_provider="acme", temperature=0.2, max_tokens=50, seed=7)
    adapter = LangGraphAdapter(model="m", model_config=config)
    assert adapter.evaluate(make_prompt(tool("add", Handlers().add)), session=session).text == "three"
    first, second = (seen.json for seen in server.requests)
    assert (first["model"], first["temperature"], first["max_tokens"], first["seed"]) == (
        "acme/m",
        0.2,
        50,
        7,
    )
    parameters = first["tools"][0]["function"]["parameters"]
    assert parameters["additionalProperties"] is False and parameters["required"] == ["a"]
    assert second["messages"][-1]["content"] == "total 3"
    assert second["messages"][-1]["tool_call_id"] == "c1" == told[2].call_id
    assert told[-1].usage.total_tokens == 20
    assert uuid.UUID(str(told[-1].session_id)) == session.session_id
