"""Shortening old messages without a model.

Long tool output, long arguments, pictures and files are replaced by a note that says what is missing;
reasoning is removed. What the user and the model wrote is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from forge_core.context.ledger import Composition, Item, Kind, call_name
from forge_core.images.image_reference import part_name
from forge_core.llm.models import Message, MessageRole, ToolCall
from forge_core.tools.output import elision_note

KEPT_CHARS = 400
"""Outputs and arguments up to this length are kept."""
_REASONING = ("reasoning", "reasoning_details")


def elided(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, shortened ones as copies; those that are short already are the same objects.

    Each call keeps its result and its id.
    """
    calls = {call.id: call for message in messages for call in message.tool_calls or ()}
    return [_shortened(message, calls) for message in messages]


def droppable(composition: Composition, count: int) -> list[Item]:
    """Return the largest items that can be left out, largest first: instruction files, and messages with long
    parts."""
    return list(islice(filter(is_droppable, composition.largest(len(composition.items))), count))


def is_droppable(item: Item) -> bool:
    """Return whether an item is an instruction file, or a message with long parts."""
    if item.message is None:
        return item.kind is Kind.INSTRUCTIONS
    return _shortened(item.message, {}) is not item.message


def _shortened(message: Message, calls: dict[str, ToolCall]) -> Message:
    match message.role:
        case MessageRole.TOOL:
            return _result(message, calls.get(message.tool_call_id or ""))
        case MessageRole.ASSISTANT:
            return _answer(message)
        case MessageRole.USER:
            return _without_media(message)
        case _:
            return message


def _result(message: Message, call: ToolCall | None) -> Message:
    size = len(message.text)
    if size <= KEPT_CHARS and not isinstance(message.content, list):
        return message
    note = f"{elision_note(size)} It was the result of: {call_name(call, message)}. Run it again if needed."
    return replace(message, content=note)


def _answer(message: Message) -> Message:
    calls = [_short_call(call) for call in message.tool_calls or ()]
    extra = {key: value for key, value in message.extra.items() if key not in _REASONING}
    if calls == (message.tool_calls or []) and len(extra) == len(message.extra):
        return _without_media(message)
    return _without_media(replace(message, tool_calls=calls or None, extra=extra))


def _without_media(message: Message) -> Message:
    if not isinstance(message.content, list) or all(part.get("type") == "text" for part in message.content):
        return message
    parts = [
        part if part.get("type") == "text" else {"type": "text", "text": _media_note(part)}
        for part in message.content
    ]
    return replace(message, content=parts)


def _media_note(part: Mapping[str, Any]) -> str:
    return f"[{part_name(part)} was left out to save context]"


def _short_call(call: ToolCall) -> ToolCall:
    if len(call.arguments) <= KEPT_CHARS:
        return call
    try:
        arguments: Any = _short_value(json.loads(call.arguments, strict=False))
    except (ValueError, RecursionError):
        arguments = {"arguments": elision_note(len(call.arguments))}
    return ToolCall(
        call.id, {**call.function, "arguments": json.dumps(arguments, ensure_ascii=False)}, call.type
    )


def _short_value(value: Any) -> Any:
    match value:
        case str() if len(value) > KEPT_CHARS:
            return elision_note(len(value))
        case dict():
            return {key: _short_value(item) for key, item in value.items()}
        case list():
            return [_short_value(item) for item in value]
        case _:
            return value
