"""A report of usage: the sums of the model calls by day, model or project, or of the tool calls by tool or
server, and the same for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeVar

from forge_core.config.usage_by import UsageBy
from forge_core.permissions.rules.rule import SERVER_PREFIX
from forge_core.store.usage.usage_figures import CallFigures, CallKey, ToolFigures, ToolKey, Usage

BUILT_IN = "(built in)"
"""In place of the server of Forge's own tools."""
_SPAN = re.compile(r"([1-9][0-9]{0,4})([dw])")
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")
Key = TypeVar("Key", CallKey, ToolKey)
Figures = TypeVar("Figures", CallFigures, ToolFigures)

_CALL_NAMES: dict[UsageBy, Callable[[CallKey], str]] = {
    UsageBy.DAY: lambda key: key.day,
    UsageBy.MODEL: lambda key: key.model,
    UsageBy.PROJECT: lambda key: key.project,
}
_TOOL_NAMES: dict[UsageBy, Callable[[ToolKey], str]] = {
    UsageBy.TOOL: lambda key: key.tool,
    UsageBy.SERVER: lambda key: server_of(key.tool),
}


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The sums of some days. Days come in order, all else by cost, tokens or calls, the most first."""

    by: UsageBy
    since: str
    """The first day, as YYYY-MM-DD; "" for all."""
    calls: Mapping[str, CallFigures]
    """By name; empty for a report of tools."""
    tools: Mapping[str, ToolFigures]
    total: CallFigures
    """Of all model calls, also in a report of tools."""

    @classmethod
    def of(cls, usage: Usage, by: UsageBy, since: str = "") -> UsageReport:
        """Return the report of what was used from a day on."""
        part, by_call, by_tool = usage.since(since), _CALL_NAMES.get(by), _TOOL_NAMES.get(by)
        calls = {} if by_call is None else _grouped(part.calls, by_call, CallFigures())
        tools = {} if by_tool is None else _grouped(part.tools, by_tool, ToolFigures())
        if by is UsageBy.DAY:
            calls = dict(sorted(calls.items()))
        else:
            calls = dict(sorted(calls.items(), key=lambda one: _weight(one[1]), reverse=True))
        tools = dict(sorted(tools.items(), key=lambda one: one[1].calls, reverse=True))
        return cls(by, since, calls, tools, sum(part.calls.values(), CallFigures()))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row of JSON values for each name; all have the same members."""
        calls = [{str(self.by): name, **_call_values(one)} for name, one in self.calls.items()]
        tools = [{str(self.by): name, **_tool_values(one)} for name, one in self.tools.items()]
        return calls or tools

    def columns(self) -> list[str]:
        """Return the names of the members of a row."""
        values = _tool_values(ToolFigures()) if self.by in _TOOL_NAMES else _call_values(CallFigures())
        return [str(self.by), *values]

    def as_dict(self) -> dict[str, Any]:
        """Return the report JSON-ready."""
        total = _call_values(self.total)
        return {"by": str(self.by), "since": self.since or None, "rows": self.rows(), "total": total}


def server_of(tool: str) -> str:
    """Return the MCP server of a tool, by the name of the tool."""
    return tool.removeprefix(SERVER_PREFIX).partition("__")[0] if tool.startswith(SERVER_PREFIX) else BUILT_IN


def first_day(text: str, today: date) -> str:
    """Return the day, as YYYY-MM-DD, that a user means: a day, a month (2026-11), or the last days or weeks
    (30d, 4w), today included.

    Raises:
        ValueError: it is none of these; the text completes "it must be …".
    """
    try:
        if (span := _SPAN.fullmatch(text)) is not None:
            days = int(span[1]) * (7 if span[2] == "w" else 1)
            return (today - timedelta(days=days - 1)).isoformat()
        return date.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text).isoformat()
    except (ValueError, OverflowError):
        raise ValueError("a day (2026-11-01), a month (2026-11), or a number of days (30d)") from None


def _grouped(
    parts: Mapping[Key, Figures], name_of: Callable[[Key], str], nothing: Figures
) -> dict[str, Figures]:
    sums: dict[str, Figures] = {}
    for key, figures in parts.items():
        name = name_of(key)
        sums[name] = sums.get(name, nothing) + figures
    return sums


def _weight(figures: CallFigures) -> tuple[Any, ...]:
    return figures.known_usd, figures.total_tokens


def _call_values(figures: CallFigures) -> dict[str, Any]:
    cost = figures.cost_usd
    return {
        "calls": figures.calls,
        "input_tokens": figures.input_tokens,
        "cached_tokens": figures.cached_tokens,
        "output_tokens": figures.output_tokens,
        "reasoning_tokens": figures.reasoning_tokens,
        "cost_usd": None if cost is None else f"{cost:f}",
        "known_usd": f"{figures.known_usd:f}",
        "unpriced_calls": figures.unpriced_calls,
        "estimated_calls": figures.estimated_calls,
    }


def _tool_values(figures: ToolFigures) -> dict[str, Any]:
    return {
        "calls": figures.calls,
        "failed": figures.failed,
        "seconds": round(figures.seconds, 3),
        "result_chars": figures.result_chars,
    }
