"""Bad input: each failure is WINK's error of the right phase, and nothing more is called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("weakincentives", reason="weakincentives is not installed (extra 'wink')")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra 'wink')")

import httpx
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict
from weakincentives.adapters.core import PromptEvaluationError
from weakincentives.adapters.throttle import ThrottleError
from weakincentives.budget import Budget, BudgetTracker, TokenUsage
from weakincentives.clock import FakeClock
from weakincentives.deadlines import Deadline

from forge_core.errors import PaymentRequiredError, RateLimitError
from forge_core.integrations.langgraph import LangGraphAdapter, LangGraphClientConfig, detect_throttle
from tests.integrations_wink.prompts import (
    Answer,
    Handlers,
    Model,
    calls,
    make_prompt,
    make_session,
    names,
    says,
    tool,
)
from tests.support.sse_server import Reply, SseServer, error_reply, json_reply


def fails(prompt: Any, *replies: Any, adapter: Any = None, **given: Any) -> tuple[Any, Model, list[Any], Any]:
    """The error of an evaluation, the model, the telemetry and the session."""
    llm = Model(replies=list(replies))
    options = given.pop("options", {})
    adapter = adapter or LangGraphAdapter(model="m", llm=llm, **options)
    session, told = make_session()
    with pytest.raises(PromptEvaluationError) as caught:
        adapter.evaluate(prompt, session=session, **given)
    assert "PromptExecuted" not in names(told)
    assert caught.value.prompt_name == "sum"
    return caught.value, llm, told, session


def deadline_in(seconds: float) -> tuple[Deadline, FakeClock]:
    clock = FakeClock()
    clock.set_wall(datetime(2026, 1, 1, tzinfo=UTC))
    return Deadline(expires_at=clock.utcnow() + timedelta(seconds=seconds), clock=clock), clock


@pytest.mark.parametrize("where", ["deadline", "budget"])
def test_an_expired_deadline_is_rejected_before_any_call(where: str) -> None:
    deadline, clock = deadline_in(10)
    clock.advance(11)
    given = {"deadline": deadline} if where == "deadline" else {"budget": Budget(deadline=deadline)}
    error, llm, told, _ = fails(make_prompt(), says("x"), **given)
    assert (error.phase, llm.seen, told) == ("request", [], [])


def test_a_deadline_that_passes_between_steps_stops_the_next_model_call() -> None:
    deadline, clock = deadline_in(10)

    def slow(params: Any, *, context: Any) -> Any:
        clock.advance(11)
        return Handlers().add(params, context=context)

    error, llm, told, _ = fails(
        make_prompt(tool("slow", slow)), calls(("slow", {"a": 1})), says("x"), deadline=deadline
    )
    assert (error.phase, len(llm.seen)) == ("request", 1)
    assert "deadline" in str(error)
    assert names(told)[-1] == "ToolInvoked"


def test_a_deadline_that_passes_in_the_model_stops_the_tool_call() -> None:
    deadline, clock = deadline_in(10)
    handlers = Handlers()

    def late() -> Any:
        clock.advance(11)
        return calls(("add", {"a": 1}))

    error, _, _, _ = fails(make_prompt(tool("add", handlers.add)), late, says("x"), deadline=deadline)
    assert (error.phase, handlers.contexts) == ("request", [])


@pytest.mark.parametrize("limit", ["max_total_tokens", "max_input_tokens", "max_output_tokens"])
def test_exceeding_the_budget_stops_the_loop_at_that_call(limit: str) -> None:
    budget = Budget(
        **{limit: {"max_total_tokens": 20, "max_input_tokens": 15, "max_output_tokens": 7}[limit]}
    )
    handlers = Handlers()
    error, llm, _, _ = fails(make_prompt(tool("add", handlers.add)), calls(("add", {"a": 1})), budget=budget)
    assert (error.phase, len(llm.seen), len(handlers.contexts)) == ("budget", 2, 1)


def test_an_already_exhausted_budget_allows_no_model_call() -> None:
    tracker = BudgetTracker(Budget(max_total_tokens=10))
    tracker.record_cumulative("another", TokenUsage(input_tokens=11))
    error, llm, _, _ = fails(make_prompt(), says("x"), budget_tracker=tracker)
    assert (error.phase, llm.seen) == ("budget", [])


def test_reaching_the_recursion_limit_ends_the_run_and_names_the_limit() -> None:
    options = {"client_config": LangGraphClientConfig(recursion_limit=6)}
    error, llm, _, _ = fails(
        make_prompt(tool("add", Handlers().add)), calls(("add", {"a": 1})), options=options
    )
    assert (error.phase, len(llm.seen)) == ("request", 3)
    assert "6" in str(error) and type(error.__cause__).__name__ == "GraphRecursionError"


def test_an_invalid_state_update_has_phase_tool() -> None:
    class State(TypedDict):
        value: int

    graph = StateGraph(State)
    graph.add_node("one", lambda state: {"value": 1})
    graph.add_node("two", lambda state: {"value": 2})
    graph.add_edge(START, "one")
    graph.add_edge(START, "two")
    error, _, _, _ = fails(make_prompt(), options={"graph": graph.compile()})
    assert (error.phase, type(error.__cause__).__name__) == ("tool", "InvalidUpdateError")


def ending_on(message: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("end", lambda state: {"messages": [message] if message else []})
    graph.add_edge(START, "end")
    return graph.compile()


@pytest.mark.parametrize("message", [None, HumanMessage("not the model")])
def test_a_graph_without_an_answer_fails_in_phase_response_with_the_raw_text(message: Any) -> None:
    error, _, _, _ = fails(make_prompt(), options={"graph": ending_on(message)})
    assert error.phase == "response"
    expected = "not the model" if message else "Work out"
    assert expected in error.provider_payload["raw_text"]


@pytest.mark.parametrize(
    "text", ["no json", '{"answer": 1}', '{"answer": "a", "confidence": 1.0, "more": 1}', "[]", ""]
)
def test_invalid_structured_output_fails_in_phase_response(text: str) -> None:
    error, _, _, _ = fails(make_prompt(output=Answer), says(text))
    assert (error.phase, error.provider_payload["raw_text"]) == ("response", text)
    assert error.__cause__ is not None


class StatusError(Exception):
    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(message)
        self.__dict__.update(fields)


def response_error(status: int, headers: dict[str, str]) -> Exception:
    request = httpx.Request("POST", "http://x")
    return httpx.HTTPStatusError(
        "no", request=request, response=httpx.Response(status, headers=headers, request=request)
    )


@pytest.mark.parametrize(
    ("error", "kind", "wait_s"),
    [
        (StatusError(status=429, retry_after_s=12.0), "rate_limit", 12),
        (StatusError(status_code=429), "rate_limit", None),
        (response_error(429, {"Retry-After": "7"}), "rate_limit", 7),
        (StatusError(status=402), "quota_exhausted", None),
        (RateLimitError("slow"), "rate_limit", None),
        (PaymentRequiredError("pay"), "quota_exhausted", None),
        (StatusError(status_code=429, code="insufficient_quota"), "quota_exhausted", None),
        (TimeoutError("slow"), "timeout", None),
        (httpx.ReadTimeout("slow"), "timeout", None),
        (StatusError(status=408), "timeout", None),
        (ExceptionGroup("both", [ValueError("x"), StatusError(status=429)]), "rate_limit", None),
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("link", ["cause", "context"])
def test_throttling_errors_are_found_at_any_depth_of_the_exception_chain(
    error: Exception, kind: str, wait_s: Any, depth: int, link: str
) -> None:
    for _ in range(depth):
        outer = RuntimeError("wrapped")
        setattr(outer, f"__{link}__", error)
        error = outer
    raised, _, _, _ = fails(make_prompt(), error)
    assert isinstance(raised, ThrottleError)
    assert (raised.kind, raised.phase) == (kind, "request")
    assert raised.retry_after == (None if wait_s is None else timedelta(seconds=wait_s))
    assert raised.retry_safe and raised.__cause__ is error


class Answered:
    """A response of no particular client."""

    def __init__(self, headers: Any) -> None:
        self.headers = headers


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "wait_s"),
    [
        (StatusError(status=429, retry_after=12), 12),
        (StatusError(status=429, retry_after="12"), 12),
        (StatusError(status=429, retry_after=timedelta(seconds=12)), 12),
        (StatusError(status=429, headers={"Retry-After": "12"}), 12),
        (StatusError(status=429, headers=[("RETRY-AFTER", "12")]), 12),
        (StatusError(status=429, headers=[(b"retry-after", b"12")]), 12),
        (StatusError(status=429, headers=httpx.Headers({"Retry-After": "12"})), 12),
        (StatusError(status=429, response=Answered({"retry-after": "12"})), 12),
        (StatusError(status=429, response={"headers": {"Retry-After": "12"}}), 12),
        (StatusError(status=429, raw_response=Answered({"Retry-After": "12"})), 12),
        (StatusError(status=429, raw_response=httpx.Response(429, headers={"Retry-After": "12"})), 12),
        (
            StatusError(
                status=429, retry_after=None, headers={}, raw_response=Answered({"Retry-After": "1"})
            ),
            1,
        ),
        (caused(StatusError(status=429), StatusError(headers={"Retry-After": "12"})), 12),
        (StatusError(status=429, retry_after=5, headers={"Retry-After": "12"}), 5),
        (StatusError(status=429, retry_after=True, headers=7, response="x", raw_response=[1]), None),
        (StatusError(status=429, retry_after=float("nan"), headers={"Retry-After": "9"}), 9),
        (StatusError(status=429, retry_after=1e300, headers={"Retry-After": "9" * 14}), None),
        (StatusError(status=429, retry_after=-1), None),
    ],
)
def test_retry_after_is_found_in_every_place_where_clients_store_it(
    error: Exception, wait_s: int | None
) -> None:
    raised, _, _, _ = fails(make_prompt(), error)
    assert isinstance(raised, ThrottleError)
    assert raised.retry_after == (None if wait_s is None else timedelta(seconds=wait_s))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("429 rate limit, insufficient quota, timeout"),
        StatusError("quota of 429", status=500),
        StatusError(status=True),
        KeyError("Timeout"),
    ],
)
def test_the_error_text_alone_does_not_make_an_error_a_throttle(error: Exception) -> None:
    raised, _, _, _ = fails(make_prompt(), error)
    assert not isinstance(raised, ThrottleError)
    assert (raised.phase, raised.__cause__) == ("request", error)


def test_a_handled_throttling_error_is_not_reported() -> None:
    try:
        try:
            raise StatusError(status=429)
        except StatusError:
            raise ValueError("another fault") from None
    except ValueError as error:
        assert detect_throttle(error) is None
        error.__cause__ = error  # a cycle ends, too
        assert detect_throttle(error) is None


def test_a_throttle_after_a_tool_ran_is_not_safe_to_repeat() -> None:
    raised, _, _, _ = fails(
        make_prompt(tool("add", Handlers().add)), calls(("add", {"a": 1})), StatusError(status=429)
    )
    assert isinstance(raised, ThrottleError) and not raised.retry_safe


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error_reply(429, "slow down", headers={"Retry-After": "60"}), "rate_limit"),
        (error_reply(402, "pay"), "quota_exhausted"),
        (error_reply(429, "over", metadata={"error_type": "insufficient_quota"}, headers={"Retry-After": "60"}), "quota_exhausted"),
        (error_reply(400, "429 is not a valid temperature"), None),
    ],
)  # fmt: skip
def test_http_errors_are_classified_by_status(server: SseServer, reply: Reply, kind: str | None) -> None:
    server.add(reply)
    raised, _, _, _ = fails(make_prompt(), adapter=LangGraphAdapter(model="m"))
    assert getattr(raised, "kind", None) == kind
    assert raised.__cause__.status == reply.status
    if kind == "rate_limit":
        assert raised.retry_after == timedelta(seconds=60)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "arguments", [{"a": "one"}, {}, {"a": 1, "more": 2}, {"b": 1}, {"a": None}, {"a": [1]}]
)
def test_invalid_tool_arguments_are_reported_to_the_model(arguments: dict[str, Any]) -> None:
    handlers, (session, told) = Handlers(), make_session()
    llm = Model(replies=[calls(("add", arguments)), says("sorry")])
    adapter = LangGraphAdapter(model="m", llm=llm)
    assert adapter.evaluate(make_prompt(tool("add", handlers.add)), session=session).text == "sorry"
    answer = llm.seen[1][-1]
    assert (answer.type, answer.status, answer.tool_call_id) == ("tool", "error", "call_0")
    assert handlers.contexts == [] and "ToolInvoked" not in names(told)


def test_a_call_of_an_unknown_tool_is_reported_to_the_model() -> None:
    handlers, (session, _) = Handlers(), make_session()
    llm = Model(replies=[calls(("nope", {"a": 1})), says("sorry")])
    LangGraphAdapter(model="m", llm=llm).evaluate(make_prompt(tool("add", handlers.add)), session=session)
    assert (llm.seen[1][-1].status, handlers.contexts) == ("error", [])
    assert "nope" in llm.seen[1][-1].text


def test_tool_arguments_that_are_not_json_are_reported_to_the_model_over_http(server: SseServer) -> None:
    broken = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1'}}
    for message, reason in (
        ({"role": "assistant", "content": None, "tool_calls": [broken]}, "tool_calls"),
        ({"role": "assistant", "content": "sorry"}, "stop"),
    ):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        server.add(json_reply({"id": "g", "model": "m", "choices": [choice]}))
    handlers, (session, told) = Handlers(), make_session()
    adapter = LangGraphAdapter(model="m")
    assert adapter.evaluate(make_prompt(tool("add", handlers.add)), session=session).text == "sorry"
    sent = server.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert (sent[2]["tool_call_id"], "cannot be read" in sent[2]["content"]) == ("c1", True)
    assert handlers.contexts == [] and "ToolInvoked" not in names(told)


def test_without_a_key_no_request_is_sent_to_the_provider(
    server: SseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY")
    monkeypatch.delenv("OPENROUTER_BASE_URL")
    error, _, _, _ = fails(make_prompt(), adapter=LangGraphAdapter(model="m"))
    assert "OPENROUTER_API_KEY" in str(error) and error.phase == "request"
