"""Figures as people read them: tokens, dollars, shares. Light: the first frame needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.llm.tokens import estimate_tokens as estimate_tokens

if TYPE_CHECKING:
    from decimal import Decimal

_DIGITS = ((1, 2), (0.01, 3), (0.001, 4), (0.0001, 5))
"""From this price on, so many digits: at least two that say something."""
_MOST_DIGITS = 6
_UNPRICED = ("offline", "local", "")
"""Providers that take no money; "" is none yet."""


def tokens_text(count: int) -> str:
    """ "812", "12.4k", "1.2M"."""
    if count < 1000:
        return str(count)
    if count < 999_950:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def window_text(size: int | None) -> str:
    """Return a window's size: "200k", "1M", "131.1k"; "?" where unknown."""
    return "?" if not size else tokens_text(size).replace(".0", "")


def dollars(usd: Decimal, digits: int | None = None) -> str:
    """ "$1.24", "$0.031", "$0.00042"; or with exactly `digits`, "<$0.0001" for what these can't show."""
    if digits is None:
        digits = next((few for price, few in _DIGITS if usd >= price), _MOST_DIGITS) if usd else 2
    text = f"{usd:.{digits}f}"
    return f"<${10**-digits:.{digits}f}" if usd > 0 and not text.strip("0.") else f"${text}"


def cost_text(
    cost_usd: Decimal | None,
    known_usd: Decimal | None,
    provider: str,
    *,
    is_estimate: bool = False,
    digits: int | None = None,
) -> str:
    """What calls have cost: dollars, "~" before an estimate; "?" where no price is known, "$0.03+?" where one
    is not; "offline" and "local" unless the answers came with a price."""
    known = known_usd if cost_usd is None else cost_usd
    if provider in _UNPRICED and not known:
        return provider
    if known is None:
        return "?"
    more = "+?" if cost_usd is None else ""
    return f"{'~' if is_estimate else ''}{dollars(known, digits)}{more}"


def session_cost_text(cost_usd: Decimal | None, provider: str) -> str:
    """Return what a saved session has cost: "offline" for the offline model, "" where no price is known."""
    if provider == "offline":
        return provider
    return "" if cost_usd is None else dollars(cost_usd)


def percent_text(part: float, whole: float) -> str:
    """ "6%", "<1%" for less than one, "0%" for nothing. At most 100."""
    share = min(100 * part / whole, 100) if whole else 0
    return "<1%" if 0 < share < 1 else f"{share:.0f}%"


def share_text(part: float, whole: float) -> str:
    """Return the same with a decimal, for tables: "6.2%", "<0.1%", "0%", "100%"."""
    share = min(100 * part / whole, 100) if whole else 0
    if share in (0, 100):
        return f"{share:.0f}%"
    return "<0.1%" if share < 0.1 else f"{share:.1f}%"
