"""Messages between LangChain and Forge: nothing that a provider needs back is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk

from forge_core.langchain.messages import (
    forge_messages_to_langchain,
    forge_to_langchain,
    langchain_messages_to_forge,
    langchain_to_forge,
    parse_arguments,
)
from forge_core.llm.models import Message, MessageRole, ToolCall


def test_convert_system_message_to_forge() -> None:
    """Scenario: Convert SystemMessage to Forge."""
    message = langchain_to_forge(SystemMessage("You are helpful."))
    assert isinstance(message, Message)
    assert (message.role, message.content) == (MessageRole.SYSTEM, "You are helpful.")


def test_convert_human_message_to_forge() -> None:
    """Scenario: Convert HumanMessage to Forge."""
    message = langchain_to_forge(HumanMessage("Hello!"))
    assert (message.role, message.content) == (MessageRole.USER, "Hello!")


def test_convert_ai_message_to_forge() -> None:
    """Scenario: Convert AIMessage to Forge."""
    message = langchain_to_forge(AIMessage("Hi there!"))
    assert (message.role, message.content) == (MessageRole.ASSISTANT, "Hi there!")
    assert message.tool_calls is None


def test_convert_ai_message_with_tool_calls() -> None:
    """Scenario: Convert AIMessage with tool calls."""
    call = {"id": "call_123", "name": "read_file", "args": {"path": "/tmp/test"}}
    message = langchain_to_forge(AIMessage("", tool_calls=[call]))
    assert message.tool_calls is not None
    assert message.tool_calls[0].id == "call_123"
    assert message.tool_calls[0].function["name"] == "read_file"
    assert message.tool_calls[0].function["arguments"] == '{"path": "/tmp/test"}'


def test_convert_tool_message_to_forge() -> None:
    """Scenario: Convert ToolMessage to Forge."""
    message = langchain_to_forge(ToolMessage("file contents here", tool_call_id="call_123"))
    assert (message.role, message.content) == (MessageRole.TOOL, "file contents here")
    assert message.tool_call_id == "call_123"


def test_convert_forge_system_message_to_langchain() -> None:
    """Scenario: Convert Forge system message to LangChain."""
    message = forge_to_langchain(Message.system("Be helpful"))
    assert isinstance(message, SystemMessage)
    assert message.content == "Be helpful"


def test_convert_forge_assistant_message_with_tool_calls() -> None:
    """Scenario: Convert Forge assistant message with tool calls."""
    call = ToolCall("c1", {"name": "read", "arguments": '{"path": "ü"}'})
    message = forge_to_langchain(Message.assistant("x", [call]))
    assert isinstance(message, AIMessage)
    assert message.tool_calls == [{"id": "c1", "name": "read", "args": {"path": "ü"}, "type": "tool_call"}]


def test_convert_list_of_messages() -> None:
    """Scenario: Convert list of messages."""
    messages = [SystemMessage("s"), HumanMessage("h"), AIMessage("a")]
    converted = langchain_messages_to_forge(messages)
    assert [message.role for message in converted] == ["system", "user", "assistant"]
    assert forge_messages_to_langchain(converted) == messages


@pytest.mark.parametrize(
    "message",
    [ChatMessage(content="x", role="critic"), FunctionMessage(content="x", name="f"), RemoveMessage(id="1")],
)
def test_messages_with_an_unsupported_role_are_rejected(message: BaseMessage) -> None:
    with pytest.raises(ValueError, match="Unknown message type"):
        langchain_to_forge(message)


RICH = AIMessage(
    "text",
    id="run-1",
    name="forge",
    tool_calls=[{"id": "a", "name": "f", "args": {"x": [1, None]}}],
    invalid_tool_calls=[{"id": "b", "name": "g", "args": '{"half', "error": "the arguments are not one whole JSON object"}],
    additional_kwargs={
        "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}],
        "refusal": "no",
        "annotations": [{"type": "file"}],
    },
    response_metadata={"model_name": "m", "cost": "0.1"},
    usage_metadata=UsageMetadata(input_tokens=1, output_tokens=2, total_tokens=3),
)  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        RICH,
        SystemMessage("s", id="1", name="n"),
        HumanMessage([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}], id="2"),
        HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}]),
        HumanMessage([{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}}]),
        ToolMessage("x", tool_call_id="c", status="error", name="read", id="3"),
        AIMessage("", id="4"),
    ],
)  # fmt: skip
def test_a_round_trip_through_forge_and_json_changes_nothing(message: BaseMessage) -> None:
    forge = langchain_to_forge(message)
    forge.extra = json.loads(json.dumps(forge.extra))
    assert forge_to_langchain(forge) == message


@pytest.mark.parametrize(
    "message",
    [
        Message.assistant("half", partial=True, note="n"),
        Message.user("u", origin="queue"),
        Message.tool_result("c", "r", status="error", duration=1.5),
        Message.assistant(None, [ToolCall("c", {"name": "f", "arguments": "not json"})]),
    ],
)
def test_a_round_trip_through_langchain_keeps_every_extra(message: Message) -> None:
    back = langchain_to_forge(forge_to_langchain(message))
    assert back.extra == message.extra
    assert back.tool_calls == message.tool_calls
    assert (back.role, back.text) == (message.role, message.text)


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": "line\nend"}', {"a": "line\nend"}),
        ('{"a": 1', None),
        ('{"a": "half', None),
        ("[1]", None),
        ("5", None),
        ('"x"', None),
        ("{'a': 1}", None),
        ('{"a":1}{"b":2}', None),
        ("[" * 50_000, None),
    ],
)
def test_only_complete_json_arguments_are_parsed(raw: str, arguments: dict[str, Any] | None) -> None:
    assert parse_arguments(raw) == arguments


def test_unreadable_arguments_become_an_invalid_call_with_the_raw_text() -> None:
    calls = [
        ToolCall("a", {"name": "f", "arguments": '{"path": "/x", "content": "half'}),
        ToolCall("b", {"name": "", "arguments": "{}"}),
        ToolCall("c", {"name": "g", "arguments": "{}"}),
    ]
    message = forge_to_langchain(Message.assistant("", calls))
    assert isinstance(message, AIMessage)
    assert [call["name"] for call in message.tool_calls] == ["g"]
    assert [call["args"] for call in message.invalid_tool_calls] == ['{"path": "/x", "content": "half', "{}"]
    assert all(call["error"] for call in message.invalid_tool_calls)


def test_a_merged_stream_uses_raw_arguments_instead_of_langchain_repairs() -> None:
    half = tool_call_chunk(name="write", args='{"path": "/x", "content": "half', id="a", index=0)
    merged = AIMessageChunk(content="", tool_call_chunks=[half])
    assert merged.tool_calls, "core repairs it"
    message = langchain_to_forge(merged)
    assert message.tool_calls is not None
    assert message.tool_calls[0].arguments == '{"path": "/x", "content": "half'


def test_non_text_parts_of_a_cached_answer_are_removed_from_the_content() -> None:
    message = AIMessage(
        [
            {"type": "reasoning", "reasoning": "hm"},
            {"type": "text", "text": "a"},
            {"type": "tool_call", "id": "c", "name": "f", "args": {}},
        ]
    )
    forge = langchain_to_forge(message)
    assert forge.content == [{"type": "text", "text": "a"}]
    assert forge.extra["reasoning"] == "hm"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("plain", {"type": "text", "text": "plain"}),
        ({"type": "text", "text": "a", "id": "lc_1", "index": 0}, {"type": "text", "text": "a"}),
        (
            {"type": "image", "base64": "AA", "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        ),
        (
            {"type": "image", "url": "https://h/p.png"},
            {"type": "image_url", "image_url": {"url": "https://h/p.png"}},
        ),
        (
            {"type": "image", "source_type": "base64", "data": "AA", "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA"}},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,AA"}},
        ),
        (
            {"type": "file", "base64": "AA", "mime_type": "application/pdf", "filename": "a.pdf"},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}},
        ),
        (
            {"type": "file", "base64": "AA", "mime_type": "application/pdf"},
            {"type": "file", "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,AA"}},
        ),
        (
            {"type": "file", "url": "https://h/a.pdf", "extras": {"cache_control": {"type": "ephemeral"}}},
            {
                "type": "file",
                "file": {"filename": "file.pdf", "file_data": "https://h/a.pdf"},
                "cache_control": {"type": "ephemeral"},
            },
        ),
        ({"type": "file", "file_id": "f-1"}, {"type": "file", "file": {"file_id": "f-1"}}),
        (
            {"type": "audio", "base64": "AA", "mime_type": "audio/wav"},
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
        ),
        (
            {"type": "video", "base64": "AA", "mime_type": "video/mp4"},
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AA"}},
        ),
        ({"type": "text-plain", "text": "t", "mime_type": "text/plain"}, {"type": "text", "text": "t"}),
        ({"type": "non_standard", "value": {"type": "odd"}}, {"type": "odd"}),
        ({"type": "unknown", "x": 1}, {"type": "unknown", "x": 1}),
    ],
)
def test_parts_of_langchain_become_the_apis(given: Any, sent: dict[str, Any]) -> None:
    assert langchain_to_forge(HumanMessage([given])).content == [sent]


def test_a_message_without_content_has_empty_content() -> None:
    assert langchain_to_forge(AIMessage([])).content == ""
    assert langchain_to_forge(HumanMessage([""])).content == ""


def test_calls_without_ids_get_one() -> None:
    message = langchain_to_forge(AIMessage("", tool_calls=[{"id": None, "name": "f", "args": {}}]))
    assert message.tool_calls is not None
    assert message.tool_calls[0].id
