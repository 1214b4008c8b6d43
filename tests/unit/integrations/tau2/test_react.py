"""React mode: reads run ahead in a copy, and what the model said next holds only if they came true."""

from __future__ import annotations

from typing import Any

import pytest

from forge_core.events import AgentEvent, ToolEnd, ToolStart
from tests.support import tau2_shop as shop
from tests.support.sse_server import USAGE, SseServer, answer, tool_answer
from tests.support.strict_host import violations

READ_1 = ("c1", "get_order", {"order_id": "1"})
READ_2 = ("c2", "get_order", {"order_id": "2"})
WRITE = ("c3", "cancel_order", {"order_id": "1", "reason": {"code": "late"}})


def clean(server: SseServer) -> bool:
    return [problem for seen in server.requests for problem in violations(seen.json)] == []


def test_reads_are_executed_ahead_and_the_answer_needs_no_further_request(server: SseServer) -> None:
    live = shop.environment()
    server.add(tool_answer(READ_1), tool_answer(READ_2), answer("One is open, one is sent."))
    events: list[AgentEvent] = []
    agent = shop.agent(server, live, mode="react", on_event=events.append)
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert [call.id for call in message.tool_calls] == ["c1", "c2"]
    assert message.cost == pytest.approx(3 * USAGE["cost"])
    assert [event.result for event in events if isinstance(event, ToolEnd)] == ["open", "sent"]
    assert sum(isinstance(event, ToolStart) for event in events) == 2
    message, state = agent.generate_next_message(shop.results(live, message), state)
    assert (message.content, message.cost) == ("One is open, one is sent.", 0.0)
    assert message.usage == {"prompt_tokens": 0, "completion_tokens": 0}
    assert len(server.requests) == 3 and clean(server)
    assert [m.role for m in state.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert len(state.langchain_messages) == 5


def test_a_run_ends_at_a_write_and_the_live_database_is_changed_only_by_tau2(server: SseServer) -> None:
    live = shop.environment()
    before = live.tools.get_db_hash()
    server.add(tool_answer(READ_1), tool_answer(WRITE), answer("Cancelled."))
    agent = shop.agent(server, live, mode="react")
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert [call.name for call in message.tool_calls] == ["get_order", "cancel_order"]
    assert live.tools.get_db_hash() == before
    assert len(server.requests) == 2
    message, state = agent.generate_next_message(shop.results(live, message), state)
    assert message.content == "Cancelled."
    assert len(server.requests) == 3 and clean(server)


def test_a_differing_real_result_discards_the_prepared_answer(server: SseServer) -> None:
    live = shop.environment()
    server.add(tool_answer(READ_1), answer("It is open."), answer("It is lost."))
    agent = shop.agent(server, live, mode="react")
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    live.tools.db.orders["1"] = "lost"
    message, state = agent.generate_next_message(shop.results(live, message), state)
    assert message.content == "It is lost."
    assert server.requests[2].json["messages"][-1]["content"] == "lost"
    assert clean(server)


def test_each_turn_starts_from_the_live_state(server: SseServer) -> None:
    live = shop.environment()
    server.add(*[reply for _ in range(2) for reply in (tool_answer(READ_1), answer("So."))])
    agent = shop.agent(server, live, mode="react")
    _, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    live.tools.db.orders["1"] = "changed by the user"
    agent.generate_next_message(shop.user(), agent.get_init_state())
    assert server.requests[3].json["messages"][-1]["content"] == "changed by the user"
    assert state.prepared_text == "So."


def test_an_answer_without_calls_is_sent_at_once(server: SseServer) -> None:
    server.add(answer("Which order?"))
    agent = shop.agent(server, mode="react")
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert (message.content, message.tool_calls, state.prepared_text) == ("Which order?", None, None)


def test_a_call_to_an_unknown_tool_ends_the_run_with_the_real_error(server: SseServer) -> None:
    live = shop.environment()
    server.add(tool_answer(("c1", "fly", {})), answer("I cannot."))
    agent = shop.agent(server, live, mode="react")
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    told = shop.results(live, message)
    assert state.tool_execution_cache["c1"].content == told.content
    message, _ = agent.generate_next_message(told, state)
    assert message.content == "I cannot."


def test_an_invalid_call_is_never_passed_to_tau2(server: SseServer) -> None:
    server.add(tool_answer(READ_1), tool_answer(("c2", "get_order", "{")), answer("Open."))
    agent = shop.agent(server, mode="react")
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert [call.id for call in message.tool_calls] == ["c1"]
    assert clean(server)


def test_the_number_of_calls_ahead_is_limited(server: SseServer) -> None:
    live = shop.environment()
    server.add(*[tool_answer((f"c{n}", "get_order", {"order_id": "1"})) for n in range(10)])
    agent = shop.agent(server, live, mode="react")
    message, state = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert len(message.tool_calls) == 10 and state.prepared_text is None


def test_a_custom_tool_executor_runs_the_tools(server: SseServer) -> None:
    apart = shop.environment()
    seen: list[Any] = []

    def execute(call: Any) -> Any:
        seen.append(call.name)
        return apart.get_response(call)

    server.add(tool_answer(READ_1), answer("Open."))
    agent = shop.agent(server, mode="react", tool_executor=execute)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert (seen, [call.name for call in message.tool_calls]) == (["get_order"], ["get_order"])


def test_an_unused_executor_is_logged(server: SseServer, caplog: pytest.LogCaptureFixture) -> None:
    shop.agent(server, tool_executor=lambda call: None)
    assert 'mode="react"' in caplog.text


def test_tools_that_cannot_be_copied_are_rejected_with_a_hint(server: SseServer) -> None:
    import threading
    from importlib import import_module

    def loose(x: str) -> str:
        """Loose."""
        return x

    tool = import_module("tau2.environment.toolkit").as_tool(loose)
    with pytest.raises(ValueError, match="tool_executor"):
        shop.agent(server, mode="react", tools=[tool])
    live = shop.environment()
    live.tools.lock = threading.Lock()
    server.add(tool_answer(READ_1))
    agent = shop.agent(server, live, mode="react")
    with pytest.raises(ValueError, match='mode="step"'):
        agent.generate_next_message(shop.user(), agent.get_init_state())
