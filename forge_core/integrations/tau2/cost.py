"""What a turn cost. tau2 adds up an agent's messages and gives no sum at all when one of them has no cost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from forge_core.llm.models import TokenUsage

_log = logging.getLogger(__name__)
_PER_TOKEN = ("input_cost_per_token", "output_cost_per_token")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars a token."""

    prompt: float
    completion: float

    def of(self, usage: TokenUsage) -> float:
        return usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion


def take_prices(args: dict[str, Any]) -> Prices | None:
    """Return the prices in `args` under LiteLLM's names, taken out of it; None when there are none."""
    given = [args.pop(name, None) for name in _PER_TOKEN]
    if all(value is None for value in given):
        return None
    return Prices(*(float(value or 0.0) for value in given))


def usage_of(usage: TokenUsage) -> dict[str, int]:
    """Return the usage under the two names that tau2 reads."""
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


class CostBook:
    """Prices one agent's turns."""

    def __init__(self, model: str, prices: Prices | None) -> None:
        self._model = model
        self._prices = prices
        self._has_warned = False

    def cost_of(self, usage: TokenUsage) -> tuple[float, str]:
        """Return US dollars and their source: the provider, llm_args, LiteLLM's table, or nobody ("unknown":
        0, as tau2's own agents count it)."""
        if self._prices is not None:
            return self._prices.of(usage), "llm_args"
        if usage.cost_usd is not None:
            return float(usage.cost_usd), "provider"
        listed = _listed_cost(self._model, usage)
        if listed is not None:
            return listed, "litellm"
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "The price of %r is unknown, its turns count as 0 dollars. Give %s in llm_args.",
                self._model,
                " and ".join(_PER_TOKEN),
            )
        return 0.0, "unknown"


def _listed_cost(model: str, usage: TokenUsage) -> float | None:
    """Return the cost by the price table of LiteLLM, which tau2 prices its own agents with. As there,
    "openai/gpt-4.1" is also looked up as "gpt-4.1". Only the table is read: LiteLLM's functions print to
    stdout about a model that is not in it.
    """
    try:
        table: Mapping[str, Mapping[str, Any]] = import_module("litellm").model_cost
    except ImportError:
        return None
    entry = table.get(model) or table.get(model.partition("/")[2]) or {}
    prices = [entry.get(name) for name in _PER_TOKEN]
    if not all(isinstance(price, int | float) for price in prices):
        return None
    return Prices(*prices).of(usage)  # type: ignore[arg-type]  # checked above
