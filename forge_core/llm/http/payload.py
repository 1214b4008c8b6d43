"""The JSON body of a request. Only fields that are set are sent."""

from __future__ import annotations

import json
from typing import Any

from forge_core.errors import InvalidRequestError
from forge_core.llm.endpoints import PROVIDERS, Provider
from forge_core.llm.models import CompletionRequest, Message, MessageRole, ToolCall, ToolDefinition

MAX_STOP_SEQUENCES = 4
"""The API's limit."""

_PLAIN_FIELDS = (
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "response_format",
)
_VENDOR_OF_FORMAT = {
    "anthropic": ("anthropic",),
    "openai": ("openai",),
    "azure": ("openai", "microsoft"),
    "google": ("google",),
    "xai": ("x-ai",),
    "meta": ("meta-llama", "meta"),
}
"""First word of a reasoning block's `format` → first parts of the model ids that understand it."""


def build_body(request: CompletionRequest, provider: Provider, *, stream: bool) -> dict[str, Any]:
    """Return the fields of the body. Raise InvalidRequestError for what the API is known to reject."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message, request.model, provider) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [
            tool.as_openai() if isinstance(tool, ToolDefinition) else tool for tool in request.tools
        ]
    for name in _PLAIN_FIELDS:
        value = getattr(request, name)
        if value is not None:
            body[name] = value
    if request.max_tokens is not None:
        body[provider.max_tokens_field] = request.max_tokens
    if request.stop:
        body["stop"] = _checked_stop(request.stop)
    if stream:
        body["stream"] = True
        if not provider.usage_in_body:
            body["stream_options"] = {"include_usage": True}
    if provider.usage_in_body:
        body["usage"] = {"include": True}
    if request.fallbacks and provider.routes_requests:
        body["models"] = list(request.fallbacks)
    return {**body, **request.extra}


def encode_body(body: dict[str, Any]) -> bytes:
    """Return `body` as UTF-8 JSON; a lone surrogate becomes "?". Raise InvalidRequestError for what JSON
    cannot represent."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(
            f"The request cannot be written as JSON: {error}. Check its parameters."
        ) from error


def _checked_stop(stop: list[str]) -> list[str]:
    unique = list(dict.fromkeys(stop))
    if len(unique) > MAX_STOP_SEQUENCES:
        raise InvalidRequestError(
            f"{len(unique)} stop sequences were given, the API takes {MAX_STOP_SEQUENCES}: {unique!r}. "
            "Give fewer."
        )
    return unique


def _message(message: Message, model: str, provider: Provider) -> dict[str, Any]:
    body: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.name:
        body["name"] = message.name
    if message.role is MessageRole.TOOL:
        body["tool_call_id"] = message.tool_call_id or ""
        body["content"] = message.content if message.content is not None else ""
    elif message.role is MessageRole.ASSISTANT:
        _complete_assistant(body, message, model, provider)
    elif message.content is None:
        body["content"] = ""
    return body


def _complete_assistant(body: dict[str, Any], message: Message, model: str, provider: Provider) -> None:
    if message.tool_calls:
        body["tool_calls"] = [_call(call) for call in message.tool_calls]
        body["content"] = message.content or None
    elif message.content is None:
        body["content"] = ""
    if not provider.takes_reasoning:
        return
    made_by = str((message.extra.get("response_metadata") or {}).get("model_name") or "")
    details = [
        detail
        for detail in message.extra.get("reasoning_details") or ()
        if _is_understood(detail, model, made_by)
    ]
    if details:
        body["reasoning_details"] = details
    elif provider.takes_reasoning_text and message.tool_calls and message.extra.get("reasoning"):
        body["reasoning"] = message.extra["reasoning"]
    if message.extra.get("annotations"):
        body["annotations"] = message.extra["annotations"]


def _call(call: ToolCall) -> dict[str, Any]:
    """Return an earlier call for the history. Arguments that are not a JSON object are sent as `{}`: servers
    that parse the history would reject every later request, and the call's result says what was wrong."""
    function = {"name": call.name, "arguments": call.arguments if _is_object(call.arguments) else "{}"}
    return {"id": call.id, "type": call.type or "function", "function": function}


def _is_object(raw: str) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _is_understood(detail: dict[str, Any], model: str, made_by: str) -> bool:
    """Return whether the model accepts a block: one that is bound to another vendor would be rejected."""
    bound_to = _VENDOR_OF_FORMAT.get(str(detail.get("format") or "").split("-", 1)[0])
    vendor, slash, _ = model.partition("/")
    if bound_to is None or not slash or _is_router(vendor):
        return True
    return vendor in bound_to or made_by.startswith(f"{vendor}/")


def _is_router(vendor: str) -> bool:
    """Return whether models below `vendor` choose among those of several vendors."""
    return vendor in PROVIDERS and PROVIDERS[vendor].routes_requests
