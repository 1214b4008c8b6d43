"""Tokens and cost in LangChain's messages and results, as `TokenUsage`."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from forge_core.llm.http.wire import read_decimal, read_usage
from forge_core.llm.models import TokenUsage


def answer_of(response: LLMResult) -> Generation | None:
    """Return the first answer of the first prompt; None in an empty result."""
    if not response.generations or not response.generations[0]:
        return None
    first = response.generations[0][0]
    return first if isinstance(first, Generation) else None


def message_of(response: LLMResult) -> AIMessage | None:
    """Return the chat message of the answer; None for text completions."""
    answer = answer_of(response)
    if isinstance(answer, ChatGeneration) and isinstance(answer.message, AIMessage):
        return answer.message
    return None


def model_name_of(response: LLMResult) -> str:
    """Return the model that answered, as it named itself; empty when it did not."""
    message = message_of(response)
    metadata = message.response_metadata if message is not None else {}
    output = response.llm_output or {}
    for source in (metadata, output):
        for key in ("model_name", "model"):
            if source.get(key):
                return str(source[key])
    return ""


def counted_usage(response: LLMResult) -> TokenUsage | None:
    """Return the provider's count: from the message, else from `llm_output`; None when it sent none."""
    message = message_of(response)
    usage = message_usage(message) if message is not None else None
    return usage or _output_usage(response.llm_output or {})


def message_usage(message: AIMessage) -> TokenUsage | None:
    """Return the usage that a message carries; its cost is `response_metadata["cost"]`, None where unknown.

    An answer out of LangChain's cache says `total_cost: 0` and cost nothing.
    """
    counted: Mapping[str, Any] | None = message.usage_metadata
    if counted is None:
        return None
    given, made = _mapping(counted, "input_token_details"), _mapping(counted, "output_token_details")
    is_cache_hit = counted.get("total_cost") == 0
    return TokenUsage(
        prompt_tokens=_count(counted, "input_tokens"),
        completion_tokens=_count(counted, "output_tokens"),
        cached_tokens=_count(given, "cache_read"),
        cache_write_tokens=_count(given, "cache_creation"),
        reasoning_tokens=_count(made, "reasoning"),
        audio_input_tokens=_count(given, "audio"),
        audio_output_tokens=_count(made, "audio"),
        cost_usd=Decimal(0) if is_cache_hit else read_decimal(message.response_metadata.get("cost")),
        estimated=bool(message.response_metadata.get("usage_estimated")),
    )


def _output_usage(output: Mapping[str, Any]) -> TokenUsage | None:
    """Return OpenAI's counts, also with the newer names, under either of LangChain's keys."""
    counted = _mapping(output, "token_usage") or _mapping(output, "usage")
    if not counted:
        return None
    sent = counted.get("prompt_tokens") or counted.get("input_tokens")
    received = counted.get("completion_tokens") or counted.get("output_tokens")
    return read_usage({**counted, "prompt_tokens": sent, "completion_tokens": received})


def _mapping(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = source.get(key)
    return value if isinstance(value, Mapping) else {}


def _count(source: Mapping[str, Any], key: str) -> int:
    """Return a token count; some providers send floats or null."""
    value = source.get(key)
    return int(value) if isinstance(value, int | float) and value == value and value > 0 else 0
