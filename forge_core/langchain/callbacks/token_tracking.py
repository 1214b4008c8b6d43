"""Totals of the tokens and the cost of model calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from forge_core.langchain.callbacks.base import ForgeCallbackHandler
from forge_core.langchain.callbacks.usage import answer_of, counted_usage, message_of, model_name_of
from forge_core.llm.account.pricing import Pricer
from forge_core.llm.account.spending import Spending, SpendingBook
from forge_core.llm.models import TOKEN_COUNTS, TokenUsage
from forge_core.llm.tokens import estimate_tokens

SpentListener: TypeAlias = Callable[[TokenUsage, str, "TokenUsage | None"], None]


class TokenTrackingCallback(ForgeCallbackHandler):
    """Totals over all calls, per model and per turn. Safe to share between threads.

    A call whose provider sent no usage is estimated from the text that went and came, and priced by `price`
    where that knows the model; the totals then say `estimated`. Beyond that no price is guessed: one call of
    unknown price makes the total unknown.
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

    def __init__(
        self,
        *,
        token_counter: Callable[[str], int] = estimate_tokens,
        price: Pricer | None = None,
        on_spent: SpentListener | None = None,
    ) -> None:
        """`on_spent` is called after each call with its usage, its model, and the estimate that the usage
        replaces, if it does."""
        super().__init__()
        self._on_spent = on_spent
        self._count_tokens = token_counter
        self._price = price
        self._lock = threading.Lock()
        self._prompts: dict[UUID, Sequence[str] | Sequence[BaseMessage]] = {}
        self._book = SpendingBook()

    def get_usage(self) -> TokenUsage:
        """Return the totals, with the estimates of cut calls that no count has replaced yet."""
        return self.spending().usage

    def spending(self) -> Spending:
        """Return the same, with the part of the price that is known."""
        with self._lock:
            return self._book.total()

    def usage_by_model(self) -> dict[str, TokenUsage]:
        """Return the totals per model, by the name that the answer gave; "" where it gave none."""
        return {model: part.usage for model, part in self.spending_by_model().items()}

    def spending_by_model(self) -> dict[str, Spending]:
        """Return the parts of the whole per model, as `usage_by_model` names them."""
        with self._lock:
            return self._book.by_model()

    def spending_by_turn(self) -> dict[int, Spending]:
        """Return the parts of the whole per turn (`begin_turn`), the oldest first; 0 for calls of none."""
        with self._lock:
            return self._book.by_turn()

    def begin_turn(self, number: int) -> None:
        """Attribute all calls from now on to this turn."""
        with self._lock:
            self._book.turn = number

    def forget_turns(self, after: int = 0) -> None:
        """Attribute what the turns after number `after` have spent to no turn; it stays in the totals."""
        with self._lock:
            self._book.forget_turns(after)

    def priced(self, usage: TokenUsage, model: str) -> TokenUsage:
        """Return `usage`; for an estimate, with a price where the model's prices are known."""
        if not usage.estimated or usage.cost_usd is not None or self._price is None:
            return usage
        return replace(usage, cost_usd=self._price(model, usage))

    def add_estimate(self, usage: TokenUsage, model: str = "") -> None:
        """Add a call that was cut short, whose count may still come (`replace_estimate`)."""
        with self._lock:
            self._book.add_estimate(usage, model)
        self._spent(usage, model)

    def replace_estimate(self, estimate: TokenUsage, counted: TokenUsage, model: str = "") -> None:
        """Replace an estimate by the provider's count; do nothing when it is gone (after a reset)."""
        with self._lock:
            is_found = self._book.replace_estimate(estimate, counted, model)
            if is_found:
                self._set_totals(self._book.counted.usage)
        if is_found:
            self._spent(counted, model, estimate)

    def add_usage(self, usage: TokenUsage, model: str = "") -> None:
        """Add usage that no answer reported; the number of calls stays the same."""
        with self._lock:
            self._book.add(usage, model)
            self._set_totals(self._book.counted.usage)

    def reset(self) -> None:
        """Reset all counters to zero, and the cost to unknown."""
        with self._lock:
            self._book = SpendingBook()
            self._set_totals(TokenUsage())
            self.call_count = 0

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.on_llm_start(serialized, messages[0] if messages else (), **kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: Sequence[str] | Sequence[BaseMessage],
        *,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        if run_id is not None:
            self._prompts[run_id] = prompts

    def on_llm_end(self, response: LLMResult, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        prompt = self._prompts.pop(run_id, ()) if run_id is not None else ()
        model = model_name_of(response)
        usage = counted_usage(response) or self.priced(self._estimate(prompt, response), model)
        self.add_usage(usage, model)
        with self._lock:
            self.call_count += 1
        self._spent(usage, model)

    def on_llm_error(self, error: BaseException, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        if run_id is not None:
            self._prompts.pop(run_id, None)

    def _spent(self, usage: TokenUsage, model: str, replaced: TokenUsage | None = None) -> None:
        if self._on_spent is not None:
            self._on_spent(usage, model, replaced)

    def _set_totals(self, total: TokenUsage) -> None:
        for name in TOKEN_COUNTS:
            setattr(self, f"total_{name}", getattr(total, name))
        self.total_cost_usd, self.has_estimates = total.cost_usd, total.estimated

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
