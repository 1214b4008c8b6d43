"""Requests as JSON: only what is set, and what each provider understands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge_core.errors import InvalidRequestError
from forge_core.llm.endpoints import PROVIDERS
from forge_core.llm.http.payload import build_body, encode_body
from forge_core.llm.models import CompletionRequest, Message, ToolCall, ToolDefinition

OPENROUTER = PROVIDERS["openrouter"]
OPENAI = PROVIDERS["openai"]


def body(
    *messages: Message, provider: Any = OPENROUTER, stream: bool = False, **fields: Any
) -> dict[str, Any]:
    model = fields.pop("model", "m")
    return build_body(CompletionRequest(model, list(messages), **fields), provider, stream=stream)


def test_a_minimal_request_contains_only_model_messages_and_usage() -> None:
    assert body(Message.user("hi")) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "usage": {"include": True},
    }


def test_zero_is_sent_and_none_is_not() -> None:
    made = body(temperature=0.0, top_p=None, parallel_tool_calls=False)
    assert made["temperature"] == 0.0
    assert made["parallel_tool_calls"] is False
    assert "top_p" not in made


def test_usage_is_requested_from_other_servers_with_stream_options() -> None:
    made = body(provider=PROVIDERS["vllm"], stream=True)
    assert made["stream_options"] == {"include_usage": True}
    assert "usage" not in made
    assert body(stream=True)["stream"] is True
    assert "stream_options" not in body(stream=True)


def test_the_token_limit_has_the_openai_field_name_for_openai() -> None:
    assert body(provider=OPENAI, max_tokens=5)["max_completion_tokens"] == 5
    assert body(max_tokens=5)["max_tokens"] == 5


def test_extra_fields_are_added_to_the_body_and_override_defaults() -> None:
    made = body(extra={"provider": {"sort": "price"}, "usage": {"include": False}})
    assert made["provider"] == {"sort": "price"}
    assert made["usage"] == {"include": False}


def test_tools_are_sent_in_the_api_format() -> None:
    tool = ToolDefinition("f", "does", {"type": "object", "properties": {}}, strict=True)
    raw = {"type": "function", "function": {"name": "g"}}
    assert body(tools=[tool, raw], tool_choice="auto")["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "f",
                "description": "does",
                "parameters": {"type": "object", "properties": {}},
                "strict": True,
            },
        },
        raw,
    ]


def test_stop_sequences_are_sent_once_each_and_at_most_four() -> None:
    assert body(stop=["a", "b", "a"])["stop"] == ["a", "b"]
    with pytest.raises(InvalidRequestError, match="5 stop sequences"):
        body(stop=list("abcde"))


def test_a_tool_round_is_sent_back_in_the_api_format() -> None:
    details = [{"type": "reasoning.text", "text": "t", "signature": "s", "format": "anthropic-claude-v1"}]
    call = ToolCall("c1", {"name": "read", "arguments": '{"p": "half'})
    made = body(
        Message.assistant("", [call], reasoning="t", reasoning_details=details, usage={"x": 1}),
        Message.tool_result("c1", "Error: bad", status="error"),
        model="anthropic/claude-sonnet-4.5",
    )["messages"]
    assert made == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
            "reasoning_details": details,
        },
        {"role": "tool", "content": "Error: bad", "tool_call_id": "c1"},
    ]


def test_empty_arguments_are_sent_as_an_empty_object() -> None:
    [message] = body(Message.assistant("x", [ToolCall("c", {"name": "f", "arguments": ""})]))["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"
    assert message["content"] == "x"


def test_reasoning_of_another_vendor_is_omitted_after_a_model_change() -> None:
    details = [
        {"type": "reasoning.text", "format": "anthropic-claude-v1", "text": "a"},
        {"type": "reasoning.text", "format": "unknown", "text": "b"},
        {"type": "reasoning.text", "text": "c"},
    ]
    message = Message.assistant("x", reasoning_details=details)
    assert body(message, model="openai/gpt-5")["messages"][0]["reasoning_details"] == details[1:]
    assert body(message, model="anthropic/claude-x")["messages"][0]["reasoning_details"] == details
    assert body(message, model="local-name")["messages"][0]["reasoning_details"] == details
    same = Message.assistant("x", reasoning_details=details, response_metadata={"model_name": "proxy/model"})
    assert body(same, model="proxy/model")["messages"][0]["reasoning_details"] == details


def test_reasoning_is_not_sent_to_servers_that_reject_it() -> None:
    message = Message.assistant("x", reasoning_details=[{"type": "reasoning.text", "text": "b"}])
    assert "reasoning_details" not in body(message, provider=OPENAI)["messages"][0]


def test_plain_reasoning_is_sent_with_its_tool_calls_when_there_are_no_blocks() -> None:
    call = ToolCall("c", {"name": "f", "arguments": "{}"})
    assert body(Message.assistant("", [call], reasoning="hm"))["messages"][0]["reasoning"] == "hm"
    assert "reasoning" not in body(Message.assistant("x", reasoning="hm"))["messages"][0]


def test_only_tool_call_messages_have_null_content() -> None:
    made = body(
        Message.user(None), Message.system(None), Message.assistant(None), Message.tool_result("c", None)
    )
    assert [message["content"] for message in made["messages"]] == ["", "", "", ""]


def test_content_parts_pass_unchanged() -> None:
    parts = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]
    assert body(Message.user(parts))["messages"][0]["content"] == parts


def test_a_lone_surrogate_does_not_prevent_the_request() -> None:
    sent = json.loads(encode_body(body(Message.user("a\ud83d 🦊"))))
    assert sent["messages"][0]["content"] == "a? 🦊"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_values_that_json_cannot_represent_are_rejected_with_a_message(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match="cannot be written as JSON"):
        encode_body({"temperature": value})
