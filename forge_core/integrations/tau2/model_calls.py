"""Calls of the model until its answer can be used: some text, or calls that can all be run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable

from forge_core.events import AgentEvent, LLMChunk, LLMEnd, LLMStart
from forge_core.integrations.tau2.tau2_api import load
from forge_core.langchain.agent.model_call import finish_reason_of, model_of, settle
from forge_core.langchain.callbacks import StreamingCallback, TokenTrackingCallback
from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.models import TokenUsage

EventListener = Callable[[AgentEvent], object]
_QUOTED_CHARS = 300
_log = logging.getLogger(__name__)


class TurnUsage:
    """The usage of one turn so far, over all of its model calls."""

    def __init__(self) -> None:
        self.usage = TokenUsage()
        self.model_calls = 0
        self.refused_answers = 0
        self.started = time.perf_counter()

    @property
    def duration_s(self) -> float:
        return time.perf_counter() - self.started


class ModelCaller:
    """One model with its tools. Keeps nothing between questions, so that threads may share it."""

    def __init__(
        self,
        llm: OpenRouterLLM,
        tools: Sequence[dict[str, Any]],
        *,
        is_streaming: bool,
        max_format_retries: int,
        on_event: EventListener | None,
    ) -> None:
        self._llm = llm
        self._tools = list(tools)
        self._is_streaming = is_streaming
        self._max_format_retries = max(0, max_format_retries)
        self._on_event = on_event

    def ask(self, messages: Sequence[BaseMessage], taken_ids: set[str], turn: TurnUsage) -> AIMessage:
        """Return a usable answer. An unusable one is not executed and not kept; the model gets the
        reason.

        Raises:
            ProviderError: the provider refused or failed; it holds the status and the provider's words.
            Exception: tau2's AgentError, when no answer could be used.
        """
        correction: list[BaseMessage] = []
        for _ in range(self._max_format_retries + 1):
            answer = self._call([*messages, *correction], taken_ids, turn)
            problem = _problem(answer)
            if problem is None:
                return answer
            turn.refused_answers += 1
            correction = _correction(answer, problem)
        raise load().agent_error(
            f"{self._llm.model} gave {self._max_format_retries + 1} unusable answers in a row; the last: "
            f"{problem}. Choose another model, or allow more with max_format_retries."
        )

    def emit(self, event: AgentEvent) -> None:
        """Hand the event to the listener, whose failures are logged and end nothing."""
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:  # foreign code: a broken listener must not end the run that it listens to
            _log.warning("on_event failed at %s", type(event).__name__, exc_info=True)

    def _call(self, messages: list[BaseMessage], taken_ids: set[str], turn: TurnUsage) -> AIMessage:
        turn.model_calls += 1
        tracker = TokenTrackingCallback()
        started = time.perf_counter()
        answer = AIMessage("")
        self.emit(LLMStart(iteration=turn.model_calls, model=self._llm.model))
        try:
            answer = settle(self._pieces(messages, tracker), taken_ids)
        finally:
            usage = tracker.get_usage()
            turn.usage += usage
            self.emit(
                LLMEnd(
                    usage=usage,
                    cost_usd=usage.cost_usd,
                    finish_reason=finish_reason_of(answer),
                    duration_s=time.perf_counter() - started,
                    total_usage=turn.usage,
                    model=model_of(answer),
                )
            )
        return answer

    def _pieces(self, messages: list[BaseMessage], tracker: TokenTrackingCallback) -> list[AIMessage]:
        """Return the answer as it came: in pieces, or whole. Over the synchronous client, which works the
        same in a thread and inside a running event loop."""
        bound: Runnable[LanguageModelInput, AIMessage] = self._llm
        if self._tools:
            bound = self._llm.bind_tools(self._tools)
        callbacks: list[BaseCallbackHandler] = [tracker]
        if self._on_event is not None:
            callbacks.append(StreamingCallback(on_token=lambda text: self.emit(LLMChunk(text=text))))
        if self._is_streaming:
            return list(bound.stream(messages, config={"callbacks": callbacks}))
        whole = bound.invoke(messages, config={"callbacks": callbacks})
        self.emit(LLMChunk(text=str(whole.text)))
        return [whole]


def _problem(answer: AIMessage) -> str | None:
    """Return why `answer` cannot be used; None when it can."""
    if answer.invalid_tool_calls:
        call = answer.invalid_tool_calls[0]
        shown = (call["args"] or "")[:_QUOTED_CHARS]
        return f"the call of {call['name'] or 'a tool without a name'!r} failed: {call['error']} ({shown!r})"
    if not answer.tool_calls and not str(answer.text).strip():
        return "the answer was empty"
    return None


def _correction(answer: AIMessage, problem: str) -> list[BaseMessage]:
    """Return what replaces the refused answer in the next request: its calls, each with the reason as its
    result; a sentence where there is no call to answer, or one that no host accepts."""
    nameless = any(not call["name"] for call in answer.invalid_tool_calls)
    if nameless or not answer.invalid_tool_calls:
        return [
            HumanMessage(
                f"[Automatic notice, not from the user] Your last answer could not be used: {problem}. "
                "Answer again, with a message to the user or with tool calls."
            )
        ]
    calls = AIMessage("", tool_calls=answer.tool_calls, invalid_tool_calls=answer.invalid_tool_calls)
    reason = f"Not executed: {problem}. Make the calls again; arguments are one whole JSON object each."
    ids = [call["id"] or "" for call in (*answer.tool_calls, *answer.invalid_tool_calls)]
    return [calls, *(ToolMessage(reason, tool_call_id=call_id, status="error") for call_id in ids)]
