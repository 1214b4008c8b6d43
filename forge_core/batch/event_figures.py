"""What a run has used and how it went, read from its events while they are being written."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from forge_core.sanitize import safe_line

_CHUNK_BYTES = 1 << 20
_MAX_LINE_BYTES = 50_000_000
_WITH_FIGURES = re.compile(rb'"type": "(?:llm_start|llm_end|tool_start|notice|error|agent_end)"')
"""The others, most of the lines, are not parsed."""
_HEAD_BYTES = 64
_RATE_LIMIT = "(429)"
"""In the text of a retry: the status that the provider has answered with."""


@dataclass(slots=True)
class RunFigures:
    """The figures of one run so far."""

    cost_usd: Decimal = Decimal(0)
    is_cost_known: bool = True
    """False after a call whose cost is unknown: one without a price, or one that broke."""
    is_price_known: bool = True
    """False after an answer whose cost is unknown."""
    tokens: int = 0
    calls: int = 0
    open_calls: int = 0
    """Calls that have begun and not ended: what they cost is not in `cost_usd` yet."""
    rate_limits: int = 0
    """How often the provider has answered that there were too many requests."""
    error: str = ""
    error_kind: str = ""
    """The class of the provider's error that ended the run."""
    stopped_reason: str = ""
    """Empty until the run has ended."""
    answer: str = ""
    activity: str = "starting"
    """What it does just now: a tool and its target; safe to display."""

    def charged(
        self, reserved_usd: Decimal | None, *, was_killed: bool, may_lack_events: bool = False
    ) -> Decimal:
        """Return what counts as spent. What a killed run's open call has cost cannot be known, nor what its
        last events were if they may not have arrived: then, as with an unknown price, all that was reserved
        counts."""
        is_exact = self.is_cost_known and not (was_killed and (self.open_calls or may_lack_events))
        return self.cost_usd if is_exact or reserved_usd is None else max(self.cost_usd, reserved_usd)


@dataclass(slots=True)
class EventReader:
    """Follows a file of events. Reads only what was added since it was last asked."""

    path: Path
    figures: RunFigures = field(default_factory=RunFigures)
    _position: int = 0
    _rest: bytearray = field(default_factory=bytearray)
    """The beginning of a line that is being written."""

    def read(self) -> RunFigures:
        """Take what was added, and return the figures."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            file.seek(self._position)
            while data := file.read(_CHUNK_BYTES):
                self._position += len(data)
                self._feed(data)
        return self.figures

    def _feed(self, data: bytes) -> None:
        *lines, rest = bytes(self._rest + data).split(b"\n")
        for line in lines:
            if has_figures(line):
                with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    record = json.loads(line)
                    _apply(self.figures, record["type"], record["data"])
        self._rest = bytearray(rest[:_MAX_LINE_BYTES])


def has_figures(line: bytes) -> bool:
    """Return whether a line of events changes the figures."""
    return _WITH_FIGURES.search(line, 0, _HEAD_BYTES) is not None


def _apply(figures: RunFigures, kind: str, data: dict[str, Any]) -> None:
    match kind:
        case "llm_start":
            figures.open_calls += 1
            figures.activity = "waiting for the model"
        case "llm_end":
            figures.open_calls = max(0, figures.open_calls - 1)
            figures.calls += 1
            _take_usage(figures, data)
        case "tool_start":
            figures.activity = safe_line(f"{data['title'] or data['name']} {data['target']}")[:200]
        case "notice":
            figures.rate_limits += _RATE_LIMIT in str(data.get("reason", ""))
        case "error":
            figures.error, figures.error_kind = data["error"], data["kind"]
            figures.rate_limits += data["kind"] == "RateLimitError"
        case "agent_end":
            result = data["result"]
            figures.stopped_reason, figures.answer = result["stopped_reason"], result["output"]
            figures.error = figures.error or result.get("error") or ""


def _take_usage(figures: RunFigures, data: dict[str, Any]) -> None:
    usage, total = data["usage"], data["total_usage"]
    figures.tokens = int(total["total_tokens"])
    if total["cost_usd"] is not None:
        figures.cost_usd, figures.is_cost_known = _amount(total["cost_usd"]), True
        return
    # The total stays unknown after one call whose cost is.
    figures.is_cost_known = False
    if usage["cost_usd"] is not None:
        figures.cost_usd += _amount(usage["cost_usd"])
    elif usage["total_tokens"] and data["finish_reason"] is not None:
        figures.is_price_known = False


def _amount(text: str) -> Decimal:
    """Return an amount. Raises ValueError for what is none."""
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(text) from error
    if not amount.is_finite():
        raise ValueError(text)
    return amount
