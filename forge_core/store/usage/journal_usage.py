"""What one journal says of the calls that a session has made, read as far as it has been written.

Each model call counts where it is read first: a copy in another journal has the same time, model and tokens.
So the copies that forks and sub-agents make are counted once, whichever journals are left. A bill replaces
the estimate of the call that it is for. An end without figures, which a hard cancel leaves, is no call.
"""

from __future__ import annotations

import dataclasses
import hashlib
import operator
import re
from array import array
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from forge_core.approval import ToolKind
from forge_core.llm.models import TokenUsage
from forge_core.store.event_records import usage_of
from forge_core.store.journal import is_time, usable_record
from forge_core.store.usage.usage_figures import CallFigures, CallKey, ToolFigures, ToolKey, Usage
from forge_core.workspace.record_file import Record, decoded_record

_READ = re.compile(rb'"type":\s?"(?:session|resume|state|llm_end|bill|tool_start|tool_end)"')
"""In the line of a record that matters; decoding all others would take most of the time."""
_FREE = frozenset({"offline", "local"})
"""The kinds of endpoints whose calls cost nothing unless they report a price."""


@dataclass(slots=True)
class _CutCall:
    """A call that counts with an estimate until its bill is read."""

    key: CallKey
    figures: CallFigures


@dataclass(slots=True)
class JournalUsage:
    """The sums of one journal, and what is needed to continue reading it."""

    calls: dict[CallKey, CallFigures] = field(default_factory=dict)
    tools: dict[ToolKey, ToolFigures] = field(default_factory=dict)
    claimed: array[int] = field(default_factory=lambda: array("Q"))
    """The marks of the calls that count in this journal."""
    project: str = ""
    provider: str = ""
    """The kind of endpoint in use."""
    time: float = 0.0
    """Of the last record, in seconds since the epoch."""
    _cut: dict[str, _CutCall] = field(default_factory=dict)
    """By the time of the call's end."""
    _open: set[str] = field(default_factory=set)
    """The ids of the tool calls that have started and count here."""

    def read(self, lines: Iterable[bytes], taken: set[int]) -> None:
        """Add the records of these lines; `taken` holds the marks of all calls that count, here or
        elsewhere, and gets those that are new."""
        for line in lines:
            if _READ.search(line) and (record := usable_record(decoded_record(line))) is not None:
                self._add(record, taken)

    def forget_project(self) -> None:
        """Keep only figures, of a session that was deleted."""
        calls, self.calls, tools, self.tools = self.calls, {}, self.tools, {}
        for key, figures in calls.items():
            self._count_call(key._replace(project=""), figures)
        for tool_key, tool_figures in tools.items():
            self._count_tool(tool_key._replace(project=""), tool_figures)
        self.project = ""
        self._cut.clear()
        self._open.clear()

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {
            "calls": [[*key, *_row(figures)] for key, figures in self.calls.items()],
            "tools": [
                [*key, one.calls, one.failed, round(one.seconds, 3), one.result_chars]
                for key, one in self.tools.items()
            ],
            "claimed": b2a_base64(self.claimed.tobytes(), newline=False).decode(),
            "at": [self.project, self.provider, self.time],
            "cut": {at: [*cut.key, *_row(cut.figures)] for at, cut in self._cut.items()},
            "open": sorted(self._open),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JournalUsage:
        """Return what `as_json` was called on.

        Raises:
            LookupError, TypeError, ValueError, ArithmeticError: `data` is something else.
        """
        project, provider, time = data["at"]
        return cls(
            {CallKey(*row[:3]): _figures(row[3:]) for row in data["calls"]},
            {ToolKey(*row[:3]): ToolFigures(*row[3:]) for row in data["tools"]},
            marks_of(data),
            str(project),
            str(provider),
            float(time),
            {at: _CutCall(CallKey(*row[:3]), _figures(row[3:])) for at, row in data["cut"].items()},
            set(data["open"]),
        )

    def _add(self, record: Record, taken: set[int]) -> None:
        data, at = record["data"], float(record["timestamp"])
        self.time = at or self.time
        match record["type"]:
            case "session" | "resume" | "state":
                self.project = str(data.get("project") or data.get("working_dir", self.project))
                self.provider = str(data.get("provider", self.provider))
            case "llm_end":
                self._model_call(at, data, taken)
            case "bill":
                self._bill(data)
            case "tool_start":
                call, kind = (str(data.get("call_id", "")), str(data.get("name", ""))), data.get("kind")
                if kind != ToolKind.USER and self._claims(("tool", at, *call), taken):
                    self._open.add(call[0])
            case "tool_end":
                self._tool_end(data)

    def _model_call(self, at: float, data: dict[str, Any], taken: set[int]) -> None:
        usage, model = usage_of(data.get("usage")), str(data.get("model", ""))
        if not usage.total_tokens and usage.cost_usd is None:
            return
        if not self._claims(("call", at, model, usage.prompt_tokens, usage.completion_tokens), taken):
            return
        key, figures = CallKey(self._day, self.project, model), self._figures_of(usage)
        self._count_call(key, figures)
        if usage.estimated:
            self._cut[repr(at)] = _CutCall(key, figures)

    def _bill(self, data: dict[str, Any]) -> None:
        of = data.get("of")
        cut = self._cut.pop(repr(float(of)), None) if is_time(of) else None
        if cut is not None:
            self._count_call(cut.key, -cut.figures)
            self._count_call(cut.key, self._figures_of(usage_of(data.get("usage"))))

    def _tool_end(self, data: dict[str, Any]) -> None:
        call_id = str(data.get("call_id", ""))
        if call_id not in self._open:
            return
        self._open.remove(call_id)
        seconds, has_failed = data.get("duration_s"), data.get("success") is not True
        figures = ToolFigures(
            1,
            int(has_failed),
            float(seconds) if is_time(seconds) else 0.0,
            len(str(data.get("result", ""))),
        )
        self._count_tool(ToolKey(self._day, self.project, str(data.get("name", ""))), figures)

    @property
    def _day(self) -> str:
        return date.fromtimestamp(self.time).isoformat()

    def _figures_of(self, usage: TokenUsage) -> CallFigures:
        return CallFigures.of(usage, is_free=self.provider in _FREE)

    def _claims(self, call: tuple[object, ...], taken: set[int]) -> bool:
        """Return whether a call counts here: it was read nowhere else."""
        mark = int.from_bytes(hashlib.blake2b(repr(call).encode("utf-8", "replace"), digest_size=8).digest())
        if mark in taken:
            return False
        taken.add(mark)
        self.claimed.append(mark)
        return True

    def _count_call(self, key: CallKey, figures: CallFigures) -> None:
        self.calls[key] = self.calls.get(key, CallFigures()) + figures

    def _count_tool(self, key: ToolKey, figures: ToolFigures) -> None:
        self.tools[key] = self.tools.get(key, ToolFigures()) + figures


def marks_of(data: Mapping[str, Any]) -> array[int]:
    """Return the marks of the calls that count in a journal, from what `as_json` returned."""
    marks = array("Q")
    marks.frombytes(a2b_base64(data["claimed"]))
    return marks


def sum_of(journals: Iterable[Mapping[str, Any]]) -> Usage:
    """Return the sum of what `as_json` returned for some journals. One that has not changed need not be read
    into a `JournalUsage` for it, which takes four times as long.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError: a journal is something else.
    """
    calls: dict[CallKey, list[Any]] = {}
    tools: dict[ToolKey, list[Any]] = {}
    for journal in journals:
        for day, project, model, *row in journal["calls"]:
            row[_USD] = Decimal(row[_USD])
            found = calls.setdefault(CallKey(day, project, model), row)
            if found is not row:
                found[:] = map(operator.add, found, row)
        for day, project, tool, *row in journal["tools"]:
            found = tools.setdefault(ToolKey(day, project, tool), row)
            if found is not row:
                found[:] = map(operator.add, found, row)
    return Usage(
        {key: CallFigures(*row) for key, row in calls.items()},
        {key: ToolFigures(*row) for key, row in tools.items()},
    )


def _row(figures: CallFigures) -> list[Any]:
    """Return the figures as JSON; the price as a string, so that no digit is lost."""
    row: list[Any] = [getattr(figures, name) for name in _FIGURES]
    row[_USD] = str(figures.known_usd)
    return row


def _figures(row: Sequence[Any]) -> CallFigures:
    numbers = [*row]
    numbers[_USD] = Decimal(row[_USD])
    return CallFigures(*numbers)


_FIGURES = tuple(one.name for one in dataclasses.fields(CallFigures))
_USD = _FIGURES.index("known_usd")
