"""What model calls beside the conversation cost, those included that brought no answer.

A provider charges a call that was cancelled, or that failed while the model was at work, but sends no usage
for it. Such a call counts with an estimate of its request and of what the model has written. The estimate is
marked as one, and replaced by the bill where the provider keeps one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage

from forge_core.errors import NEVER_SENT, AuthenticationError, BudgetExceededError, ProviderError
from forge_core.events import LLMEnd
from forge_core.langchain.callbacks import ForgeCallbackHandler, TokenTrackingCallback
from forge_core.langchain.messages.content import LangChainContent, text_of
from forge_core.llm.models import TokenUsage
from forge_core.llm.tokens import estimate_tokens
from forge_core.session.provider import SessionProvider
from forge_core.store.journal import Journal


class SideCalls(ForgeCallbackHandler):
    """Follows the calls for one purpose, such as a summary, as a callback of each."""

    def __init__(self, provider: SessionProvider) -> None:
        super().__init__()
        self.answered = TokenTrackingCallback(price=provider.price)
        """Another callback of the calls: the usage of those that were answered."""
        self._open: dict[UUID, int] = {}
        """The tokens of the requests that have not been answered."""
        self._written: list[str] = []
        """What the model has written since the last answer."""

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        self._open[run_id] = sum(estimate_tokens(str(one.text)) for one in _first(messages))

    def on_llm_new_token(self, token: LangChainContent, **kwargs: Any) -> None:
        self._written.append(text_of(token))

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._open.pop(run_id, None)
        self._written.clear()

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if _is_refused(error):
            self._open.pop(run_id, None)

    def take_cut(self, model: str, tracker: TokenTrackingCallback | None) -> TokenUsage:
        """Return the estimate for the calls that have ended without an answer, and add it to `tracker`; no
        tokens where there are none."""
        tokens, written = sum(self._open.values()), estimate_tokens("".join(self._written))
        self._open.clear()
        self._written.clear()
        if not tokens:
            return TokenUsage()
        usage = TokenUsage(prompt_tokens=tokens, completion_tokens=written, estimated=True)
        usage = self.answered.priced(usage, model)
        if tracker is not None:
            tracker.add_estimate(usage, model)
        return usage

    def record(
        self,
        journal: Journal,
        purpose: str,
        model: str,
        tracker: TokenTrackingCallback | None,
        on_cut: Callable[[LLMEnd], None],
    ) -> TokenUsage:
        """Record what all calls have used, and return the estimate for those without an answer. `on_cut` is
        given the end of such a call, as it was recorded."""

        def write(usage: TokenUsage, model: str) -> float:
            return journal.record("llm_end", {"usage": usage.as_dict(), "model": model, "purpose": purpose})

        for name, usage in self.answered.usage_by_model().items():
            write(usage, name or model)
        if (cut := self.take_cut(model, tracker)).estimated:
            on_cut(
                LLMEnd(
                    usage=cut,
                    cost_usd=cut.cost_usd,
                    finish_reason=None,
                    duration_s=0.0,
                    total_usage=TokenUsage(),
                    model=model,
                    timestamp=write(cut, model),
                )
            )
        return cut


def _first(messages: Sequence[Sequence[BaseMessage]]) -> Sequence[BaseMessage]:
    return messages[0] if messages else ()


def _is_refused(error: BaseException) -> bool:
    """Return whether a call failed before the model was at work: nobody is charged for it."""
    if isinstance(error, BudgetExceededError | AuthenticationError):
        return True
    return isinstance(error, ProviderError) and (error.status is not None or error.error_type in NEVER_SENT)
