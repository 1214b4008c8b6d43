"""A stand-in for OpenRouter on loopback: refuses what the API would refuse, and answers like a willing model.

Nothing is scripted. With tools it calls one with arguments made from the tool's schema and the words of the
question; with a response format it answers JSON of that shape; after a tool's result, and otherwise, text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.sse_server import Reply, Seen, SseServer, chunk, error_reply, json_reply, stream

MODEL = "test/willing-model"
_PART_FIELDS = {
    "text": ("text", str),
    "image_url": ("image_url", dict),
    "file": ("file", dict),
    "input_audio": ("input_audio", dict),
    "video_url": ("video_url", dict),
}
_ANSWER = "Here you are: this is what you asked for."


class Refused(Exception):
    """What the API would answer 400 to."""


def willing_server() -> SseServer:
    """A server that answers any number of chat completions."""
    return SseServer(routes={"POST /chat/completions": reply_to})


def reply_to(seen: Seen) -> Reply:
    try:
        body = seen.json
        check(body)
    except Refused as refusal:
        return error_reply(400, str(refusal), metadata={"error_type": "invalid_request"})
    return as_asked(body, *answer(body))


def as_asked(
    body: Mapping[str, Any],
    message: dict[str, Any],
    finish_reason: str,
    usage: Mapping[str, Any] | None = None,
) -> Reply:
    """`message` streamed or whole, as `body` wants it."""
    usage = usage_of(body) if usage is None else usage
    if body.get("stream"):
        return _streamed(body, message, finish_reason, usage)
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "native_finish_reason": "end"}
    return json_reply(
        {
            "id": "gen-1",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": body["model"],
            "provider": "TestProvider",
            "choices": [choice],
            "usage": usage,
        },
        headers={"X-Generation-Id": "gen-1"},
    )


def answer(body: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The message and why it ended."""
    question = _question(body)
    wanted = body.get("response_format") or {}
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if body.get("reasoning"):
        message["reasoning"] = "Let me think."
        message["reasoning_details"] = [
            {"type": "reasoning.text", "text": "Let me think.", "signature": "sig", "index": 0}
        ]
    if wanted.get("type") == "json_schema":
        message["content"] = json.dumps(example(wanted["json_schema"]["schema"], question))
    elif wanted.get("type") == "json_object":
        message["content"] = json.dumps(dict.fromkeys(re.findall(r"'(\w+)'", question), "a cat"))
    elif tool := _tool_to_call(body):
        function = {
            "name": tool["name"],
            "arguments": json.dumps(example(tool["parameters"], question), ensure_ascii=False),
        }
        message["tool_calls"] = [{"id": "call_1", "index": 0, "type": "function", "function": function}]
        return message, "tool_calls"
    else:
        message["content"] = _until_stop(_ANSWER, body.get("stop") or [])
    return message, "stop"


def example(schema: Mapping[str, Any], question: str) -> Any:
    """A value that fits the schema; texts and numbers are taken from the question where it holds some."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if options:
        return example(options[0], question)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: example(one, question) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [example(schema.get("items", {}), question)]
        case "integer" | "number":
            return int((re.findall(r"\d+", question) or ["1"])[0])
        case "boolean":
            return True
        case _:
            return (re.findall(r"'([^']+)'", question) or ["something"])[0]


def usage_of(body: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(body["messages"], ensure_ascii=False)
    prompt = max(30, len(text) // 4)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": 20,
        "total_tokens": prompt + 20,
        "cost": 0.00042,
        "prompt_tokens_details": {
            "cached_tokens": 8 if "cache_control" in text else 0,
            "cache_write_tokens": 4 if "cache_control" in text else 0,
            "audio_tokens": 6 if "input_audio" in text else 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": 5 if body.get("reasoning") else 0,
            "audio_tokens": 3 if "audio" in (body.get("modalities") or ()) else 0,
        },
    }


def check(body: Mapping[str, Any]) -> None:
    """Raises Refused for what https://openrouter.ai/docs/api/reference/overview does not allow."""
    if not isinstance(body.get("model"), str) or not body.get("messages"):
        raise Refused("model and messages are required")
    if len(body.get("stop") or ()) > 4:
        raise Refused("stop takes up to 4 sequences")
    for tool in body.get("tools") or ():
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not re.fullmatch(r"[\w-]{1,64}", function.get("name", "")):
            raise Refused(f"not a function tool: {tool}")
        if function.get("parameters", {}).get("type") != "object":
            raise Refused(f"parameters are no object schema: {function}")
    if body.get("tool_choice") is not None and not body.get("tools"):
        raise Refused("tool_choice without tools")
    _check_format(body.get("response_format"))
    _check_conversation(body["messages"])


def _check_format(wanted: Mapping[str, Any] | None) -> None:
    if wanted is None or wanted.get("type") in ("text", "json_object"):
        return
    described = wanted.get("json_schema") or {}
    if wanted.get("type") != "json_schema" or not described.get("name"):
        raise Refused(f"unusable response_format: {wanted}")
    if described.get("strict"):
        for schema in _objects(described["schema"]):
            names = set(schema.get("properties") or {})
            if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != names:
                raise Refused(f"a strict schema closes every object and requires every field: {schema}")


def _objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from _objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value)


def _check_conversation(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                raise Refused(f"a tool result without its call: {message}")
            waiting.remove(message["tool_call_id"])
        elif waiting:
            raise Refused(f"tool calls without results: {waiting}")
        elif role not in ("system", "user", "assistant"):
            raise Refused(f"unknown role {role!r}")
        _check_content(message)
        for call in message.get("tool_calls") or ():
            json.loads(call["function"]["arguments"])
            waiting.append(call["id"])


def _check_content(message: Mapping[str, Any]) -> None:
    content = message.get("content")
    if content is None:
        if not message.get("tool_calls"):
            raise Refused(f"no content: {message}")
        return
    if isinstance(content, str):
        return
    for part in content:
        field, kind = _PART_FIELDS.get(part.get("type"), (None, None))
        if field is None or not isinstance(part.get(field), kind):
            raise Refused(f"unknown content part: {str(part)[:200]}")
        if field != "text" and message["role"] not in ("user", "tool"):
            raise Refused(f"{field} in a message of role {message['role']}")
        if field in ("image_url", "video_url") and not _is_address(part[field].get("url")):
            raise Refused(f"no address: {str(part)[:200]}")
        if field == "file" and not _is_address(part[field].get("file_data")):
            raise Refused(f"no file_data: {str(part)[:200]}")
        if field == "input_audio" and not (part[field].get("data") and part[field].get("format")):
            raise Refused(f"no audio: {str(part)[:200]}")


def _is_address(url: object) -> bool:
    return isinstance(url, str) and url.startswith(("https://", "data:"))


def _tool_to_call(body: Mapping[str, Any]) -> dict[str, Any] | None:
    tools = [tool["function"] for tool in body.get("tools") or ()]
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        return next(tool for tool in tools if tool["name"] == choice["function"]["name"])
    is_asked = body["messages"][-1]["role"] == "user" or choice == "required"
    return tools[0] if tools and is_asked and choice != "none" else None


def _question(body: Mapping[str, Any]) -> str:
    """The text of the last user message."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    content = asked[-1] if asked else ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def _until_stop(text: str, stops: list[str]) -> str:
    found = [text.find(stop) for stop in stops if stop in text]
    return text[: min(found)] if found else text


def _streamed(
    body: Mapping[str, Any], message: dict[str, Any], finish_reason: str, usage: Mapping[str, Any]
) -> Reply:
    payloads = []
    if message.get("reasoning"):
        payloads.append(
            chunk(None, reasoning=message["reasoning"], reasoning_details=message["reasoning_details"])
        )
    text = message["content"] or ""
    payloads += [chunk(text[start : start + 5]) for start in range(0, len(text), 5)]
    for call in message.get("tool_calls") or ():
        raw = call["function"]["arguments"]
        payloads.append(chunk(None, tool_calls=[{**call, "function": {**call["function"], "arguments": ""}}]))
        for start in range(0, len(raw), 4):
            part = {"index": call["index"], "function": {"arguments": raw[start : start + 4]}}
            payloads.append(chunk(None, tool_calls=[part]))
    payloads.append(chunk("", finish_reason=finish_reason))
    payloads.append({**chunk(""), "choices": [], "usage": usage})
    return stream(*({**payload, "model": body["model"]} for payload in payloads))
