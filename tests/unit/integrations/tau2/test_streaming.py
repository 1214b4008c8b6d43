"""Events while the model speaks, running loops and threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from forge_core.events import AgentEvent, LLMChunk, LLMEnd, LLMStart
from tests.support import tau2_shop as shop
from tests.support.sse_server import Seen, SseServer, answer, tool_answer
from tests.support.strict_host import violations


def test_streamed_pieces_join_to_the_message(server: SseServer) -> None:
    events: list[AgentEvent] = []
    server.add(answer("Your ", "order ", "is open."))
    agent = shop.agent(server, on_event=events.append)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    pieces = [event.text for event in events if isinstance(event, LLMChunk)]
    assert len(pieces) > 1 and "".join(pieces) == message.content == "Your order is open."
    assert isinstance(events[0], LLMStart) and isinstance(events[-1], LLMEnd)
    assert events[-1].cost_usd is not None


def test_a_non_streamed_answer_is_one_piece(server: SseServer) -> None:
    from tests.support.sse_server import USAGE, json_reply

    choice = {"index": 0, "message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}
    server.add(json_reply({"id": "g", "model": "m", "choices": [choice], "usage": USAGE}))
    pieces: list[str] = []
    agent = shop.agent(
        server,
        stream=False,
        on_event=lambda event: pieces.append(event.text) if isinstance(event, LLMChunk) else None,
    )
    agent.generate_next_message(shop.user(), agent.get_init_state())
    assert pieces == ["Whole."]


def test_every_start_event_has_an_end_event_even_on_provider_failure(server: SseServer) -> None:
    events: list[AgentEvent] = []
    agent = shop.agent(server, on_event=events.append, llm_args={"max_retries": 0})
    with pytest.raises(Exception, match="500"):
        agent.generate_next_message(shop.user(), agent.get_init_state())
    assert [type(event) for event in events] == [LLMStart, LLMEnd]


def test_an_exception_in_the_listener_does_not_end_the_turn(
    server: SseServer, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: AgentEvent) -> None:
        raise RuntimeError("listener")

    server.add(answer("Still ", "here."))
    agent = shop.agent(server, on_event=broken)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert message.content == "Still here."
    assert "on_event failed" in caplog.text


async def test_the_agent_works_inside_a_running_event_loop(server: SseServer) -> None:
    server.add(answer("In a loop."))
    assert asyncio.get_running_loop().is_running()
    agent = shop.agent(server)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert message.content == "In a loop."


@pytest.mark.parametrize("shares", [True, False], ids=["one agent", "an agent each"])
def test_six_threads_get_their_own_answers(server: SseServer, shares: bool) -> None:
    def reply(seen: Seen) -> Any:
        sent = seen.json["messages"]
        assert violations(seen.json) == []
        if sent[-1]["role"] == "tool":
            return answer(f"{sent[1]['content']} is {sent[-1]['content']}")
        return tool_answer((f"c-{sent[1]['content']}", "get_order", {"order_id": sent[1]["content"]}))

    server.add(*[reply] * 12)
    live = shop.environment()
    live.tools.db.orders = {str(number): f"state {number}" for number in range(6)}
    one = shop.agent(server, live)

    def talk(number: int) -> str:
        agent = one if shares else shop.agent(server, live)
        message, state = agent.generate_next_message(shop.user(str(number)), agent.get_init_state())
        message, _ = agent.generate_next_message(shop.results(live, message), state)
        return str(message.content)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(talk, range(6))) == [f"{number} is state {number}" for number in range(6)]
