"""Messages that enter a run in progress: when the model reads them, and what a run that ends first leaves."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from forge_core.errors import RateLimitError
from forge_core.events import AgentEvent, LLMChunk, LLMStart, Steered, ToolEnd, ToolStart
from forge_core.langchain import ForgeAgent
from forge_core.llm.models import Message
from tests.support.agent_tools import Echo, Slow
from tests.support.scripted_llm import Call, Gate, Piece, ScriptedLLM
from tests.unit.langchain.test_agent import assert_promises, assert_valid

ECHO: list[Piece] = [Call("echo", {"text": "x"}), Call("echo", {"text": "y"}, id="call_2")]


def agent_for(*replies: list[Piece], **options: Any) -> ForgeAgent:
    return ForgeAgent(llm=ScriptedLLM(replies=list(replies)), tools=[Echo()], **options)


def seen(agent: ForgeAgent) -> list[list[tuple[str, object]]]:
    """What each model call was sent: the types of the messages with their texts."""
    assert isinstance(agent.llm, ScriptedLLM)
    return [[(message.type, message.content) for message in call] for call in agent.llm.seen]


async def run_steering(agent: ForgeAgent, at: type[AgentEvent], *texts: str) -> list[AgentEvent]:
    """Run, and add the texts at the first event of a type."""
    events: list[AgentEvent] = []
    async for event in agent.stream("go"):
        if isinstance(event, at) and not any(isinstance(one, at) for one in events):
            for text in texts:
                agent.steering.add(text)
        events.append(event)
    assert_promises(events)
    assert_valid(agent.memory)
    return events


async def test_a_message_enters_after_the_results_of_all_running_calls() -> None:
    agent = agent_for(ECHO, ["done"])
    events = await run_steering(agent, ToolStart, "only x", "and fast")
    assert seen(agent)[1] == [
        ("human", "go"),
        ("ai", ""),
        ("tool", "x"),
        ("tool", "y"),
        ("human", "only x"),
        ("human", "and fast"),
    ]
    kinds = [event.type for event in events if isinstance(event, LLMStart | ToolEnd | Steered)]
    assert kinds == ["llm_start", "tool_end", "tool_end", "steered", "steered", "llm_start"]
    assert [event.text for event in events if isinstance(event, Steered)] == ["only x", "and fast"]


async def test_a_message_that_comes_with_the_last_answer_is_left_to_the_caller() -> None:
    agent = agent_for(["all ", "done"])
    message = None
    async for event in agent.stream("go"):
        if isinstance(event, LLMChunk) and message is None:
            message = agent.steering.add("too late")
    assert message is not None and agent.steering.withdraw(message)
    assert [one.text for one in agent.memory.get_history()] == ["go", "all done"]
    await agent.run("next")
    assert ("human", "too late") not in seen(agent)[-1]


async def test_a_message_that_was_taken_back_is_not_sent_and_a_delivered_one_stays() -> None:
    agent = agent_for(ECHO, ECHO, ["done"])
    delivered, withdrawn = agent.steering.add("now"), agent.steering.add("never")
    assert agent.steering.withdraw(withdrawn)
    await agent.run("go")
    assert not agent.steering.withdraw(delivered)
    assert ("human", "now") in seen(agent)[0] and ("human", "never") not in seen(agent)[-1]


async def test_a_message_taken_back_while_it_is_prepared_is_not_sent() -> None:
    agent = agent_for(ECHO, ["done"])

    async def prepare(text: str) -> str:
        agent.steering.withdraw(first)
        return f"{text}!"

    first, _ = agent.steering.add("first"), agent.steering.add("second")
    agent.steering.prepare = prepare
    await agent.run("go")
    assert seen(agent)[0] == [("human", "go"), ("human", "second!")]


async def test_an_interrupt_while_a_message_is_prepared_leaves_it_to_the_caller() -> None:
    agent, is_cancelled = agent_for(ECHO, ["never"]), asyncio.Event()

    async def prepare(text: str) -> str:
        agent.interrupt()
        try:
            await asyncio.Event().wait()
        finally:
            is_cancelled.set()
        return text

    agent.steering.prepare = prepare
    message = agent.steering.add("with a file")
    result = await agent.run("go")
    assert result.stopped_reason == "cancelled" and is_cancelled.is_set()
    assert agent.steering.withdraw(message)
    assert_valid(agent.memory)


async def test_a_repeated_call_and_a_resumed_run_keep_the_message_once() -> None:
    agent = agent_for(ECHO, [RateLimitError("busy", status=429)], ["done"], max_retries=0)
    await run_steering(agent, ToolStart, "only x")
    assert agent.is_resumable
    events = [event async for event in agent.resume()]
    assert not [event for event in events if isinstance(event, Steered)]
    assert seen(agent)[-1] == seen(agent)[-2]
    assert seen(agent)[-1].count(("human", "only x")) == 1


@pytest.mark.parametrize("steps", range(40))
async def test_a_hard_cancel_at_any_await_leaves_a_valid_history(steps: int) -> None:
    agent = agent_for(ECHO, ECHO, ["done"])

    async def prepare(text: str) -> str:
        await asyncio.sleep(0)
        return f"{text}!"

    agent.steering.prepare = prepare
    message = agent.steering.add("steer")
    task = asyncio.create_task(agent.run("go"))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert_valid(agent.memory)
    texts = [one.text for one in agent.memory.get_history()]
    assert texts.count("steer!") == (not agent.steering.withdraw(message))
    result = await agent.run("again")
    assert result.stopped_reason == "complete"
    assert_valid(agent.memory)


async def test_closing_the_stream_at_any_event_leaves_a_valid_history() -> None:
    for last in range(30):
        agent = agent_for(ECHO, ECHO, ["done"])
        agent.steering.add("steer")
        async with aclosing(agent.stream("go")) as events:
            count = 0
            async for event in events:
                if isinstance(event, ToolStart):
                    agent.steering.add("more")
                if count == last:
                    break
                count += 1
        assert_valid(agent.memory)


async def test_an_interrupt_during_the_tool_does_not_send_the_message() -> None:
    slow = Slow()
    agent = ForgeAgent(llm=ScriptedLLM(replies=[[Call("slow", {"kind": "polite"})], ["no"]]), tools=[slow])
    task = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    message = agent.steering.add("steer")
    agent.interrupt()
    assert (await task).stopped_reason == "cancelled"
    assert agent.steering.withdraw(message)
    assert len(seen(agent)) == 1
    assert_valid(agent.memory)


async def test_the_message_is_part_of_the_turn_and_a_request_of_the_user() -> None:
    from forge_core.context.pinned_facts import conversation_facts, is_request

    agent = agent_for(ECHO, ["done"])
    recorded: list[Message] = []
    agent.on_message = recorded.append
    await run_steering(agent, ToolStart, "only x")
    steered = next(message for message in recorded if message.text == "only x")
    assert steered.extra == {"within_turn": True, "steered": True} and not is_request(steered)
    assert conversation_facts(agent.memory.get_history()) == ("go", (), "only x")


async def test_a_gate_in_the_answer_holds_nothing_back() -> None:
    gate = Gate()
    agent = agent_for([gate, *ECHO], ["done"])
    task = asyncio.create_task(agent.run("go"))
    await gate.reached.wait()
    agent.steering.add("during the answer")
    gate.open.set()
    await task
    assert seen(agent)[1][-1] == ("human", "during the answer")
