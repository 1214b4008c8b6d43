"""Adds up the tokens and the price of every model call that it hears of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from forge_core.langchain.callback_base import ForgeCallbackHandler
from forge_core.langchain.usage import answer_of, counted_usage, message_of, model_name_of
from forge_core.llm.models import TokenUsage
from forge_core.llm.tokens import estimate_tokens


class TokenTrackingCallback(ForgeCallbackHandler):
    """Totals over all calls, and per model. Safe to share between threads.

    A call whose provider sent no usage is estimated from the text that went and came; the totals then say
    `estimated`. A price is never guessed: one call of unknown price makes the total unknown.
    """

    total_prompt_tokens: int = 0
    total_completion_tokens: int = 0
    total_cached_tokens: int = 0
    total_cache_write_tokens: int = 0
    total_reasoning_tokens: int = 0
    total_audio_input_tokens: int = 0
    total_audio_output_tokens: int = 0
    total_cost_usd: Decimal | None = None
    has_estimates: bool = False
    call_count: int = 0
    """Model calls that ended with an answer."""

    def __init__(self, *, token_counter: Callable[[str], int] = estimate_tokens) -> None:
        super().__init__()
        self._count_tokens = token_counter
        self._lock = threading.Lock()
        self._prompts: dict[UUID, Sequence[str] | Sequence[BaseMessage]] = {}
        self._by_model: dict[str, TokenUsage] = {}
        self._estimates: list[tuple[str, TokenUsage]] = []

    def get_usage(self) -> TokenUsage:
        """The totals, with the estimates of cut calls that no count has replaced yet."""
        return sum((usage for _, usage in self._estimates), self._counted())

    def _counted(self) -> TokenUsage:
        return TokenUsage(
            prompt_tokens=self.total_prompt_tokens,
            completion_tokens=self.total_completion_tokens,
            cached_tokens=self.total_cached_tokens,
            cache_write_tokens=self.total_cache_write_tokens,
            reasoning_tokens=self.total_reasoning_tokens,
            audio_input_tokens=self.total_audio_input_tokens,
            audio_output_tokens=self.total_audio_output_tokens,
            cost_usd=self.total_cost_usd,
            estimated=self.has_estimates,
        )

    def usage_by_model(self) -> dict[str, TokenUsage]:
        """The totals per model, by the name that the answer gave; "" where it gave none."""
        with self._lock:
            by_model = dict(self._by_model)
            for model, usage in self._estimates:
                by_model[model] = by_model.get(model, TokenUsage()) + usage
            return by_model

    def add_estimate(self, usage: TokenUsage, model: str = "") -> None:
        """Adds a call that was cut short, whose count may still come (`replace_estimate`)."""
        with self._lock:
            self._estimates.append((model, usage))

    def replace_estimate(self, estimate: TokenUsage, counted: TokenUsage, model: str = "") -> None:
        """Puts the provider's count in the place of an estimate; nothing when that is gone (a reset)."""
        with self._lock:
            remaining = [entry for entry in self._estimates if entry[1] is not estimate]
            is_known = len(remaining) < len(self._estimates)
            self._estimates = remaining
        if is_known:
            self.add_usage(counted, model)

    def add_usage(self, usage: TokenUsage, model: str = "") -> None:
        """Adds what no answer told; no call is counted."""
        with self._lock:
            self._set_totals(self._counted() + usage)
            self._by_model[model] = self._by_model.get(model, TokenUsage()) + usage

    def reset(self) -> None:
        """All counters back to zero, the cost to unknown."""
        with self._lock:
            self._set_totals(TokenUsage())
            self._by_model.clear()
            self._estimates.clear()
            self.call_count = 0

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        if run_id is not None and messages:
            self._prompts[run_id] = messages[0]

    def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        if run_id is not None:
            self._prompts[run_id] = prompts

    def on_llm_end(self, response: LLMResult, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        prompt = self._prompts.pop(run_id, ()) if run_id is not None else ()
        usage = counted_usage(response) or self._estimate(prompt, response)
        self.add_usage(usage, model_name_of(response))
        with self._lock:
            self.call_count += 1

    def on_llm_error(self, error: BaseException, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        if run_id is not None:
            self._prompts.pop(run_id, None)

    def _set_totals(self, total: TokenUsage) -> None:
        self.total_prompt_tokens = total.prompt_tokens
        self.total_completion_tokens = total.completion_tokens
        self.total_cached_tokens = total.cached_tokens
        self.total_cache_write_tokens = total.cache_write_tokens
        self.total_reasoning_tokens = total.reasoning_tokens
        self.total_audio_input_tokens = total.audio_input_tokens
        self.total_audio_output_tokens = total.audio_output_tokens
        self.total_cost_usd = total.cost_usd
        self.has_estimates = total.estimated

    def _estimate(self, prompt: Sequence[str] | Sequence[BaseMessage], response: LLMResult) -> TokenUsage:
        """Only made for calls without a count: reading a whole history for each call would cost O(n)."""
        message, answer = message_of(response), answer_of(response)
        text = message.text if message is not None else answer.text if answer is not None else ""
        sent = sum(
            self._count_tokens(entry if isinstance(entry, str) else str(entry.text)) for entry in prompt
        )
        received = self._count_tokens(str(text))
        if message is not None:
            received += sum(self._count_tokens(str(call["args"])) for call in message.tool_calls)
        is_empty = sent == 0 and received == 0
        return TokenUsage(prompt_tokens=sent, completion_tokens=received, estimated=not is_empty)
