"""A model call that breaks off is repeated at its step; a run that failed there can be resumed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler

from forge_core.errors import (
    AuthenticationError,
    BudgetExceededError,
    ConnectionFailedError,
    ContextLengthError,
    ForgeError,
    PermissionDeniedError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    ServerError,
)
from forge_core.events import AgentEnd, AgentEvent, Error, LLMChunk, LLMEnd, LLMStart, Retry, ToolStart
from forge_core.langchain import ForgeAgent, TokenTrackingCallback
from forge_core.result import AgentResult
from tests.support.agent_tools import Echo
from tests.support.scripted_llm import Call, Gate, Piece, Reasoning, ScriptedLLM


def broken(text: str = "The connection broke in mid-answer.") -> ProviderError:
    return ConnectionFailedError(f"{text} Try again.", retry_after_s=0.0)


def agent_for(*replies: list[Piece], **options: Any) -> ForgeAgent:
    return ForgeAgent(llm=ScriptedLLM(replies=list(replies)), tools=[Echo()], **options)


async def collect(agent: ForgeAgent, text: str = "go", **options: Any) -> list[AgentEvent]:
    return [event async for event in agent.stream(text, **options)]


async def resumed(agent: ForgeAgent) -> list[AgentEvent]:
    return [event async for event in agent.resume()]


def result_of(events: list[AgentEvent]) -> AgentResult:
    last = events[-1]
    assert isinstance(last, AgentEnd)
    return last.result


def history(agent: ForgeAgent) -> list[tuple[str, str]]:
    return [(str(message.role), message.text) for message in agent.memory.get_history()]


def kinds(events: list[AgentEvent]) -> list[str]:
    return [
        "retry" if isinstance(event, Retry) else str(event.type)
        for event in events
        if not isinstance(event, LLMChunk)
    ]


async def test_a_broken_answer_is_requested_again_and_leaves_no_message() -> None:
    agent = agent_for(["The first ", "half", broken()], ["The whole answer."])
    events = await collect(agent)
    assert kinds(events) == ["llm_start", "llm_end", "retry", "llm_start", "llm_end", "agent_end"]
    assert {event.iteration for event in events if isinstance(event, LLMStart)} == {1}
    (retry,) = [event for event in events if isinstance(event, Retry)]
    assert (retry.attempt, retry.max_retries, retry.discards_answer) == (1, 2, True)
    assert retry.text == "The connection broke in mid-answer. Starting the answer again at once."
    result = result_of(events)
    assert (result.stopped_reason, result.output, result.iterations) == ("complete", "The whole answer.", 1)
    assert history(agent) == [("user", "go"), ("assistant", "The whole answer.")]
    assert not result.is_resumable


async def test_an_incomplete_call_is_never_run() -> None:
    half = Call("echo", {"text": "x"}, id="c1")
    agent = agent_for(["I look.", half, broken()], ["I look.", half], ["done"])
    events = await collect(agent)
    assert [event.call_id for event in events if isinstance(event, ToolStart)] == ["c1"]
    assert [role for role, _ in history(agent)] == ["user", "assistant", "tool", "assistant"]
    assert result_of(events).iterations == 2


@pytest.mark.parametrize(
    "error",
    [
        ServerError("502", status=502, retry_after_s=0.0),
        ServerError("overloaded", error_type="overloaded_error", retry_after_s=0.0),
        RateLimitError("429", status=429, retry_after_s=0.0),
        ProviderTimeoutError("idle", error_type="idle_timeout", retry_after_s=0.0),
    ],
)
async def test_transient_failures_during_an_answer_are_retried(error: ProviderError) -> None:
    agent = agent_for(["half", error], ["whole"])
    assert (await agent.run("go")).output == "whole"


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationError("no", status=401),
        PermissionDeniedError("moderated", error_type="refusal"),
        ServerError("filtered", error_type="content_filter"),
        ContextLengthError("too long", status=400),
        RateLimitError("tomorrow", status=429, retry_after_s=3600.0),
        ValueError("a bug"),
    ],
)
async def test_permanent_failures_end_the_run_immediately(error: Exception) -> None:
    agent = agent_for(["half", error], ["never"])
    events = await collect(agent)
    assert kinds(events) == ["llm_start", "llm_end", "error", "agent_end"]
    assert result_of(events).is_resumable


async def test_retries_are_counted_per_step() -> None:
    call = Call("echo", {"text": "x"})
    agent = agent_for(
        ["a", broken()], ["b", broken()], [call], ["c", broken()], ["d", broken()], ["done"], max_retries=2
    )
    events = await collect(agent)
    assert result_of(events).output == "done"
    assert [event.attempt for event in events if isinstance(event, Retry)] == [1, 2, 1, 2]


async def test_when_all_retries_fail_the_run_can_be_resumed_at_that_step() -> None:
    call = Call("echo", {"text": "x"})
    agent = agent_for([call], ["half", broken()], ["hal", broken()], ["The end."], max_retries=1)
    failed = await collect(agent)
    assert kinds(failed)[-3:] == ["llm_end", "error", "agent_end"]
    result = result_of(failed)
    assert (result.stopped_reason, result.output, result.is_resumable) == ("error", "hal", True)
    kept = [role for role, _ in history(agent)]
    assert kept == ["user", "assistant", "tool"]
    events = await resumed(agent)
    assert [event.iteration for event in events if isinstance(event, LLMStart)] == [2]
    assert not any(isinstance(event, ToolStart) for event in events)
    assert (result_of(events).output, result_of(events).iterations) == ("The end.", 2)
    assert [role for role, _ in history(agent)] == [*kept, "assistant"]
    llm = agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert llm.seen[3] == llm.seen[2]
    with pytest.raises(ForgeError, match="nothing to retry"):
        await resumed(agent)


async def test_a_message_after_a_failure_follows_the_partial_answer() -> None:
    agent = agent_for(["half an answer", broken()], ["fine"], max_retries=0)
    await collect(agent, "question")
    assert history(agent) == [("user", "question")]
    await collect(agent, "go on")
    texts = [("user", "question"), ("assistant", "half an answer"), ("user", "go on"), ("assistant", "fine")]
    assert history(agent) == texts
    assert not agent.is_resumable


async def test_after_a_reset_or_a_completed_run_there_is_nothing_to_resume() -> None:
    agent = agent_for(["half", broken()], ["fine"], max_retries=0)
    await collect(agent)
    agent.reset()
    assert not agent.is_resumable
    await collect(agent)
    with pytest.raises(ForgeError, match="nothing to retry"):
        await resumed(agent)


async def test_an_interrupt_ends_the_retry_wait_and_the_run_can_be_resumed() -> None:
    slow = ConnectionFailedError("broke.", retry_after_s=29.0)
    agent = agent_for(["half", slow], ["whole"])
    events = []
    async with asyncio.timeout(20):
        async for event in agent.stream("go"):
            events.append(event)
            if isinstance(event, Retry):
                asyncio.get_running_loop().call_soon(agent.interrupt)
    result = result_of(events)
    assert (result.stopped_reason, result.output, result.is_resumable) == ("cancelled", "half", True)
    assert history(agent) == [("user", "go")]
    assert result_of(await resumed(agent)).output == "whole"


async def interrupt_at(gate: Gate, agent: ForgeAgent) -> None:
    await gate.reached.wait()
    agent.interrupt()


async def test_an_interrupt_before_the_request_sends_nothing() -> None:
    agent = agent_for(["half", broken()], ["whole"], max_retries=0)
    await collect(agent)
    events = []
    async for event in agent.resume():
        events.append(event)
        if isinstance(event, LLMStart):
            agent.interrupt()
    assert result_of(events).stopped_reason == "cancelled"
    assert result_of(events).usage.total_tokens == 0
    assert result_of(await resumed(agent)).output == "whole"


async def test_an_interrupt_before_output_of_a_resumed_call_keeps_the_step_resumable() -> None:
    gate = Gate()
    agent = agent_for(["half", broken()], [gate], ["whole"], max_retries=0)
    await collect(agent)
    events = []
    interrupting = asyncio.create_task(interrupt_at(gate, agent))
    async for event in agent.resume():
        events.append(event)
    await interrupting
    assert result_of(events).stopped_reason == "cancelled"
    assert result_of(await resumed(agent)).output == "whole"


async def test_a_hard_cancel_in_the_wait_leaves_the_history_valid() -> None:
    agent = agent_for(["half", ConnectionFailedError("broke.", retry_after_s=29.0)], ["whole"])
    stream = agent.stream("go")
    async for event in stream:
        if isinstance(event, Retry):
            break
    await stream.aclose()
    assert history(agent) == [("user", "go")]
    assert agent.is_resumable


async def test_the_run_timeout_applies_during_the_retry_wait() -> None:
    agent = agent_for(["half", ConnectionFailedError("broke.", retry_after_s=29.0)], timeout=0.05)
    assert (await agent.run("go")).stopped_reason == "timeout"


async def test_the_cost_of_a_failed_attempt_is_counted() -> None:
    tracker = TokenTrackingCallback()
    agent = agent_for(["some words of an answer", broken()], ["whole"], tracker=tracker, callbacks=[tracker])
    events = await collect(agent)
    first, second = [event for event in events if isinstance(event, LLMEnd)]
    assert first.usage.estimated
    assert first.usage.completion_tokens > 0
    assert second.total_usage.total_tokens == first.usage.total_tokens + second.usage.total_tokens
    assert result_of(events).usage.total_tokens == second.total_usage.total_tokens


class Runs(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.log: list[str] = []

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.log.append("start")

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.log.append("end")

    async def on_llm_error(self, *args: Any, **kwargs: Any) -> None:
        self.log.append("error")


async def test_each_attempt_is_a_separate_model_run_for_callbacks() -> None:
    runs = Runs()
    await agent_for([Reasoning("hm"), "half", broken()], ["whole"]).run("go", callbacks=[runs])
    assert runs.log == ["start", "error", "start", "end"]


async def test_the_last_error_is_reported() -> None:
    agent = agent_for(["a", broken("First.")], ["b", broken("Second.")], max_retries=1)
    (error,) = [event for event in await collect(agent) if isinstance(event, Error)]
    assert error.error.startswith("Second.")


@pytest.mark.parametrize(("given", "of_model", "expected"), [(None, 5, 5), (1, 5, 1), (None, None, 2)])
def test_an_agent_retries_as_often_as_its_model_unless_configured(
    given: int | None, of_model: int | None, expected: int
) -> None:
    class Counting(ScriptedLLM):
        max_retries: int | None = of_model

    assert ForgeAgent(llm=Counting(), max_retries=given).retries == expected


async def test_a_call_that_a_limit_forbids_ends_the_run_and_costs_nothing() -> None:
    tracker = TokenTrackingCallback()
    agent = agent_for(
        [Call("echo", {"text": "x"})],
        [BudgetExceededError("The session's limit is reached.")],
        ["done"],
        tracker=tracker,
        callbacks=[tracker],
    )
    events = await collect(agent)
    result = result_of(events)
    assert (result.stopped_reason, result.warning) == ("budget", "The session's limit is reached.")
    assert result.error is None
    assert [event for event in events if isinstance(event, Error | Retry)] == []
    spent = tracker.get_usage()
    assert not spent.estimated
    assert (result.usage, spent.prompt_tokens) == (spent, 10)
    again = result_of(await resumed(agent))
    assert (again.stopped_reason, again.output) == ("complete", "done")
