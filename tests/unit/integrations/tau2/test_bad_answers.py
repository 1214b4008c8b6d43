"""What the agent does with answers that cannot be used, and with a provider that fails."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from forge_core.errors import ProviderError
from tests.support import tau2_shop as shop
from tests.support.sse_server import (
    USAGE,
    Reply,
    Reset,
    SseServer,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
    stream,
    tool_answer,
)
from tests.support.strict_host import violations

NO_WAIT = {"Retry-After": "0"}
GOOD = ("c1", "get_order", {"order_id": "1"})


def agent_error() -> type[Exception]:
    kind: type[Exception] = import_module("tau2.agent.base_agent").AgentError
    return kind


def nameless() -> Reply:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "", "arguments": "{}"}}
    return stream(chunk(None, tool_calls=[call]), chunk(None, finish_reason="tool_calls"))


def whole(message: dict[str, Any], finish_reason: str = "stop") -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return json_reply({"id": "g", "model": "m", "choices": [choice], "usage": USAGE})


UNUSABLE = {
    "half an object": lambda: tool_answer(("c1", "get_order", '{"order_id": "1"')),
    "a list": lambda: tool_answer(("c1", "get_order", '["1"]')),
    "a string": lambda: tool_answer(("c1", "get_order", '"1"')),
    "no JSON": lambda: tool_answer(("c1", "get_order", "order_id=1")),
    "two objects": lambda: tool_answer(("c1", "get_order", '{"order_id": "1"}{"order_id": "2"}')),
    "one of two": lambda: tool_answer(GOOD, ("c2", "get_order", "{")),
    "no name": nameless,
    "empty": lambda: answer(""),
    "blank": lambda: answer(" \n "),
}


@pytest.mark.parametrize("unusable", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_invalid_answer_is_requested_again_with_the_reason(server: SseServer, unusable: Any) -> None:
    server.add(unusable(), answer("Here I am."))
    agent = shop.agent(server)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert message.content == "Here I am."
    assert message.raw_data["refused_answers"] == 1
    assert len(state.messages) == len(state.langchain_messages) == 2
    again = server.requests[1].json
    assert violations(again) == []
    told = [m for m in again["messages"] if m["role"] in ("tool", "user")][-1]["content"]
    assert "Not executed" in told or "could not be used" in told


@pytest.mark.parametrize("arguments", ['{"order_id": "1"', '["1"]', "order_id=1"])
def test_an_invalid_non_streamed_answer_is_requested_again(server: SseServer, arguments: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": arguments}}
    server.add(whole({"content": None, "tool_calls": [call]}, "tool_calls"), whole({"content": "Here."}))
    agent = shop.agent(server, stream=False)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert (message.content, message.raw_data["refused_answers"]) == ("Here.", 1)
    assert violations(server.requests[1].json) == []


def test_the_costs_of_all_attempts_are_summed(server: SseServer) -> None:
    server.add(UNUSABLE["a list"](), UNUSABLE["no JSON"](), tool_answer(GOOD))
    agent = shop.agent(server)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert message.cost == pytest.approx(3 * USAGE["cost"])
    assert message.usage == {"prompt_tokens": 36, "completion_tokens": 15}
    assert [call.name for call in message.tool_calls] == ["get_order"]


@pytest.mark.parametrize("retries", [0, 2])
def test_after_the_last_attempt_the_agent_fails_without_a_message(server: SseServer, retries: int) -> None:
    server.add(*[UNUSABLE["half an object"]() for _ in range(retries + 1)])
    agent = shop.agent(server, max_format_retries=retries)
    state = agent.get_init_state()
    with pytest.raises(agent_error(), match=r"get_order.*not one whole JSON object"):
        agent.generate_next_message(shop.user(), state)
    assert len(server.requests) == retries + 1
    assert (state.messages, state.langchain_messages) == ([], [])


def test_a_call_of_an_unknown_tool_is_passed_on_with_its_error(server: SseServer) -> None:
    live = shop.environment()
    server.add(tool_answer(("c1", "fly", {"to": "moon"})), answer("I cannot fly."))
    agent = shop.agent(server, live)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert [call.name for call in message.tool_calls] == ["fly"]
    message, state = agent.generate_next_message(shop.results(live, message), state)
    assert message.content == "I cannot fly."
    told = server.requests[1].json["messages"][-1]["content"]
    assert told == "Error: Tool 'fly' not found."


@pytest.mark.parametrize("status", [429, 500, 502, 503])
@pytest.mark.parametrize("stream_", [True, False])
def test_a_transient_failure_is_retried(server: SseServer, status: int, stream_: bool) -> None:
    back = answer("Back.") if stream_ else whole({"content": "Back."})
    server.add(error_reply(status, "busy", headers=NO_WAIT), back)
    agent = shop.agent(server, stream=stream_)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert (message.content, message.cost) == ("Back.", pytest.approx(USAGE["cost"]))


@pytest.mark.parametrize(("status", "requests"), [(400, 1), (401, 1), (402, 1), (500, 3), (429, 3)])
def test_a_permanent_failure_is_raised_with_status_and_message_but_without_the_key(
    server: SseServer, status: int, requests: int
) -> None:
    words = "no use: key sk-loopback-key is known, temperature is not"
    server.add(*[error_reply(status, words, headers=NO_WAIT)] * requests)
    agent = shop.agent(server, llm_args={"max_retries": 2})
    state = agent.get_init_state()
    with pytest.raises(ProviderError) as caught:
        agent.generate_next_message(shop.user(), state)
    assert caught.value.status == status
    assert str(status) in str(caught.value) and "temperature is not" in str(caught.value)
    assert "sk-loopback-key" not in str(caught.value) + repr(caught.value)
    assert len(server.requests) == requests
    assert (state.messages, state.langchain_messages) == ([], [])


def test_an_incomplete_answer_raises_and_is_not_sent(server: SseServer) -> None:
    server.add(Reply([event(chunk("Your order is can")), Reset()]))
    agent = shop.agent(server)
    with pytest.raises(ProviderError):
        agent.generate_next_message(shop.user(), agent.get_init_state())
    assert len(server.requests) == 1


def test_a_failed_turn_can_be_repeated(server: SseServer) -> None:
    server.add(error_reply(400, "no"), answer("Now."))
    agent = shop.agent(server)
    state = agent.get_init_state()
    with pytest.raises(ProviderError):
        agent.generate_next_message(shop.user("once"), state)
    _, state = agent.generate_next_message(shop.user("twice"), state)
    assert [m.content for m in state.messages] == ["twice", "Now."]
