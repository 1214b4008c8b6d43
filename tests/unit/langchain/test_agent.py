"""The agent's loop and the promises of its event stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManager
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.tools import tool as langchain_tool

from forge_core.errors import ForgeError, RateLimitError
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    AgentEventType,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.langchain import ConversationMemory, ForgeAgent
from forge_core.langchain.agent.event_queue import NoReader
from forge_core.langchain.agent.model_call import ModelCall
from forge_core.langchain.agent.run_control import RunClock, StopSignal
from forge_core.llm.models import Message, MessageRole
from forge_core.result import AgentResult
from forge_core.tools.base import ExecutionContext, ToolCategory, ToolResult
from tests.support.agent_tools import Echo, Failing, Meeting, Slow
from tests.support.scripted_llm import Call, Finish, Gate, Piece, Reasoning, ScriptedLLM


def agent_for(*replies: list[Piece], **options: Any) -> ForgeAgent:
    return ForgeAgent(llm=ScriptedLLM(replies=list(replies)), **options)


def assert_promises(events: list[AgentEvent]) -> None:
    """Every start has one end, AGENT_END is last and only there."""
    llm = [event.type for event in events if isinstance(event, LLMStart | LLMEnd)]
    assert llm == [AgentEventType.LLM_START, AgentEventType.LLM_END] * (len(llm) // 2)
    started = [event.call_id for event in events if isinstance(event, ToolStart)]
    ended = [event.call_id for event in events if isinstance(event, ToolEnd)]
    assert sorted(started) == sorted(ended)
    assert len(set(started)) == len(started)
    assert [isinstance(event, AgentEnd) for event in events].index(True) == len(events) - 1


def assert_valid(memory: ConversationMemory) -> None:
    """Each tool call is answered, right after its message and in order; no result stands alone."""
    waiting: list[str] = []
    for message in memory.get_messages():
        if message.role is MessageRole.TOOL:
            assert waiting, "a tool result without a call"
            assert message.tool_call_id == waiting.pop(0)
            continue
        assert not waiting, f"unanswered calls {waiting}"
        waiting = [call.id for call in message.tool_calls or ()]
    assert not waiting, f"unanswered calls {waiting}"


async def collect(agent: ForgeAgent, text: str = "go") -> list[AgentEvent]:
    events = [event async for event in agent.stream(text)]
    assert_promises(events)
    assert_valid(agent.memory)
    return events


def result_of(events: list[AgentEvent]) -> AgentResult:
    last = events[-1]
    assert isinstance(last, AgentEnd)
    return last.result


async def test_simple_completion_without_tools() -> None:
    """Scenario: Simple completion without tools."""
    result = await agent_for(["2+2 is ", "4"]).run("What is 2+2?")
    assert (result.output, result.iterations, result.tool_calls) == ("2+2 is 4", 1, [])
    assert result.stopped_reason == "complete"
    assert [message.role for message in result.messages] == ["user", "assistant"]


async def test_agent_with_tool_execution() -> None:
    """Scenario: Agent with tool execution."""
    agent = agent_for([Call("echo", {"text": "file contents"})], ["It says file contents"], tools=[Echo()])
    result = await agent.run("Read it")
    assert len(result.tool_calls) == 1
    assert result.iterations == 2
    llm = agent.llm
    assert isinstance(llm, ScriptedLLM)
    answer = llm.seen[1][-1]
    assert isinstance(answer, ToolMessage)
    assert answer.content == "file contents"
    assert llm.bound[0]["function"]["name"] == "echo"


async def test_multiple_tool_calls_in_one_turn() -> None:
    """Scenario: Multiple tool calls in one turn. They run at the same time; results come in call order."""
    calls = [Call("meet", {"who": name}) for name in ("ada", "bob", "eve")]
    agent = agent_for(calls, ["done"], tools=[Meeting(3)])
    result = await asyncio.wait_for(agent.run("all"), 60)
    assert [record.result for record in result.tool_calls] == ["ada", "bob", "eve"]
    assert_valid(agent.memory)


async def test_max_iterations_limit() -> None:
    """Scenario: Max iterations limit. The last round's tools have run, and the result warns."""
    agent = agent_for([Call("echo", {"text": "again"})], tools=[Echo()], max_iterations=3)
    events = await collect(agent)
    result = result_of(events)
    assert (result.stopped_reason, result.iterations, len(result.tool_calls)) == ("max_iterations", 3, 3)
    assert "3 model calls" in (result.warning or "")


async def test_timeout_handling() -> None:
    """Scenario: Timeout handling. What had arrived is kept."""
    agent = agent_for(["half an ", "answer", Gate()], timeout=0.5)
    events = await collect(agent)
    result = result_of(events)
    assert (result.stopped_reason, result.output) == ("timeout", "half an answer")
    assert agent.memory.get_history()[-1].extra["partial"] is True


async def test_a_hanging_tool_is_stopped_by_the_timeout() -> None:
    slow = Slow()
    agent = agent_for([Call("slow", {"kind": "deaf"})], tools=[slow], timeout=0.5)
    result = result_of(await collect(agent))
    assert result.stopped_reason == "timeout"
    assert slow.was_cancelled
    assert "interrupted" in result.tool_calls[0].result


async def test_an_iteration_timeout_counts_for_one_round_only() -> None:
    agent = agent_for([Call("echo", {"text": "a"})], [Gate()], tools=[Echo()], iteration_timeout=0.5)
    result = result_of(await collect(agent))
    assert (result.stopped_reason, result.iterations) == ("timeout", 2)


async def test_stream_agent_execution() -> None:
    """Scenario: Stream agent execution."""
    agent = agent_for(
        [Reasoning("hm"), "Let me look.", Call("echo", {"text": "x"})], ["It is x."], tools=[Echo()]
    )
    events = await collect(agent)
    kinds = [str(event.type) for event in events]
    for kind in ("llm_start", "llm_chunk", "llm_end", "tool_start", "tool_end"):
        assert kind in kinds
    assert kinds[-1] == "agent_end"
    said = "".join(event.text for event in events if isinstance(event, LLMChunk) and event.kind == "answer")
    assert said == "Let me look.It is x."
    assert "".join(e.text for e in events if isinstance(e, LLMChunk) and e.kind == "reasoning") == "hm"


@pytest.mark.parametrize("how", ["error", "raise", "crash"])
async def test_tool_execution_error_handling(how: str) -> None:
    """Scenario: Tool execution error handling."""
    agent = agent_for([Call("fail", {"how": how})], ["It failed."], tools=[Failing()])
    events = await collect(agent)
    result = result_of(events)
    assert result.stopped_reason == "complete"
    assert not result.tool_calls[0].success
    llm = agent.llm
    assert isinstance(llm, ScriptedLLM)
    answer = llm.seen[1][-1]
    assert isinstance(answer, ToolMessage)
    assert str(answer.content).startswith("Error:")
    assert answer.status == "error"


async def test_agent_reset() -> None:
    """Scenario: Agent reset."""
    agent = agent_for(["hello"])
    agent.memory.set_system_message(Message.system("Be brief"))
    await agent.run("hi")
    agent.reset()
    assert agent.memory.get_history() == []
    assert agent.memory.system_message is not None


async def test_handle_llm_api_error_in_agent() -> None:
    """Scenario: Handle LLM API error in agent. ERROR, then AGENT_END; the next message has the partial text."""
    agent = agent_for(["so far so ", RateLimitError("429: slow down", status=429)], max_retries=0)
    events = await collect(agent)
    result = result_of(events)
    assert "error" in result.stopped_reason
    assert result.error == "429: slow down"
    error = events[-2]
    assert isinstance(error, Error)
    assert (error.kind, error.recoverable) == ("RateLimitError", True)
    assert result.output == "so far so "
    assert [message.text for message in agent.memory.get_history()] == ["go"]
    await agent.run("go on")
    assert [message.text for message in agent.memory.get_history()] == ["go", "so far so ", "go on"]


async def test_handle_invalid_tool_call() -> None:
    """Scenario: Handle invalid tool call."""
    agent = agent_for([Call("ecko", {"text": "x"})], ["Sorry."], tools=[Echo()])
    events = await collect(agent)
    result = result_of(events)
    assert result.stopped_reason == "complete"
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["unknown_tool"]
    assert "no tool 'ecko'" in result.tool_calls[0].result
    assert "'echo'" in result.tool_calls[0].result


@pytest.mark.parametrize(
    "raw", ['{"text": "half of the fi', "not json", "[1, 2]", '{"text": "a"} trailing', '"just a string"']
)
async def test_handle_malformed_tool_arguments(raw: str) -> None:
    """Scenario: Handle malformed tool arguments. Half an object never runs, whatever a parser guesses."""
    agent = agent_for([Call("echo", raw=raw)], ["I'll try again."], tools=[Echo()])
    events = await collect(agent)
    result = result_of(events)
    assert not result.tool_calls[0].success
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["unreadable"]
    assert "nothing was run" in result.tool_calls[0].result
    assert result.stopped_reason == "complete"


async def test_calls_cut_by_the_length_limit_are_not_run() -> None:
    agent = agent_for([Call("echo", raw='{"text": "cut'), Finish("length")], ["ok"], tools=[Echo()])
    result = result_of(await collect(agent))
    assert not result.tool_calls[0].success


async def test_an_answer_truncated_by_the_length_limit_has_a_warning() -> None:
    assert (await agent_for(["cut", Finish("length")]).run("x")).stopped_reason == "length"
    assert (await agent_for(["no", Finish("content_filter")]).run("x")).stopped_reason == "refusal"
    assert (await agent_for(["ok", Finish("strange-new-word")]).run("x")).stopped_reason == "complete"


async def test_calls_with_missing_or_duplicate_ids_are_distinguished() -> None:
    reply: list[Piece] = [Call("echo", {"text": "a"}, id="same"), Call("echo", {"text": "b"}, id="same")]
    agent = agent_for(reply, ["done"], tools=[Echo()])
    result = result_of(await collect(agent))
    assert [record.result for record in result.tool_calls] == ["a", "b"]


async def test_an_interrupt_while_streaming_keeps_the_partial_answer() -> None:
    gate = Gate()
    agent = agent_for(["The answer is ", gate, "never shown"], ["going on"])
    events: list[AgentEvent] = []
    async for event in agent.stream("go"):
        events.append(event)
        if isinstance(event, LLMChunk):
            agent.interrupt()
    assert_promises(events)
    result = result_of(events)
    assert (result.stopped_reason, result.output) == ("cancelled", "The answer is ")
    llm = agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert llm.closed == 1, "the provider's stream was left open"
    last = agent.memory.get_history()[-1]
    assert (last.text, last.extra["partial"]) == ("The answer is ", True)
    follow_up = await agent.run("go on")
    assert follow_up.iterations == 1


async def test_a_hard_cancel_while_streaming_keeps_the_partial_answer() -> None:
    gate = Gate()
    agent = agent_for(["The answer is ", gate])
    running = asyncio.create_task(agent.run("go"))
    await gate.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    last = agent.memory.get_history()[-1]
    assert (last.text, last.extra["partial"]) == ("The answer is ", True)
    assert agent.last_result is not None and agent.last_result.output == "The answer is "


async def test_no_fragment_follows_an_interrupt_although_the_model_does_not_wait() -> None:
    """The model may have the rest of the answer ready, so that nothing in the stream suspends."""
    stop = StopSignal()

    class Ready:
        async def astream(self, *_: object, **__: object) -> AsyncIterator[AIMessageChunk]:
            for text in ("one", "two"):
                yield AIMessageChunk(content=text)

    class Interrupting(NoReader):
        def emit(self, event: AgentEvent) -> None:
            stop.set("cancelled")

    model: Any = Ready()
    call = ModelCall(model, [], AsyncCallbackManager([]), stop)
    await call.stream(Interrupting())
    assert (call.stopped, call.text) == (True, "one")


async def test_an_error_while_an_interrupted_stream_is_closed_is_no_failure_of_the_model() -> None:
    stop = StopSignal()

    class Complaining:
        async def astream(self, *_: object, **__: object) -> AsyncIterator[AIMessageChunk]:
            yield AIMessageChunk(content="one")
            try:
                await asyncio.Event().wait()
            finally:
                raise OSError("the connection is closed already")

    class Interrupting(NoReader):
        def emit(self, event: AgentEvent) -> None:
            stop.set("cancelled")

    model: Any = Complaining()
    call = ModelCall(model, [], AsyncCallbackManager([]), stop)
    await call.stream(Interrupting())
    assert (call.stopped, call.error, call.text) == (True, None, "one")


async def test_an_interrupt_at_the_question_about_the_limit_ends_the_run_as_cancelled() -> None:
    asked = asyncio.Event()

    async def never(question: str) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    reply: list[Piece] = [Call("echo", {"text": "again"})]
    agent = agent_for(reply, tools=[Echo()], max_iterations=1, may_continue=never)
    running = asyncio.create_task(agent.run("go"))
    await asked.wait()
    agent.interrupt()
    assert (await running).stopped_reason == "cancelled"


async def test_an_interrupt_before_any_text_keeps_no_empty_answer() -> None:
    gate = Gate()
    agent = agent_for([gate])

    async def interrupt() -> None:
        await gate.reached.wait()
        agent.interrupt()

    helper = asyncio.create_task(interrupt())
    events = await collect(agent)
    await helper
    assert result_of(events).stopped_reason == "cancelled"
    assert [message.role for message in agent.memory.get_history()] == ["user"]


@pytest.mark.parametrize(("kind", "expected"), [("polite", "half of it"), ("deaf", "interrupted")])
async def test_an_interrupt_during_a_tool_emits_its_end_event(kind: str, expected: str) -> None:
    slow = Slow()
    calls: list[Piece] = [Call("slow", {"kind": kind}), Call("echo", {"text": "never"})]
    agent = agent_for(calls, tools=[slow, Echo()])
    events: list[AgentEvent] = []
    async for event in agent.stream("go"):
        events.append(event)
        if isinstance(event, ToolProgress):
            agent.interrupt()
    assert_promises(events)
    assert_valid(agent.memory)
    result = result_of(events)
    assert result.stopped_reason == "cancelled"
    assert expected in result.tool_calls[0].result
    assert len(result.tool_calls) == 2
    assert not result.tool_calls[1].success


async def test_a_hard_cancel_at_every_event_leaves_the_memory_valid() -> None:
    calls: list[Piece] = ["Look: ", Call("echo", {"text": "a"}), Call("echo", {"text": "b"})]
    total = len(await collect(agent_for(calls, ["done"], tools=[Echo()])))
    for cut in range(total):
        agent = agent_for(calls, ["done"], tools=[Echo()])
        stream = agent.stream("go")
        for _ in range(cut + 1):
            await anext(stream)
        await stream.aclose()
        assert_valid(agent.memory)
        assert agent.last_result is not None
        assert not agent.is_running
        assert (await agent.run("again")).stopped_reason == "complete"
        assert_valid(agent.memory)


async def test_a_cancel_injected_at_every_step_leaves_the_memory_valid() -> None:
    calls: list[Piece] = [
        "Look: ",
        Reasoning("hm"),
        Call("echo", {"text": "a"}),
        Call("slow", {"kind": "polite"}),
    ]
    survived = 0
    for steps in range(400):
        slow = Slow()
        agent = agent_for(calls, ["done"], tools=[Echo(), slow])

        async def turn(agent: ForgeAgent = agent) -> None:
            async for _ in agent.stream("go"):
                pass

        task = asyncio.create_task(turn())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None
        assert_valid(agent.memory)
        assert not agent.is_running
        survived += 1
        if slow.started.is_set() and steps > 250:
            break
    assert survived >= 200


async def test_a_concurrent_second_run_is_rejected() -> None:
    gate = Gate()
    agent = agent_for([gate])
    first = asyncio.create_task(agent.run("one"))
    await gate.reached.wait()
    with pytest.raises(ForgeError, match="already running"):
        await agent.run("two")
    agent.interrupt()
    await first


async def test_a_stop_tool_ends_the_run_after_its_round() -> None:
    agent = agent_for([Call("echo", {"text": "bye"})], tools=[Echo()], stop_tools=frozenset({"echo"}))
    result = await agent.run("go")
    assert (result.stopped_reason, result.iterations) == ("stop_tool", 1)
    assert result.tool_calls[0].result == "bye"


async def test_langchain_tools_run_through_the_same_executor() -> None:
    @langchain_tool
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    result = await agent_for([Call("shout", {"text": "hi"})], ["done"], tools=[shout, Echo()]).run("go")
    assert result.tool_calls[0].result == "HI"


async def test_commands_and_edits_run_alone_and_in_order() -> None:
    order: list[str] = []

    class Step(Echo):
        name = "step"
        category = ToolCategory.EXECUTION

        async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
            order.append(f"+{params['text']}")
            await asyncio.sleep(0)
            order.append(f"-{params['text']}")
            return ToolResult(True, params["text"])

    calls: list[Piece] = [Call("step", {"text": name}) for name in "abc"]
    await agent_for(calls, ["done"], tools=[Step()]).run("go")
    assert order == ["+a", "-a", "+b", "-b", "+c", "-c"]


async def test_usage_and_cost_are_summed_over_the_calls_of_a_run() -> None:
    agent = agent_for([Call("echo", {"text": "x"})], ["a", "b"], tools=[Echo()])
    events = await collect(agent)
    result = result_of(events)
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (20, 2)
    assert str(result.usage.cost_usd) == "0.002"
    ends = [event for event in events if isinstance(event, LLMEnd)]
    assert [str(event.cost_usd) for event in ends] == ["0.001", "0.001"]
    assert ends[-1].total_usage.total_tokens == 22


async def test_an_unknown_cost_stays_unknown() -> None:
    agent = ForgeAgent(llm=ScriptedLLM(replies=[["x"]], cost=None))
    assert (await agent.run("go")).usage.cost_usd is None


async def test_missing_usage_is_estimated_and_marked() -> None:
    agent = ForgeAgent(llm=ScriptedLLM(replies=[["some words here"]], usage=False))
    usage = (await agent.run("go")).usage
    assert usage.estimated
    assert usage.completion_tokens > 0


class Runs(AsyncCallbackHandler):
    """Notes the tree of runs."""

    run_inline = True

    def __init__(self) -> None:
        self.open: dict[Any, str] = {}
        self.log: list[str] = []
        self.parents: dict[str, str | None] = {}

    def _start(self, name: str, run_id: Any, parent: Any) -> None:
        self.parents[name] = self.open.get(parent)
        self.open[run_id] = name
        self.log.append(f"+{name}")

    async def on_chain_start(self, serialized: Any, inputs: Any, **kw: Any) -> None:
        self._start("chain", kw["run_id"], kw.get("parent_run_id"))

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kw: Any) -> None:
        self._start("model", kw["run_id"], kw.get("parent_run_id"))

    async def on_tool_start(self, serialized: Any, input_str: str, **kw: Any) -> None:
        self._start("tool", kw["run_id"], kw.get("parent_run_id"))

    async def on_chain_end(self, outputs: Any, **kw: Any) -> None:
        self.log.append("-chain")

    async def on_chain_error(self, error: BaseException, **kw: Any) -> None:
        self.log.append("!chain")

    async def on_llm_end(self, response: Any, **kw: Any) -> None:
        self.log.append("-model")

    async def on_llm_error(self, error: BaseException, **kw: Any) -> None:
        self.log.append("!model")

    async def on_tool_end(self, output: Any, **kw: Any) -> None:
        self.log.append("-tool")


async def test_one_run_is_one_chain_with_model_and_tool_runs_as_children() -> None:
    runs = Runs()
    agent = agent_for([Call("echo", {"text": "x"})], ["done"], tools=[Echo()])
    await agent.run("go", callbacks=[runs])
    assert runs.log == ["+chain", "+model", "-model", "+tool", "-tool", "+model", "-model", "-chain"]
    assert runs.parents == {"chain": None, "model": "chain", "tool": "chain"}


async def test_a_run_that_fails_ends_its_chain_with_an_error() -> None:
    runs = Runs()
    await agent_for([RateLimitError("429")], max_retries=0).run("go", callbacks=[runs])
    assert runs.log == ["+chain", "+model", "!model", "!chain"]


async def test_waiting_for_the_user_does_not_count_against_the_timeout() -> None:
    ticks = iter([0.0, 1.0, 5.0, 6.0, 6.0])
    clock = RunClock(now=lambda: next(ticks))
    with clock.paused():
        pass
    assert clock.elapsed() == 2.0


async def test_an_empty_answer_gives_a_warning_and_is_not_stored() -> None:
    agent = agent_for([""], ["now with words"])
    result = result_of(await collect(agent))
    assert (result.stopped_reason, result.warning) == ("complete", "The model sent an empty answer.")
    assert [message.role for message in agent.memory.get_history()] == ["user"]
    assert (await agent.run("again")).output == "now with words"


async def test_deeply_nested_arguments_are_rejected_and_the_run_continues() -> None:
    raw = '{"text": ' + "[" * 600 + "]" * 600 + "}"
    agent = agent_for([Call("echo", raw=raw)], ["ok"], tools=[Echo()])
    result = result_of(await collect(agent))
    assert (result.stopped_reason, result.tool_calls[0].success) == ("complete", False)
