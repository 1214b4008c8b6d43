"""What the model calls of a summary cost, those included that brought no answer.

A provider charges a call that was cancelled, or that failed while the model was at work, but sends no usage
for it. Such a call counts with an estimate of its request, which is marked as one; what the model had written
is unknown and adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage

from forge_core.errors import NEVER_SENT, AuthenticationError, BudgetExceededError, ProviderError
from forge_core.langchain.callbacks import ForgeCallbackHandler, TokenTrackingCallback
from forge_core.llm.models import TokenUsage
from forge_core.llm.tokens import estimate_tokens
from forge_core.session.provider import SessionProvider


class SummaryCalls(ForgeCallbackHandler):
    """Follows the calls of one summary, as a callback of each."""

    def __init__(self, provider: SessionProvider) -> None:
        super().__init__()
        self.answered = TokenTrackingCallback(price=provider.price)
        """Another callback of the calls: the usage of those that were answered."""
        self._open: dict[UUID, int] = {}
        """The tokens of the requests that have not been answered."""

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        self._open[run_id] = sum(estimate_tokens(str(one.text)) for one in _first(messages))

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._open.pop(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if _is_refused(error):
            self._open.pop(run_id, None)

    def take_cut(self, model: str, tracker: TokenTrackingCallback | None) -> TokenUsage:
        """Return the estimate for the calls that have ended without an answer, and add it to `tracker`; no
        tokens where there are none."""
        tokens = sum(self._open.values())
        self._open.clear()
        if not tokens:
            return TokenUsage()
        usage = self.answered.priced(TokenUsage(prompt_tokens=tokens, estimated=True), model)
        if tracker is not None:
            tracker.add_estimate(usage, model)
        return usage


def _first(messages: Sequence[Sequence[BaseMessage]]) -> Sequence[BaseMessage]:
    return messages[0] if messages else ()


def _is_refused(error: BaseException) -> bool:
    """Return whether a call failed before the model was at work: nobody is charged for it."""
    if isinstance(error, BudgetExceededError | AuthenticationError):
        return True
    return isinstance(error, ProviderError) and (error.status is not None or error.error_type in NEVER_SENT)
