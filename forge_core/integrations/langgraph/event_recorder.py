"""Callbacks that turn what happens inside a graph into Forge's events, and check limits before every call."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any
from uuid import UUID, uuid4

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, LLMResult

from forge_core.events import AgentEvent, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.langchain.agent.model_call import chunk_events, finish_reason_of
from forge_core.langchain.callbacks import ForgeCallbackHandler, TokenTrackingCallback
from forge_core.langchain.callbacks.usage import counted_usage, message_of, model_name_of
from forge_core.llm.models import TokenUsage
from forge_core.llm.tokens import estimate_tokens
from forge_core.result import ToolCallRecord, ToolOutcome


class Streams(ForgeCallbackHandler):
    """Makes chat models stream, by being among the callbacks: LangChain looks for a handler with these two
    methods. LangGraph's own way, the stream mode "messages", needs a second worker thread, and with that the
    tools of one answer would no longer run in call order."""

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        return output

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        return output


class RunRecorder(ForgeCallbackHandler):
    """One run's events, in order, from whatever threads the graph uses.

    Callbacks see every model and every tool of a graph, also of one that was built elsewhere. What `check`
    raises before a call leaves the graph.
    """

    raise_error = True

    def __init__(
        self,
        emit: Callable[[AgentEvent], None],
        check: Callable[[], None],
        tracker: TokenTrackingCallback,
        model: str,
    ) -> None:
        super().__init__()
        self._emit = emit
        self._check = check
        self._tracker = tracker
        self._model = model
        self._lock = threading.Lock()
        self._models: dict[UUID, float] = {}
        self._tools: dict[UUID, tuple[ToolStart, float]] = {}
        """The open calls, each with the time of its start."""
        self.iterations = 0
        self.usage = TokenUsage()
        self.finish_reason: str | None = None
        self.records: list[ToolCallRecord] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        self._check()
        with self._lock:
            self.iterations += 1
            self._models[run_id] = time.monotonic()
            self._emit(LLMStart(iteration=self.iterations, model=self._model))

    def on_llm_new_token(
        self, token: str | list[str | dict[str, Any]], *, chunk: Any = None, **kwargs: Any
    ) -> None:
        if isinstance(chunk, ChatGenerationChunk):
            for event in chunk_events(chunk.message):  # type: ignore[arg-type]
                self._emit(event)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        message = message_of(response)
        usage = counted_usage(response)
        if usage is None:
            text = "" if message is None else str(message.text)
            usage = TokenUsage(completion_tokens=estimate_tokens(text), estimated=True)
        self._end_model(
            run_id,
            usage,
            None if message is None else finish_reason_of(message),
            model_name_of(response) or self._model,
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end_model(run_id, TokenUsage(), None, self._model)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        self._check()
        name = str(serialized.get("name") or kwargs.get("name") or "")
        self._start_tool(run_id, tool_call_id or str(run_id), name, inputs or {})

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if isinstance(output, ToolMessage):
            self._end_tool(run_id, str(output.text), success=output.status != "error")
        else:
            self._end_tool(run_id, str(output), success=True)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        is_pause = type(error).__name__ == "GraphInterrupt"
        words = "Paused: the call waits for the user." if is_pause else f"Error: {error}"
        self._end_tool(run_id, words, success=False)

    def refused(
        self, call_id: str, name: str, arguments: Mapping[str, Any], words: str, outcome: ToolOutcome
    ) -> None:
        """Record a call that reached no tool; it has its events all the same."""
        run_id = uuid4()
        self._start_tool(run_id, call_id, name, dict(arguments))
        self._end_tool(run_id, words, success=False, outcome=outcome)

    def close(self) -> None:
        """End the calls that are still open after an interrupted run."""
        for run_id in list(self._tools):
            words = "Error: the run ended before this call did."
            self._end_tool(run_id, words, success=False, outcome="interrupted")
        for run_id in list(self._models):
            self._end_model(run_id, TokenUsage(), None, self._model)

    def _start_tool(self, run_id: UUID, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        start = ToolStart(call_id=call_id, name=name, arguments=arguments)
        with self._lock:
            self._tools[run_id] = start, time.monotonic()
        self._emit(start)

    def _end_tool(
        self, run_id: UUID, text: str, *, success: bool, outcome: ToolOutcome | None = None
    ) -> None:
        with self._lock:
            if run_id not in self._tools:
                return
            tool, started = self._tools.pop(run_id)
        duration_s = time.monotonic() - started
        arguments = dict(tool.arguments)
        self.records.append(ToolCallRecord(tool.call_id, tool.name, arguments, text, success, duration_s))
        self._emit(
            ToolEnd(
                call_id=tool.call_id,
                name=tool.name,
                result=text,
                success=success,
                duration_s=duration_s,
                outcome=outcome,
            )
        )

    def _end_model(self, run_id: UUID, usage: TokenUsage, finish_reason: str | None, model: str) -> None:
        with self._lock:
            started = self._models.pop(run_id, None)
            if started is None:
                return
            self.usage += usage
            self.finish_reason = finish_reason
        self._emit(
            LLMEnd(
                usage=usage,
                cost_usd=usage.cost_usd,
                finish_reason=finish_reason,
                duration_s=time.monotonic() - started,
                total_usage=self._tracker.get_usage(),
                model=model,
            )
        )
