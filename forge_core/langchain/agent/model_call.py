"""One model call of a run: stream the answer as events, settle the message and its usage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
)
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from forge_core.errors import NEVER_SENT, BudgetExceededError, ProviderError
from forge_core.events import LLMChunk
from forge_core.images.image_reference import media_tokens
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.langchain.agent.run_control import StopSignal
from forge_core.langchain.callbacks.usage import message_usage
from forge_core.langchain.messages.content import reasoning_of, text_of
from forge_core.langchain.messages.conversion import langchain_calls
from forge_core.llm.http.retry import RetryCount, counting_with
from forge_core.llm.http.wire import new_call_id
from forge_core.llm.models import TokenUsage
from forge_core.llm.models import ToolCall as WireToolCall
from forge_core.llm.tokens import estimate_tokens
from forge_core.result import StoppedReason


class ModelCall:
    """One request to the model and its answer.

    After `stream()` exactly one of these holds: `error` is set, `stopped` is true, or `message()` is whole.
    `text` is what has arrived in each case.
    """

    def __init__(
        self,
        llm: Runnable[LanguageModelInput, AIMessage],
        messages: Sequence[BaseMessage],
        callbacks: BaseCallbackManager,
        stop: StopSignal,
        retries: RetryCount | None = None,
    ) -> None:
        """`retries`: counts those that the client makes before the first token."""
        self._retries = retries or RetryCount()
        self._llm = llm
        self._messages = list(messages)
        self._callbacks = callbacks
        self._stop = stop
        self._chunks: list[AIMessage] = []
        self._is_started = False
        self.error: Exception | None = None
        self.stopped = False
        self.started = time.monotonic()

    @property
    def duration_s(self) -> float:
        return time.monotonic() - self.started

    @property
    def text(self) -> str:
        """The answer so far, without reasoning and tool calls."""
        return "".join(text_of(chunk.content) for chunk in self._chunks)

    @property
    def reasoning(self) -> str:
        return "".join(reasoning_of(chunk) for chunk in self._chunks)

    @property
    def is_refused(self) -> bool:
        """Whether it ended before the model was at work: such a call is not charged."""
        error = self.error
        if not self._is_started or isinstance(error, BudgetExceededError):
            return True
        if self._chunks or not isinstance(error, ProviderError):
            return False
        return error.status is not None or error.error_type in NEVER_SENT

    def message(self, taken_ids: set[str]) -> AIMessage:
        """Return the settled answer, checked strictly (see `settle`). `taken_ids` grows by its calls' ids."""
        return settle(self._chunks, taken_ids)

    async def stream(self, events: EventSink) -> None:
        """Stream the answer and emit its fragments.

        Returns early, with the connection closed, when the stop signal is set.
        """
        # A task of its own: cancelling it closes the stream at once, wherever it waits. Racing each chunk
        # against the stop signal instead would cost two tasks per token.
        with counting_with(self._retries):
            pump = asyncio.create_task(self._pump(events), name="forge-model-call")

        def stop() -> None:
            if not pump.done():
                self.stopped = True
                pump.cancel()

        try:
            with self._stop.calling(stop):
                await asyncio.wait([pump])
        finally:
            pump.cancel()
            await asyncio.wait([pump])
        if not pump.cancelled():
            pump.result()  # a bug in a listener, or SystemExit: not the provider's failure

    async def _pump(self, events: EventSink) -> None:
        self._is_started = True
        try:
            stream: Any = self._llm.astream(self._messages, config={"callbacks": self._callbacks})
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    if self.stopped:
                        return
                    self._chunks.append(chunk)
                    for event in chunk_events(chunk):
                        events.emit(event)
                    if events.is_full:  # the connection is not read meanwhile: TCP holds the provider back
                        await events.ready()
        except Exception as error:  # the turn's border: a provider's failure becomes data
            if not self.stopped:
                self.error = error


def settle(chunks: Sequence[AIMessage], taken_ids: set[str]) -> AIMessage:
    """One message out of a stream's chunks, its tool calls parsed strictly, each with a unique id.

    LangChain parses streamed arguments with a *partial* JSON parser, which completes half an object; running
    that would write half a file. So the raw text decides: what `json.loads` refuses becomes an invalid call.
    """
    if not chunks:
        return AIMessage(content="")
    if not all(isinstance(chunk, AIMessageChunk) for chunk in chunks):
        return _with_own_ids(chunks[-1], taken_ids)
    first, *rest = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    merged = add_ai_message_chunks(first, *rest) if rest else first
    calls, invalid = _strict_calls(merged)
    message = AIMessage(
        content=merged.content,
        additional_kwargs=merged.additional_kwargs,
        response_metadata=merged.response_metadata,
        usage_metadata=merged.usage_metadata,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        id=merged.id,
    )
    return _with_own_ids(message, taken_ids)


def _with_own_ids(message: AIMessage, taken_ids: set[str]) -> AIMessage:
    """Return the message with new ids where a call has none, or one that was used before: local servers send
    both, and results, cards and journals are distinguished by nothing else."""
    for call in (*message.tool_calls, *message.invalid_tool_calls):
        call_id = call["id"]
        if not call_id or call_id in taken_ids:
            call_id = call["id"] = new_call_id()
        taken_ids.add(call_id)
    return message


def _strict_calls(merged: AIMessageChunk) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    if not merged.tool_call_chunks:
        return list(merged.tool_calls), list(merged.invalid_tool_calls)
    return langchain_calls(
        [
            WireToolCall(
                raw.get("id") or "", {"name": raw.get("name") or "", "arguments": raw.get("args") or ""}
            )
            for raw in merged.tool_call_chunks
        ]
    )


def chunk_events(chunk: AIMessage) -> list[LLMChunk]:
    events = []
    if reasoning := reasoning_of(chunk):
        events.append(LLMChunk(text=reasoning, kind="reasoning"))
    if text := text_of(chunk.content):
        events.append(LLMChunk(text=text))
    for call in getattr(chunk, "tool_call_chunks", ()):
        if args := call.get("args"):
            events.append(LLMChunk(text=args, kind="tool_args"))
    return events


_REASONS: dict[str, StoppedReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


def stopped_reason_for(finish_reason: str | None) -> StoppedReason:
    """Return what an answer without tool calls means for the run. Unknown words count as complete."""
    return _REASONS.get(finish_reason or "", "complete")


def finish_reason_of(message: AIMessage) -> str | None:
    metadata = message.response_metadata
    reason = metadata.get("finish_reason") or metadata.get("stop_reason")
    return None if reason is None else str(reason)


def model_of(message: AIMessage | None) -> str:
    """Return the model that answered, as it named itself; empty when it didn't."""
    if message is None:
        return ""
    return str(message.response_metadata.get("model_name") or "")


def usage_of(message: AIMessage | None, history: Sequence[BaseMessage], call: ModelCall) -> TokenUsage:
    """Return the provider's count, else an estimate that is marked as one; nothing for a request that was
    rejected."""
    if call.is_refused:
        return TokenUsage()
    counted = message_usage(message) if message is not None else None
    return counted or TokenUsage(
        prompt_tokens=sum(estimate_tokens(entry.text) + media_tokens(entry.content) for entry in history),
        completion_tokens=estimate_tokens(call.text) + estimate_tokens(call.reasoning),
        estimated=True,
    )


def warm_up() -> None:
    """Import what LangChain defers to the first run: 0.1 s that the first Enter would wait for."""
    AsyncCallbackManager.configure()
    convert_to_openai_tool({"type": "function", "function": {"name": "any"}})
