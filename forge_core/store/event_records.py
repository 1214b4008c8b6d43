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
    Steered,
    Subject,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.llm.models import TOKEN_COUNTS, Content, Message, MessageRole, TokenUsage, ToolCall
from forge_core.result import AgentResult, FileDiff, Omission
from forge_core.workspace.record_file import Record

_MOST = 10**12
"""Tokens or dollars of one call; a larger number is damage."""
_CLASSES: dict[str, type[AgentEvent]] = {
    str(one.type): one
    for one in (
        LLMStart, LLMChunk, LLMEnd, ToolStart, ToolProgress, ToolEnd, Permission, Steered, Compaction, Notice,
        Error, AgentEnd,
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
    if event_class is AgentEnd:
        data = {"result": {}, **data}
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
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return None


def message_of(data: Mapping[str, Any]) -> Message | None:
    """Return the message of a `message` record's data; None when it is unusable, or no provider takes it."""
    try:
        calls = [_call_of(call) for call in data.get("tool_calls") or ()]
        message = Message(
            MessageRole(data["role"]),
            _content(data.get("content")),
            tool_calls=calls or None,
            tool_call_id=_plain("str | None", data.get("tool_call_id")),
            name=_plain("str | None", data.get("name")),
            extra={
                key: value
                for key, value in dict(data.get("extra") or {}).items()
                if _EXTRA.get(key, _is_anything)(value)
            },
        )
        return message if _is_sendable(message) else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _call_of(data: Any) -> ToolCall:
    """Return a call. Raises ValueError when it has no id or name: no result could answer it."""
    function = data["function"]
    call_id, name = _plain("str", data["id"]), _plain("str", function["name"])
    if not call_id or not name:
        raise ValueError(data)
    return ToolCall(call_id, {"name": name, "arguments": _plain("str", function.get("arguments", ""))})


def _content(value: Any) -> Content:
    """Return a message's content. Raises ValueError when it is neither a text nor a list of parts."""
    if isinstance(value, list) and not all(map(_is_part, value)):
        raise ValueError(value)
    return _plain("list[dict[str, Any]] | str | None", value)  # type: ignore[no-any-return]


def _is_part(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(value["text"], str) if kind == "text" else isinstance(kind, str) and bool(kind)


def _is_sendable(message: Message) -> bool:
    match message.role:
        case MessageRole.SYSTEM:  # is never in a history
            return False
        case MessageRole.ASSISTANT:
            return bool(message.tool_calls) or _has_content(message)
        case MessageRole.TOOL:
            return bool(message.tool_call_id) and message.content is not None
        case _:
            return _has_content(message)


def _has_content(message: Message) -> bool:
    """Return whether there is text, or a part of another kind."""
    content = message.content
    has_media = isinstance(content, list) and any(part["type"] != "text" for part in content)
    return has_media or bool(message.text.strip())


def usage_of(data: Any) -> TokenUsage:
    """Return the usage of a record; figures that are missing or unusable count as 0."""
    if not isinstance(data, dict):
        return TokenUsage()
    counts = {name: data.get(name) for name in TOKEN_COUNTS}
    return TokenUsage(
        **{name: _figure(count) for name, count in counts.items()},
        cost_usd=_price(data.get("cost_usd")),
        estimated=bool(data.get("estimated")),
    )


def _figure(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value <= _MOST else 0


def _price(value: Any) -> Decimal | None:
    """Return a price; None for one that no call has: a single one would spoil every sum."""
    amount = _decimal(value)
    return amount if amount is not None and 0 <= amount <= _MOST else None


def _plain(annotation: str, value: Any) -> Any:
    """Return a field's value as it is. Raises ValueError when the field cannot hold it."""
    expected = _PLAIN.get(annotation, str)
    if not isinstance(value, expected) and not (value is None and "None" in annotation):
        raise ValueError(value)
    return value


def _decimal(value: Any) -> Decimal | None:
    """Return an amount; None when it is unusable, for it is added up with others."""
    try:
        amount = None if value is None else Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount is not None and amount.is_finite() else None


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
        stopped_reason=_plain("str", data.get("stopped_reason") or "complete"),
        error=_plain("str | None", data.get("error")),
        warning=_plain("str | None", data.get("warning")),
        finish_reason=_plain("str | None", data.get("finish_reason")),
        is_resumable=data.get("is_resumable") is True,
    )


def _is_anything(value: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _is_usage(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() >= _USAGE_COUNTS:
        return False
    details = [value.get(name, {}) for name in _USAGE_DETAILS]
    if not all(isinstance(counts, dict) for counts in details):
        return False
    counts = [value[name] for name in _USAGE_COUNTS]
    return all(isinstance(count, int) for count in [*counts, *(n for one in details for n in one.values())])


_USAGE_COUNTS = frozenset({"input_tokens", "output_tokens", "total_tokens"})
_USAGE_DETAILS = frozenset({"input_token_details", "output_token_details"})
_EXTRA: dict[str, Callable[[Any], bool]] = {
    "id": _is_text,
    "status": lambda value: value in ("success", "error"),
    "reasoning": _is_text,
    "reasoning_details": _is_list_of_dicts,
    "annotations": _is_list_of_dicts,
    "images": _is_list_of_dicts,
    "usage": _is_usage,
    "response_metadata": lambda value: isinstance(value, dict),
}
"""Key of a message's `extra` → whether a value can be sent."""
_PLAIN: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": int | float,
    "Mapping[str, Any]": dict,
    "list[dict[str, Any]] | str | None": list | str,
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
