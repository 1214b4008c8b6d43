"""What the provider reports about a key, its credits, and a finished generation.

`GET /key`, `/credits` (management keys only) and `/generation?id=…` of OpenRouter
(https://openrouter.ai/docs/api/reference/overview); other servers do not have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from forge_core.llm.http.wire import read_decimal, read_usage
from forge_core.llm.models import TokenUsage


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """One key; amounts in US dollars, None where there is no limit or no figure."""

    label: str = ""
    """The key's masked form, as the provider shows it."""
    limit: Decimal | None = None
    limit_remaining: Decimal | None = None
    limit_reset: str | None = None
    """daily, weekly, monthly, or None for never."""
    usage: Decimal | None = None
    usage_daily: Decimal | None = None
    usage_weekly: Decimal | None = None
    usage_monthly: Decimal | None = None
    is_free_tier: bool = False


@dataclass(frozen=True, slots=True)
class Credits:
    """What an account bought and used, in US dollars."""

    total: Decimal
    used: Decimal

    @property
    def remaining(self) -> Decimal:
        return self.total - self.used


@dataclass(frozen=True, slots=True)
class GenerationInfo:
    """One generation as it was billed; the only source of figures after a stream was cut."""

    id: str
    model: str
    provider: str | None
    usage: TokenUsage
    """Counted by the model's own tokenizer, with the cost."""
    finish_reason: str | None
    was_cancelled: bool


def read_key(data: Any) -> KeyInfo:
    """Return the `data` of `GET /key`."""
    data = data if isinstance(data, dict) else {}
    reset = data.get("limit_reset")
    return KeyInfo(
        label=str(data.get("label") or ""),
        limit_reset=reset if isinstance(reset, str) else None,
        is_free_tier=data.get("is_free_tier") is True,
        **{
            name: read_decimal(data.get(name))
            for name in (
                "limit",
                "limit_remaining",
                "usage",
                "usage_daily",
                "usage_weekly",
                "usage_monthly",
            )
        },
    )


def read_credits(data: Any) -> Credits | None:
    """Return the `data` of `GET /credits`; None when a figure is missing."""
    data = data if isinstance(data, dict) else {}
    total, used = read_decimal(data.get("total_credits")), read_decimal(data.get("total_usage"))
    return None if total is None or used is None else Credits(total, used)


def read_generation(data: Any) -> GenerationInfo | None:
    """Return the `data` of `GET /generation`; None for anything else. Native token counts are preferred: they
    are billed."""
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        return None
    counts = read_usage(
        {
            "prompt_tokens": _first(data, "native_tokens_prompt", "tokens_prompt"),
            "completion_tokens": _first(data, "native_tokens_completion", "tokens_completion"),
            "prompt_tokens_details": {"cached_tokens": data.get("native_tokens_cached")},
            "completion_tokens_details": {"reasoning_tokens": data.get("native_tokens_reasoning")},
            "cost": _first(data, "total_cost", "usage"),
        }
    )
    provider, reason = data.get("provider_name"), data.get("finish_reason")
    return GenerationInfo(
        id=data["id"],
        model=str(data.get("model") or ""),
        provider=provider if isinstance(provider, str) else None,
        usage=counts or TokenUsage(),
        finish_reason=reason if isinstance(reason, str) else None,
        was_cancelled=data.get("cancelled") is True,
    )


def _first(data: dict[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)
