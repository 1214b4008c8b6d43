"""Tokens of sound: counted apart from the wire to the totals, and never given a guessed price."""

from __future__ import annotations

from decimal import Decimal

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from forge_core.langchain import TokenTrackingCallback
from forge_core.langchain.model.responses import to_usage_metadata
from forge_core.llm.account.pricing import ModelPrices, price
from forge_core.llm.http.wire import read_usage
from forge_core.llm.models import TokenUsage

WIRE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "prompt_tokens_details": {"audio_tokens": 60},
    "completion_tokens_details": {"audio_tokens": 15.0},
}
USAGE = TokenUsage(100, 20, audio_input_tokens=60, audio_output_tokens=15)


def test_audio_tokens_are_read_and_converted_to_langchain_metadata() -> None:
    assert read_usage(WIRE) == USAGE
    metadata = to_usage_metadata(USAGE)
    assert metadata is not None
    assert metadata["input_token_details"]["audio"] == 60
    assert metadata["output_token_details"]["audio"] == 15
    silent = to_usage_metadata(TokenUsage(1, 1))
    assert silent is not None
    assert "audio" not in silent["input_token_details"]


def test_the_tracker_sums_audio_tokens_from_messages_and_plain_results() -> None:
    tracker = TokenTrackingCallback()
    message = AIMessage("la", usage_metadata=to_usage_metadata(USAGE))
    tracker.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]))
    tracker.on_llm_end(LLMResult(generations=[[]], llm_output={"token_usage": WIRE}))
    assert (tracker.total_audio_input_tokens, tracker.total_audio_output_tokens) == (120, 30)
    assert tracker.get_usage().as_dict()["audio_input_tokens"] == 120
    tracker.reset()
    assert tracker.get_usage() == TokenUsage()


def test_the_price_of_audio_tokens_comes_from_the_provider_or_is_unknown() -> None:
    prices = ModelPrices(prompt=Decimal(1), completion=Decimal(1))
    assert price(USAGE, prices) is None
    assert price(TokenUsage(1, 0, audio_input_tokens=1, cost_usd=Decimal("0.1")), prices) == Decimal("0.1")
