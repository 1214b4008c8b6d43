"""The sums of model calls and of tool calls, by what they are counted under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from forge_core.llm.models import TokenUsage


class CallKey(NamedTuple):
    """What a model call is counted under."""

    day: str
    """Of the local time, as YYYY-MM-DD."""
    project: str
    """The folder of the session; "" for a session that was deleted."""
    model: str


class ToolKey(NamedTuple):
    """What a tool call is counted under."""

    day: str
    project: str
    tool: str


@dataclass(frozen=True, slots=True)
class CallFigures:
    """The sum of some model calls."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    """Of the input, like the next but one of the output."""
    output_tokens: int = 0
    reasoning_tokens: int = 0
    known_usd: Decimal = Decimal(0)
    """Of the calls whose price is known."""
    priced_calls: int = 0
    unpriced_calls: int = 0
    """Those whose price is unknown. The others cost nothing: they went to this machine."""
    estimated_calls: int = 0
    """Those whose figures are estimates."""

    @classmethod
    def of(cls, usage: TokenUsage, *, is_free: bool) -> CallFigures:
        """Return the figures of one call; `is_free`: without a price it costs nothing."""
        is_priced = usage.cost_usd is not None
        return cls(
            1,
            usage.prompt_tokens,
            usage.cached_tokens,
            usage.completion_tokens,
            usage.reasoning_tokens,
            usage.cost_usd or Decimal(0),
            int(is_priced),
            int(not is_priced and not is_free),
            int(usage.estimated),
        )

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost; None where the price of any call is unknown."""
        return None if self.unpriced_calls else self.known_usd

    def __add__(self, other: CallFigures) -> CallFigures:
        return CallFigures(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.known_usd + other.known_usd,
            self.priced_calls + other.priced_calls,
            self.unpriced_calls + other.unpriced_calls,
            self.estimated_calls + other.estimated_calls,
        )

    def __neg__(self) -> CallFigures:
        return CallFigures(
            -self.calls,
            -self.input_tokens,
            -self.cached_tokens,
            -self.output_tokens,
            -self.reasoning_tokens,
            -self.known_usd,
            -self.priced_calls,
            -self.unpriced_calls,
            -self.estimated_calls,
        )


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """The sum of some tool calls."""

    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    """Without the time spent waiting for the user."""
    result_chars: int = 0
    """Characters of the results that the model has read."""

    def __add__(self, other: ToolFigures) -> ToolFigures:
        return ToolFigures(
            self.calls + other.calls,
            self.failed + other.failed,
            self.seconds + other.seconds,
            self.result_chars + other.result_chars,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What all sessions have used."""

    calls: Mapping[CallKey, CallFigures] = field(default_factory=dict)
    tools: Mapping[ToolKey, ToolFigures] = field(default_factory=dict)

    def since(self, day: str) -> Usage:
        """Return the part from a day on, given as YYYY-MM-DD; "" for all of it."""
        calls = {key: figures for key, figures in self.calls.items() if key.day >= day}
        return Usage(calls, {key: figures for key, figures in self.tools.items() if key.day >= day})
