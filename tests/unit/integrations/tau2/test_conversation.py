"""The agent's turns: what tau2 gets, what the model gets, and that no tool runs in between."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import tau2_shop as shop
from tests.support.sse_server import USAGE, SseServer, answer, chunk, stream, tool_answer
from tests.support.strict_host import violations

ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}


def roles(state: Any) -> tuple[list[str], list[str]]:
    return [m.role for m in state.messages], [ROLES[m.type] for m in state.langchain_messages]


def test_a_text_answer_has_content_and_no_tool_calls(server: SseServer) -> None:
    server.add(answer("How can ", "I help?"))
    agent = shop.agent(server)
    message, state = agent.generate_next_message(shop.user("Hi"), agent.get_init_state([shop.said("Hello!")]))
    assert (message.content, message.tool_calls) == ("How can I help?", None)
    message.validate()
    assert roles(state) == (["assistant", "user", "assistant"],) * 2


def test_every_message_has_its_cost_and_usage(server: SseServer) -> None:
    server.add(answer("Yes."), tool_answer(("c1", "get_order", {"order_id": "1"})))
    agent = shop.agent(server)
    state = agent.get_init_state()
    for _ in range(2):
        message, state = agent.generate_next_message(shop.user(), state)
        state = agent.get_init_state()
        assert message.cost == pytest.approx(USAGE["cost"])
        assert message.usage == {"prompt_tokens": 12, "completion_tokens": 5}


def test_no_tool_runs_in_a_turn(server: SseServer) -> None:
    live = shop.environment()
    before = live.tools.get_db_hash()
    server.add(tool_answer(("c1", "cancel_order", {"order_id": "1", "reason": {"code": "late"}})))
    agent = shop.agent(server, live)
    message, _ = agent.generate_next_message(shop.user("Cancel 1, it is late"), agent.get_init_state())
    assert live.tools.get_db_hash() == before
    assert [(c.name, c.arguments, c.requestor) for c in message.tool_calls] == [
        ("cancel_order", {"order_id": "1", "reason": {"code": "late"}}, "assistant")
    ]
    assert len(server.requests) == 1


def test_text_beside_tool_calls_is_stored_separately(server: SseServer) -> None:
    server.add(tool_answer(("c1", "get_order", {"order_id": "1"}), text="Let me look."))
    agent = shop.agent(server)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert message.content is None
    assert message.raw_data["preamble"] == "Let me look."
    assert state.langchain_messages[-1].content == ""


def test_several_results_answer_their_calls_in_order(server: SseServer) -> None:
    live = shop.environment()
    server.add(
        tool_answer(("c1", "get_order", {"order_id": "2"}), ("c2", "get_order", {"order_id": "9"})),
        answer("One is sent, the other I cannot find."),
    )
    agent = shop.agent(server, live)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    message, state = agent.generate_next_message(shop.results(live, message), state)
    sent = server.requests[1].json["messages"]
    assert violations(server.requests[1].json) == []
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert [(m["tool_call_id"], m["content"]) for m in sent[3:]] == [
        ("c1", "sent"),
        ("c2", "Error: no order 9"),
    ]
    assert roles(state) == (["user", "assistant", "tool", "tool", "assistant"],) * 2


def test_message_timestamps_are_in_order(server: SseServer) -> None:
    live = shop.environment()
    server.add(tool_answer(("c1", "get_order", {"order_id": "1"})), answer("It is open."))
    agent = shop.agent(server, live)
    asked = shop.user()
    first, state = agent.generate_next_message(asked, agent.get_init_state())
    told = shop.results(live, first)
    second, _ = agent.generate_next_message(told, state)
    times = [message.timestamp for message in (asked, first, told, second)]
    assert times == sorted(times)


def test_missing_and_duplicate_call_ids_are_replaced(server: SseServer) -> None:
    live = shop.environment()
    nameless = {"index": 0, "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    server.add(
        tool_answer(("c1", "get_order", {"order_id": "1"})),
        tool_answer(("c1", "get_order", {"order_id": "2"})),
        stream(chunk(None, tool_calls=[nameless]), chunk(None, finish_reason="tool_calls")),
        answer("Done."),
    )
    agent = shop.agent(server, live)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    for _ in range(3):
        message, state = agent.generate_next_message(shop.results(live, message), state)
    ids = [call.id for m in state.messages if m.role == "assistant" for call in m.tool_calls or ()]
    assert len(set(ids)) == 3 and all(ids)
    assert [problem for seen in server.requests for problem in violations(seen.json)] == []


def test_a_foreign_history_is_converted_so_that_a_strict_host_accepts_it(server: SseServer) -> None:
    server.add(answer("Both are done."))
    history = [
        shop.said("Hello!"),
        shop.user("Look at 1 and 2"),
        shop.called(("", "get_order", {"order_id": "1"}), ("", "get_order", {"order_id": "2"})),
        shop.result("", "open"),
        shop.result("", "sent"),
        shop.called(("c7", "get_order", {"order_id": "1"})),
        shop.result("c7", "open"),
        shop.called(("c7", "get_order", {"order_id": "1"})),
    ]
    agent = shop.agent(server)
    agent.generate_next_message(shop.result("c7", "open"), agent.get_init_state(history))
    body = server.requests[0].json
    assert violations(body) == []
    assert [m["content"] for m in body["messages"] if m["role"] == "tool"] == ["open", "sent", "open", "open"]


def test_an_empty_list_of_tool_calls_counts_as_no_call(server: SseServer) -> None:
    server.add(answer("Yes?"))
    empty = shop.messages().AssistantMessage(role="assistant", content="Hello!", tool_calls=[])
    agent = shop.agent(server)
    agent.generate_next_message(shop.user(), agent.get_init_state([empty]))
    assert violations(server.requests[0].json) == []


def test_reasoning_is_sent_back_to_the_model_with_its_calls(server: SseServer) -> None:
    live = shop.environment()
    details = [{"type": "reasoning.text", "text": "hm", "index": 0, "format": "unknown"}]
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    server.add(
        stream(
            chunk(None, reasoning="hm", reasoning_details=details),
            chunk(None, tool_calls=[call]),
            chunk(None, finish_reason="tool_calls"),
        ),
        answer("Done."),
    )
    agent = shop.agent(server, live)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    agent.generate_next_message(shop.results(live, message), state)
    sent = server.requests[1].json["messages"][2]
    assert [detail["text"] for detail in sent["reasoning_details"]] == ["hm"]


def refused_messages() -> list[tuple[str, Any]]:
    return [
        ("audio", lambda: shop.user("UklGRg==", is_audio=True)),
        ("audio", lambda: shop.user("", audio_content="UklGRg==")),
        ("calls tools", lambda: shop.user("", tool_calls=[])),
        ("is the user's", lambda: shop.result("c1", "x", requestor="user")),
        ("answers no open call", lambda: shop.result("c9", "x")),
        ("Solo mode is not supported", lambda: None),
        ("cannot answer", lambda: shop.said("Hi")),
        ("holds none", lambda: shop.messages().MultiToolMessage(role="tool", tool_messages=[])),
    ]


@pytest.mark.parametrize(("why", "make"), refused_messages(), ids=range(8))
def test_an_invalid_message_is_rejected_before_any_request(server: SseServer, why: str, make: Any) -> None:
    agent = shop.agent(server)
    state = agent.get_init_state()
    with pytest.raises(ValueError, match=why):
        agent.generate_next_message(make(), state)
    assert (state.messages, state.langchain_messages, server.requests) == ([], [], [])


@pytest.mark.parametrize(
    ("why", "make"),
    [
        ("calls tools", lambda: [shop.user("", tool_calls=[])]),
        ("is the user's", lambda: [shop.result("c1", "x", requestor="user")]),
        ("answers no open call", lambda: [shop.result("c1", "x")]),
        ("before the results", lambda: [shop.called(("c1", "get_order", {})), shop.user()]),
        ("audio", lambda: [shop.user("UklGRg==", is_audio=True)]),
    ],
    ids=range(5),
)
def test_an_invalid_history_is_rejected(server: SseServer, why: str, make: Any) -> None:
    agent = shop.agent(server)
    with pytest.raises(ValueError, match=why):
        agent.get_init_state(make())
    assert server.requests == []


def test_a_turn_waits_for_the_results_of_all_calls(server: SseServer) -> None:
    agent = shop.agent(server)
    state = agent.get_init_state([shop.called(("c1", "get_order", {}), ("c2", "get_order", {}))])
    with pytest.raises(ValueError, match="before the results of the calls 'c2'"):
        agent.generate_next_message(shop.result("c1", "open"), state)
    assert server.requests == []


def test_the_history_passed_by_the_caller_is_not_changed(server: SseServer) -> None:
    server.add(answer("Yes."))
    history = [shop.said("Hello!")]
    agent = shop.agent(server)
    agent.generate_next_message(shop.user(), agent.get_init_state(history))
    assert len(history) == 1


def test_the_agent_never_ends_a_conversation_and_stop_is_idempotent(server: SseServer) -> None:
    server.add(answer("Yes."), answer("Still here."))
    agent = shop.agent(server)
    assert not agent.is_stop(shop.said("###STOP###"))
    _, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    agent.stop(None, state)
    agent.stop(None, state)
    message, _ = agent.generate_next_message(shop.user(), state)
    assert message.content == "Still here."
