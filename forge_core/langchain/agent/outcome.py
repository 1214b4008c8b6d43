"""What a settled answer means for the run: its usage and cost, its model, why it ended."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from forge_core.langchain.agent.turn import ModelCall
from forge_core.langchain.callbacks.usage import message_usage
from forge_core.llm.models import TokenUsage
from forge_core.llm.tokens import estimate_tokens
from forge_core.result import StoppedReason

_REASONS: dict[str, StoppedReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


def stopped_reason_for(finish_reason: str | None) -> StoppedReason:
    """What an answer without tool calls means for the run. Unknown words count as complete."""
    return _REASONS.get(finish_reason or "", "complete")


def finish_reason_of(message: AIMessage) -> str | None:
    metadata = message.response_metadata
    reason = metadata.get("finish_reason") or metadata.get("stop_reason")
    return None if reason is None else str(reason)


def model_of(message: AIMessage | None) -> str:
    """The model that answered, as it named itself; empty when it didn't."""
    if message is None:
        return ""
    return str(message.response_metadata.get("model_name") or "")


def usage_of(message: AIMessage | None, history: Sequence[BaseMessage], call: ModelCall) -> TokenUsage:
    """The provider's count, or an estimate that says it is one; nothing where the request was turned down."""
    if call.is_refused:
        return TokenUsage()
    counted = message_usage(message) if message is not None else None
    return counted or TokenUsage(
        prompt_tokens=sum(estimate_tokens(entry.text) for entry in history),
        completion_tokens=estimate_tokens(call.text) + estimate_tokens(call.reasoning),
        estimated=True,
    )
