"""Events read back from a journal's records.

Fields that a record does not have get their defaults, and fields that no event has are ignored, so journals
of earlier versions can be shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from forge_core.approval import ToolKind
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Compaction,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    Retry,
    Subject,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.llm.models import TOKEN_COUNTS, Message, MessageRole, TokenUsage, ToolCall
from forge_core.result import AgentResult, FileDiff, Omission
from forge_core.workspace.record_file import Record

_CLASSES: dict[str, type[AgentEvent]] = {
    str(one.type): one
    for one in (
        LLMStart, LLMChunk, LLMEnd, ToolStart, ToolProgress, ToolEnd, Permission, Compaction, Notice, Error,
        AgentEnd,
    )
}  # fmt: skip
_REQUIRED: dict[str, Any] = {
    "usage": TokenUsage(),
    "total_usage": TokenUsage(),
    "cost_usd": None,
    "finish_reason": None,
    "arguments": {},
    "success": False,
    "recoverable": False,
    "iteration": 0,
    "duration_s": 0.0,
    "before": 0,
    "after": 0,
    "decision": "deny",
    "by": "policy",
    "level": "info",
}
"""The values of fields without a default that a damaged record may lack; the others are empty texts."""


def event_of(record: Record) -> AgentEvent | None:
    """Return the event of a record; None when the record is of another kind, or unusable."""
    event_class, data = _CLASSES.get(str(record.get("type"))), record.get("data")
    if event_class is None or not isinstance(data, dict):
        return None
    if event_class is Notice and "attempt" in data:
        event_class = Retry
    decoders = _DECODERS | _SPECIAL.get(event_class, {})
    values: dict[str, Any] = {}
    try:
        for field in dataclasses.fields(event_class):
            if field.name in data:
                decode = decoders.get(field.name) or partial(_plain, str(field.type))
                values[field.name] = decode(data[field.name])
            elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                values[field.name] = _REQUIRED.get(field.name, "")
        values["timestamp"] = float(record.get("timestamp") or 0.0)
        return event_class(**values)
    except (KeyError, TypeError, ValueError, InvalidOperation, AttributeError):
        return None


def message_of(data: Mapping[str, Any]) -> Message | None:
    """Return the message of a `message` record's data; None when it is unusable."""
    try:
        calls = [
            ToolCall(str(call["id"]), {key: str(text) for key, text in call["function"].items()})
            for call in data.get("tool_calls") or ()
        ]
        return Message(
            MessageRole(data["role"]),
            data.get("content"),
            tool_calls=calls or None,
            tool_call_id=data.get("tool_call_id"),
            name=data.get("name"),
            extra=dict(data.get("extra") or {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def usage_of(data: Any) -> TokenUsage:
    """Return the usage of a record; figures that are missing or unusable count as 0."""
    if not isinstance(data, dict):
        return TokenUsage()
    counts = {name: data.get(name) for name in TOKEN_COUNTS}
    return TokenUsage(
        **{name: count if isinstance(count, int) else 0 for name, count in counts.items()},
        cost_usd=_decimal(data.get("cost_usd")),
        estimated=bool(data.get("estimated")),
    )


def _plain(annotation: str, value: Any) -> Any:
    """Return a field's value as it is. Raises ValueError when the field cannot hold it."""
    expected = _PLAIN.get(annotation, str)
    if not isinstance(value, expected) and not (value is None and "None" in annotation):
        raise ValueError(value)
    return value


def _decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _subject(data: Any) -> Subject | None:
    return Subject(**{name: str(data[name]) for name in ("verb", "noun", "key", "name")}) if data else None


def _diffs(data: Any) -> tuple[FileDiff, ...]:
    return tuple(
        FileDiff(str(one["path"]), str(one["diff"]), int(one["added"]), int(one["removed"]))
        for one in data or ()
    )


def _omission(data: Any) -> Omission | None:
    return Omission(str(data["line"]), int(data["lines"]), str(data.get("kept_in", ""))) if data else None


def _texts(data: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in data or ())


def _kind(value: Any) -> ToolKind:
    return ToolKind(value) if value in set(ToolKind) else ToolKind.OTHER


def _method(value: Any) -> str:
    return value if value in ("elided", "removed") else "summarised"


def _result(data: Any) -> AgentResult:
    """Return the end of a run; its messages and calls are records of their own."""
    return AgentResult(
        output=str(data.get("output") or ""),
        messages=[],
        tool_calls=[],
        usage=usage_of(data.get("usage")),
        iterations=int(data.get("iterations") or 0),
        duration=float(data.get("duration") or 0.0),
        stopped_reason=data.get("stopped_reason") or "complete",
        error=_plain("str | None", data.get("error")),
        warning=_plain("str | None", data.get("warning")),
        finish_reason=_plain("str | None", data.get("finish_reason")),
    )


_PLAIN: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": int | float,
    "Mapping[str, Any]": dict,
}
"""Annotation → type; all others are texts."""
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "usage": usage_of,
    "total_usage": usage_of,
    "cost_usd": _decimal,
    "subject": _subject,
    "diffs": _diffs,
    "omission": _omission,
    "pinned": _texts,
    "added": _texts,
    "model_notes": _texts,
}
_SPECIAL: dict[type[AgentEvent], dict[str, Callable[[Any], Any]]] = {
    ToolStart: {"kind": _kind},
    AgentEnd: {"result": _result},
    Compaction: {"method": _method},
}
