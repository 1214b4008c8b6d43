"""What a call costs, in exact decimals. The provider's own figure always comes first; this is for when it
sends none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from forge_core.llm.models import TokenUsage

Pricer = Callable[[str, TokenUsage], "Decimal | None"]
"""(model, usage) → US dollars, None where unknown."""


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """US dollars per token; None where a price is unknown, which is not the same as free."""

    prompt: Decimal | None = None
    completion: Decimal | None = None
    cache_read: Decimal | None = None
    """None: cached tokens are priced like other prompt tokens."""
    cache_write: Decimal | None = None
    """None: like other prompt tokens."""
    reasoning: Decimal | None = None
    """None: like other completion tokens."""
    request: Decimal | None = None
    """Per request, on top."""


@dataclass(frozen=True, slots=True)
class InputPrices:
    """US dollars for one token that a model reads; None where unknown."""

    uncached: Decimal | None = None
    cached: Decimal | None = None


UNKNOWN_PRICES = InputPrices()


def input_prices(pricer: Pricer, model: str) -> InputPrices:
    """Return the prices of a model's input, without a price per request."""
    count = 1_000_000
    base = pricer(model, TokenUsage()) or Decimal(0)
    whole = pricer(model, TokenUsage(prompt_tokens=count))
    cached = pricer(model, TokenUsage(prompt_tokens=count, cached_tokens=count))
    return InputPrices(*(None if cost is None else (cost - base) / count for cost in (whole, cached)))


def price(usage: TokenUsage, prices: ModelPrices | None) -> Decimal | None:
    """US dollars for `usage`: the provider's figure if it carries one, else counts times prices.

    None when a price that is needed is unknown, as those of audio tokens always are. Counts that contradict
    each other (more cached tokens than prompt tokens) are held within their whole.
    """
    if usage.cost_usd is not None:
        return usage.cost_usd
    if prices is None or usage.audio_input_tokens or usage.audio_output_tokens:
        return None
    # Cached and written tokens are subsets of the prompt, reasoning of the completion: each is priced once.
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(usage.cache_write_tokens, usage.prompt_tokens - cached)
    reasoning = min(usage.reasoning_tokens, usage.completion_tokens)
    parts = (
        (usage.prompt_tokens - cached - written, prices.prompt),
        (cached, _first_known(prices.cache_read, prices.prompt)),
        (written, _first_known(prices.cache_write, prices.prompt)),
        (usage.completion_tokens - reasoning, prices.completion),
        (reasoning, _first_known(prices.reasoning, prices.completion)),
    )
    total = prices.request or Decimal(0)
    for tokens, per_token in parts:
        if tokens == 0:
            continue
        if per_token is None:
            return None
        total += tokens * per_token
    return total


def _first_known(*prices: Decimal | None) -> Decimal | None:
    return next((found for found in prices if found is not None), None)
