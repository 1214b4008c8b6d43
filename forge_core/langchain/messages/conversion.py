"""Converting messages between LangChain and Forge without losing what a provider needs back.

Ids, names, invalid tool calls with their raw text, reasoning blocks with signatures, usage, metadata and
media survive a round trip. What has no field of its own is in `Message.extra`, all of it JSON-ready. A
tool result's `artifact` is not carried: it may be any object and never goes to a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages import ToolCall as LangChainToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from forge_core.langchain.messages.content import reasoning_of, to_wire
from forge_core.llm.http.wire import new_call_id
from forge_core.llm.models import Message, MessageRole, ToolCall

_OWN = "forge"
"""Key in `additional_kwargs` under which extras without a LangChain field travel."""
_AI_KEPT = ("reasoning_details", "refusal", "annotations", "images")


MAX_DEPTH = 100
"""How deep the arguments of a tool call may nest."""


def langchain_to_forge(message: BaseMessage) -> Message:
    """Return the Forge message for a LangChain one. Raise ValueError for kinds that have no role in the
    protocol (ChatMessage, FunctionMessage, RemoveMessage)."""
    extra = _common_extra(message)
    content = to_wire(cast("str | list[str | dict[str, Any]]", message.content))
    match message:
        case SystemMessage():
            return Message(MessageRole.SYSTEM, content, name=message.name, extra=extra)
        case HumanMessage():
            return Message(MessageRole.USER, content, name=message.name, extra=extra)
        case AIMessage():
            extra.update(_assistant_extra(message))
            calls = _forge_calls(message)
            return Message(MessageRole.ASSISTANT, content, calls or None, name=message.name, extra=extra)
        case ToolMessage():
            if message.status != "success":
                extra["status"] = message.status
            return Message(
                MessageRole.TOOL, content, tool_call_id=message.tool_call_id, name=message.name, extra=extra
            )
    raise ValueError(
        f"Unknown message type: {type(message).__name__}. Use system, human, AI or tool messages."
    )


def forge_to_langchain(message: Message) -> BaseMessage:
    """Return the LangChain message for a Forge one. Arguments that are not a JSON object make an invalid tool
    call that keeps the raw text; empty ones and null count as `{}`."""
    extra = dict(message.extra)
    content = cast("Any", message.content if message.content is not None else "")
    common: dict[str, Any] = {"content": content, "id": extra.pop("id", None), "name": message.name}
    if message.role is MessageRole.ASSISTANT:
        return _assistant(message, extra, common)
    status = extra.pop("status", "success")
    common["additional_kwargs"] = {_OWN: extra} if extra else {}
    if message.role is MessageRole.SYSTEM:
        return SystemMessage(**common)
    if message.role is MessageRole.USER:
        return HumanMessage(**common)
    return ToolMessage(**common, tool_call_id=message.tool_call_id or "", status=status)


def langchain_messages_to_forge(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return each message converted, in order."""
    return [langchain_to_forge(message) for message in messages]


def forge_messages_to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """Return each message converted, in order."""
    return [forge_to_langchain(message) for message in messages]


def parse_arguments(raw: str) -> dict[str, Any] | None:
    """Return the arguments of a tool call; None when `raw` is not a complete JSON object. Line breaks inside
    strings, which weak models print, are allowed; nothing is completed or repaired."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) and not _is_too_deep(value) else None


def _is_too_deep(value: object) -> bool:
    """Return whether lists and objects nest over MAX_DEPTH: code that walks them would run out of stack."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def langchain_calls(calls: Sequence[ToolCall]) -> tuple[list[LangChainToolCall], list[InvalidToolCall]]:
    """Return the calls that can run, and the ones whose arguments cannot be read."""
    valid: list[LangChainToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in calls:
        arguments = parse_arguments(call.arguments)
        if arguments is not None and call.name:
            valid.append(tool_call(name=call.name, args=arguments, id=call.id))
        else:
            problem = "no tool is named" if not call.name else "the arguments are not one whole JSON object"
            invalid.append(
                invalid_tool_call(name=call.name or None, args=call.arguments, id=call.id, error=problem)
            )
    return valid, invalid


def _assistant(message: Message, extra: dict[str, Any], common: dict[str, Any]) -> AIMessage:
    kwargs = {key: extra.pop(key) for key in _AI_KEPT if key in extra}
    if "reasoning" in extra:
        kwargs["reasoning_content"] = extra.pop("reasoning")
    usage, metadata = extra.pop("usage", None), extra.pop("response_metadata", {})
    if extra:
        kwargs[_OWN] = extra
    valid, invalid = langchain_calls(message.tool_calls or ())
    return AIMessage(
        **common,
        additional_kwargs=kwargs,
        response_metadata=metadata,
        usage_metadata=usage,
        tool_calls=valid,
        invalid_tool_calls=invalid,
    )


def _common_extra(message: BaseMessage) -> dict[str, Any]:
    extra = dict(message.additional_kwargs.get(_OWN) or {})
    if message.id is not None:
        extra["id"] = message.id
    return extra


def _assistant_extra(message: AIMessage) -> dict[str, Any]:
    kwargs = message.additional_kwargs
    extra = {key: kwargs[key] for key in _AI_KEPT if kwargs.get(key)}
    if reasoning := reasoning_of(message):
        extra["reasoning"] = reasoning
    if message.usage_metadata:
        extra["usage"] = dict(message.usage_metadata)
    if message.response_metadata:
        extra["response_metadata"] = dict(message.response_metadata)
    return extra


def _forge_calls(message: AIMessage) -> list[ToolCall]:
    """Return the calls with their raw arguments. The chunks of a merged stream have them, in call order;
    LangChain's own parser completes truncated objects."""
    chunks = message.tool_call_chunks if isinstance(message, AIMessageChunk) else []
    if chunks:
        return [_forge_call(chunk["id"], chunk["name"], chunk["args"] or "") for chunk in chunks]
    valid = [
        _forge_call(c["id"], c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in message.tool_calls
    ]
    return valid + [_forge_call(c["id"], c["name"], c["args"] or "") for c in message.invalid_tool_calls]


def _forge_call(call_id: str | None, name: str | None, arguments: str) -> ToolCall:
    return ToolCall(call_id or new_call_id(), {"name": name or "", "arguments": arguments})
