"""Callback handlers: one test per promise, the titles of the agreed scenarios in the docstrings."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langchain_core.tools import tool

from forge_core.langchain.callbacks import (
    CompositeCallback,
    ForgeCallbackHandler,
    LoggingCallback,
    StreamingCallback,
    TokenTrackingCallback,
)
from forge_core.llm.models import TokenUsage


def answered(
    prompt: int = 0,
    completion: int = 0,
    *,
    cost: str | None = None,
    model: str = "test/model",
    text: str = "hello",
    input_details: dict[str, int] | None = None,
    output_details: dict[str, int] | None = None,
) -> LLMResult:
    """What a chat model's answer looks like to a handler."""
    metadata: dict[str, Any] = {"model_name": model}
    if cost is not None:
        metadata["cost"] = cost
    message = AIMessage(
        text,
        usage_metadata={
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
            "input_token_details": input_details or {},
            "output_token_details": output_details or {},
        },
        response_metadata=metadata,
    )
    return LLMResult(generations=[[ChatGeneration(message=message)]])


class Heard(BaseCallbackHandler):
    """Notes the events that reach it."""

    def __init__(self, name: str, log: list[tuple[str, str]], *, fails: bool = False) -> None:
        self.label, self.log, self.fails = name, log, fails

    def note(self, event: str) -> None:
        self.log.append((self.label, event))
        if self.fails:
            raise RuntimeError(f"{self.label} is broken")

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        self.note(f"llm_start {prompts[0]}")

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        self.note("llm_end")

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, **kwargs: Any) -> None:
        self.note("tool_start")


class TestTokenTracking:
    def test_tracks_token_usage(self) -> None:
        """Scenario: Track token usage."""
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(100, 50), run_id=uuid4())
        assert tracker.total_prompt_tokens == 100
        assert tracker.total_completion_tokens == 50
        assert tracker.get_usage().total_tokens == 150

    def test_accumulates_usage_across_calls(self) -> None:
        """Scenario: Accumulate usage across calls."""
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(100, 50), run_id=uuid4())
        tracker.on_llm_end(answered(50, 25), run_id=uuid4())
        assert (tracker.total_prompt_tokens, tracker.total_completion_tokens) == (150, 75)
        assert tracker.call_count == 2

    def test_reset_zeroes_every_counter(self) -> None:
        """Scenario: Reset token tracking."""
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(100, 50, cost="0.5", input_details={"cache_read": 9}), run_id=uuid4())
        tracker.reset()
        assert tracker.get_usage() == TokenUsage()
        assert tracker.call_count == 0
        assert tracker.usage_by_model() == {}

    @pytest.mark.parametrize(
        "output",
        [
            {"token_usage": {"prompt_tokens": 7, "completion_tokens": 3}},
            {"usage": {"input_tokens": 7, "output_tokens": 3}},
            {"token_usage": {"prompt_tokens": 7.0, "completion_tokens": 3, "cost": None}},
        ],
    )
    def test_usage_from_the_llm_output_is_used_when_the_message_has_none(
        self, output: dict[str, Any]
    ) -> None:
        tracker = TokenTrackingCallback()
        for generations in ([[]], [[Generation(text="hi")]], []):
            tracker.on_llm_end(LLMResult(generations=generations, llm_output=output))
        assert tracker.get_usage() == TokenUsage(prompt_tokens=21, completion_tokens=9)

    def test_usage_details_of_the_llm_output_are_read(self) -> None:
        tracker = TokenTrackingCallback()
        usage = {
            "prompt_tokens": 10,
            "completion_tokens": 8,
            "cost": 0.25,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }
        tracker.on_llm_end(LLMResult(generations=[[]], llm_output={"token_usage": usage, "model_name": "m"}))
        expected = TokenUsage(10, 8, 4, 2, 5, Decimal("0.25"))
        assert tracker.get_usage() == expected
        assert tracker.usage_by_model() == {"m": expected}

    def test_cost_cached_and_reasoning_tokens_are_added_exactly(self) -> None:
        tracker = TokenTrackingCallback()
        for _ in range(3):
            tracker.on_llm_end(
                answered(
                    10,
                    5,
                    cost="0.1",
                    input_details={"cache_read": 4, "cache_creation": 3},
                    output_details={"reasoning": 2},
                )
            )
        assert tracker.get_usage() == TokenUsage(30, 15, 12, 9, 6, Decimal("0.3"))

    def test_one_call_of_unknown_price_makes_the_total_unknown(self) -> None:
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(1, 1, cost="0.1"))
        assert tracker.get_usage().cost_usd == Decimal("0.1")
        tracker.on_llm_end(answered(1, 1))
        assert tracker.get_usage().cost_usd is None

    @pytest.mark.parametrize("cost", ["nonsense", "nan", "Infinity"])
    def test_a_non_numeric_cost_is_unknown(self, cost: str) -> None:
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(1, 1, cost=cost))
        assert tracker.get_usage().cost_usd is None

    def test_totals_are_kept_per_model(self) -> None:
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(1, 2, model="a", cost="1"))
        tracker.on_llm_end(answered(3, 4, model="b"))
        tracker.on_llm_end(answered(5, 6, model="a", cost="2"))
        assert tracker.usage_by_model() == {
            "a": TokenUsage(6, 8, cost_usd=Decimal(3)),
            "b": TokenUsage(3, 4),
        }

    def test_a_call_without_usage_is_estimated_and_marked(self) -> None:
        tracker = TokenTrackingCallback(token_counter=len)
        llm = GenericFakeChatModel(messages=iter([AIMessage("answer")]))
        llm.invoke([HumanMessage("question?")], config={"callbacks": [tracker]})
        usage = tracker.get_usage()
        assert (usage.prompt_tokens, usage.completion_tokens) == (len("question?"), len("answer"))
        assert usage.estimated
        assert usage.cost_usd is None

    def test_the_prompt_of_a_completion_model_is_estimated(self) -> None:
        tracker = TokenTrackingCallback(token_counter=len)
        FakeListLLM(responses=["answer"]).invoke("question?", config={"callbacks": [tracker]})
        assert (tracker.total_prompt_tokens, tracker.total_completion_tokens) == (9, 6)

    def test_tool_calls_count_in_an_estimate(self) -> None:
        tracker = TokenTrackingCallback(token_counter=len)
        call = {"name": "read", "args": {"path": "a"}, "id": "c"}
        message = AIMessage("", tool_calls=[call])
        tracker.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]))
        assert tracker.total_completion_tokens == len(str({"path": "a"}))

    def test_counted_calls_are_not_marked_as_estimates(self) -> None:
        tracker = TokenTrackingCallback()
        tracker.on_llm_end(answered(1, 2))
        assert not tracker.get_usage().estimated

    def test_a_failed_call_leaves_nothing_behind(self) -> None:
        tracker = TokenTrackingCallback()

        def broken() -> Iterator[AIMessage]:
            raise RuntimeError("gone")
            yield AIMessage("")

        llm = GenericFakeChatModel(messages=broken())
        with pytest.raises(RuntimeError, match="gone"):
            llm.invoke("hi", config={"callbacks": [tracker]})
        assert tracker.call_count == 0
        assert tracker.get_usage() == TokenUsage()
        assert tracker._prompts == {}

    def test_usage_without_an_answer_can_be_added(self) -> None:
        tracker = TokenTrackingCallback()
        tracker.add_usage(TokenUsage(5, 6, estimated=True), "m")
        assert tracker.usage_by_model() == {"m": TokenUsage(5, 6, estimated=True)}
        assert tracker.call_count == 0

    def test_a_cached_answer_costs_nothing(self) -> None:
        tracker = TokenTrackingCallback()
        message = answered(10, 5, cost="0.1").generations[0][0].message
        llm = GenericFakeChatModel(messages=iter([message]), cache=InMemoryCache())
        for _ in range(2):
            llm.invoke("same", config={"callbacks": [tracker]})
        assert tracker.get_usage().cost_usd == Decimal("0.1")

    def test_a_tracker_can_be_shared_between_threads(self) -> None:
        tracker = TokenTrackingCallback()

        def work() -> None:
            for _ in range(500):
                tracker.on_llm_end(answered(1, 1), run_id=uuid4())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert tracker.call_count == tracker.total_prompt_tokens == 2000


class TestLogging:
    @pytest.fixture
    def logger(self, caplog: pytest.LogCaptureFixture) -> logging.Logger:
        caplog.set_level(logging.DEBUG, logger="test.forge")
        return logging.getLogger("test.forge")

    def test_llm_events_are_logged_with_duration(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Scenario: Log LLM events."""
        times = iter([10.0, 11.5])
        callback = LoggingCallback(logger, clock=lambda: next(times))
        run_id = uuid4()
        callback.on_llm_start({"name": "x"}, ["hello"], run_id=run_id)
        assert "LLM start" in caplog.messages[-1]
        callback.on_llm_end(answered(3, 4, cost="0.001"), run_id=run_id)
        assert caplog.messages[-1] == (
            "LLM end: duration=1.50s model=test/model prompt=3 completion=4 cost_usd=0.001"
        )
        assert callback._start_times == {}

    def test_tool_events_are_logged_with_duration(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Scenario: Log tool events."""
        times = iter([1.0, 1.25])
        callback = LoggingCallback(logger, clock=lambda: next(times))
        run_id = uuid4()
        callback.on_tool_start({"name": "read_file"}, "{}", run_id=run_id)
        callback.on_tool_end("content", run_id=run_id)
        lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
        assert lines == ["Tool start: read_file", "Tool end: duration=0.25s"]

    async def test_a_real_run_is_logged_from_start_to_end(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        llm = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
        await llm.ainvoke([HumanMessage("secret question")], config={"callbacks": [LoggingCallback(logger)]})
        assert [line.split(":")[0] for line in caplog.messages] == ["LLM start", "LLM end"]
        assert "messages=1" in caplog.messages[0]
        assert "secret question" not in caplog.text

    def test_errors_are_logged_as_warnings(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        callback = LoggingCallback(logger)
        callback.on_llm_error(ValueError("bad model"), run_id=uuid4())
        callback.on_tool_error(OSError("no disk"), run_id=uuid4())
        callback.on_chain_error(KeyError("k"), run_id=uuid4())
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 3
        assert "LLM error: duration=unknown ValueError: bad model" in caplog.messages
        assert "Tool error: duration=unknown OSError: no disk" in caplog.messages

    def test_the_log_contains_no_secrets_and_no_injected_lines(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        callback = LoggingCallback(logger)
        key = "sk-or-v1-0123456789abcdef0123456789abcdef"
        callback.on_llm_error(ValueError(f"key {key} refused\nTool end: duration=0.00s\x1b[2J"))
        callback.on_tool_start({"name": "x\nLLM end: duration=1s"}, f"{{'token': '{key}'}}")
        assert key not in caplog.text
        assert all("\n" not in line and "\x1b" not in line for line in caplog.messages)

    def test_a_long_text_is_cut_after_redaction(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        callback = LoggingCallback(logger)
        key = "sk-or-v1-0123456789abcdef0123456789abcdef"
        callback.on_llm_error(ValueError("x" * 480 + key + "y" * 100_000))
        assert "sk-or-v1-0" not in caplog.text
        assert len(caplog.messages[0]) < 600

    def test_arguments_and_chains_are_logged_at_debug_only(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, logger="test.forge")
        callback = LoggingCallback(logger)
        callback.on_tool_start({"name": "x"}, "{'path': 'a.py'}", run_id=uuid4())
        callback.on_chain_start({}, {}, run_id=uuid4(), name="chain")
        callback.on_chain_end({}, run_id=uuid4())
        assert caplog.messages == ["Tool start: x"]

    def test_a_permission_decision_is_logged(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        LoggingCallback(logger).on_custom_event(
            "permission", {"decision": "deny", "by": "person"}, run_id=uuid4()
        )
        assert caplog.messages == ["Event permission: decision=deny by=person"]

    def test_a_failed_tool_result_is_marked(
        self, logger: logging.Logger, caplog: pytest.LogCaptureFixture
    ) -> None:
        @tool
        def never(x: int) -> str:
            """Fails."""
            return "x"

        never.handle_validation_error = True
        call = {"type": "tool_call", "id": "c1", "name": "never", "args": {"x": "no"}}
        never.invoke(call, config={"callbacks": [LoggingCallback(logger)]})
        assert caplog.messages[-1].endswith("status=error")


class TestStreaming:
    def test_tokens_reach_the_callback_as_they_come(self) -> None:
        """Scenario: Stream tokens to callback."""
        heard: list[str] = []
        callback = StreamingCallback(on_token=heard.append)
        for token in ["Hello", " ", "World"]:
            callback.on_llm_new_token(token, run_id=uuid4())
        assert heard == ["Hello", " ", "World"]
        assert callback.get_buffer() == "Hello World"

    def test_empty_text_is_ignored(self) -> None:
        heard: list[str] = []
        callback = StreamingCallback(on_token=heard.append)
        callback.on_llm_new_token("")
        callback.on_llm_new_token([{"type": "reasoning", "reasoning": "hm"}])
        assert heard == []

    def test_text_blocks_count_as_text(self) -> None:
        callback = StreamingCallback()
        callback.on_llm_new_token([{"type": "text", "text": "a"}, "b", {"type": "text", "text": None}])
        assert callback.get_buffer() == "ab"

    async def test_each_answer_has_its_own_buffer(self) -> None:
        done: list[str] = []
        callback = StreamingCallback(on_complete=done.append)
        llm = GenericFakeChatModel(messages=iter([AIMessage("first one"), AIMessage("second")]))
        for _ in range(2):
            async for _chunk in llm.astream("go", config={"callbacks": [callback]}):
                pass
        assert done == ["first one", "second"]
        assert callback.get_buffer() == "second"
        callback.clear_buffer()
        assert callback.get_buffer() == ""

    def test_on_complete_is_called_for_a_completion_model(self) -> None:
        done: list[str] = []
        callback = StreamingCallback(on_complete=done.append)
        callback.on_llm_new_token("left over")
        FakeListLLM(responses=["abc"]).invoke("go", config={"callbacks": [callback]})
        assert done == ["abc"]

    def test_on_complete_is_called_for_a_non_streamed_answer(self) -> None:
        done: list[str] = []
        callback = StreamingCallback(on_complete=done.append)
        callback.on_llm_end(answered(text="whole"))
        callback.on_llm_end(LLMResult(generations=[[Generation(text="plain")]]))
        callback.on_llm_end(LLMResult(generations=[]))
        assert done == ["whole", "plain", ""]

    def test_an_exception_in_a_callback_does_not_end_the_run(self, caplog: pytest.LogCaptureFixture) -> None:
        def broken(text: str) -> None:
            raise RuntimeError("listener")

        callback = StreamingCallback(on_token=broken)
        callback.on_llm_new_token("x")
        assert "broken failed" in caplog.text
        callback.raise_error = True
        with pytest.raises(RuntimeError, match="listener"):
            callback.on_llm_new_token("y")
        assert callback.get_buffer() == "xy"


class TestComposite:
    def test_both_child_callbacks_receive_events_in_order(self) -> None:
        """Scenario: Composite callback."""
        log: list[tuple[str, str]] = []
        composite = CompositeCallback([Heard("tracker", log), Heard("logger", log)])
        composite.on_llm_start({}, ["hi"], run_id=uuid4())
        composite.on_llm_end(answered(), run_id=uuid4())
        assert log == [
            ("tracker", "llm_start hi"),
            ("logger", "llm_start hi"),
            ("tracker", "llm_end"),
            ("logger", "llm_end"),
        ]

    def test_each_child_gets_the_chat_model_fallback(self) -> None:
        log: list[tuple[str, str]] = []
        tracker = TokenTrackingCallback()
        composite = CompositeCallback([Heard("a", log), tracker, Heard("b", log)])
        llm = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
        llm.invoke([HumanMessage("question")], config={"callbacks": [composite]})
        assert log == [
            ("a", "llm_start Human: question"),
            ("b", "llm_start Human: question"),
            ("a", "llm_end"),
            ("b", "llm_end"),
        ]
        assert tracker.call_count == 1

    def test_a_failing_child_does_not_stop_the_next(self) -> None:
        log: list[tuple[str, str]] = []
        composite = CompositeCallback([Heard("a", log, fails=True), Heard("b", log)])
        composite.on_llm_end(answered(), run_id=uuid4())
        assert log == [("a", "llm_end"), ("b", "llm_end")]

    def test_a_child_with_raise_error_raises_after_all_children_were_called(self) -> None:
        log: list[tuple[str, str]] = []
        first = Heard("a", log, fails=True)
        first.raise_error = True
        composite = CompositeCallback([first, Heard("b", log)])
        with pytest.raises(RuntimeError, match="a is broken"):
            composite.on_llm_end(answered(), run_id=uuid4())
        assert log == [("a", "llm_end"), ("b", "llm_end")]
        assert composite.raise_error

    def test_ignore_flags_of_a_child_are_respected(self) -> None:
        class NoTools(Heard):
            @property
            def ignore_agent(self) -> bool:
                return True

        log: list[tuple[str, str]] = []
        CompositeCallback([NoTools("a", log), Heard("b", log)]).on_tool_start({}, "x", run_id=uuid4())
        assert log == [("b", "tool_start")]

    async def test_an_asynchronous_child_is_awaited_in_order(self) -> None:
        log: list[tuple[str, str]] = []

        class Later(AsyncCallbackHandler):
            async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
                await asyncio.sleep(0)
                log.append(("later", "llm_end"))

        composite = CompositeCallback([Later(), Heard("b", log)])
        composite.on_llm_end(answered(), run_id=uuid4())
        assert log == [("later", "llm_end"), ("b", "llm_end")]

    def test_every_langchain_event_is_forwarded(self) -> None:
        events = [name for name in dir(BaseCallbackHandler) if name.startswith("on_")]
        assert events
        assert all(name in vars(CompositeCallback) for name in events)


class TestBase:
    async def test_handlers_run_in_registration_order_on_the_callers_thread(self) -> None:
        heard: list[tuple[int, int]] = []

        class Numbered(ForgeCallbackHandler):
            def __init__(self, number: int) -> None:
                super().__init__()
                self.number = number

            def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
                heard.append((self.number, threading.get_ident()))

        manager = AsyncCallbackManager.configure([Numbered(n) for n in range(5)])
        for run in await manager.on_chat_model_start({}, [[HumanMessage("x")]]):
            await run.on_llm_new_token("t")
        assert heard == [(n, threading.get_ident()) for n in range(5)]

    def test_a_handler_of_on_llm_start_also_receives_chat_model_starts(self) -> None:
        heard: list[str] = []

        class Listener(ForgeCallbackHandler):
            def on_llm_start(
                self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any
            ) -> None:
                heard.extend(prompts)

        GenericFakeChatModel(messages=iter([AIMessage("x")])).invoke("q", config={"callbacks": [Listener()]})
        assert heard == ["Human: q"]

    def test_the_history_is_not_rendered_for_a_handler_that_does_not_look(self) -> None:
        class Unprintable(HumanMessage):
            @property
            def text(self) -> Any:
                raise AssertionError("rendered")

        with pytest.raises(AssertionError, match="rendered"):
            _ = Unprintable("x").text
        messages: list[list[BaseMessage]] = [[Unprintable("x")]]
        manager = AsyncCallbackManager.configure([ForgeCallbackHandler(), TokenTrackingCallback()])
        asyncio.run(_start(manager, messages))

    def test_the_callback_name_defaults_to_the_class_name(self) -> None:
        assert TokenTrackingCallback().name == "TokenTrackingCallback"
        assert ForgeCallbackHandler("mine").name == "mine"


async def _start(manager: AsyncCallbackManager, messages: list[list[BaseMessage]]) -> None:
    await manager.on_chat_model_start({}, messages)
