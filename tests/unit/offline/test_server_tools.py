"""Tools of MCP servers that a message calls by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from forge_core.offline.conversation import (
    Call,
    CallOutcome,
    CallStatus,
    ChatRequest,
    CompletedCall,
    ConversationTurn,
    read_request,
)
from forge_core.offline.model import respond

NAME = "mcp__git-hub__log"
TOOLS: Mapping[str, frozenset[str]] = {NAME: frozenset({"path"}), "read": frozenset({"path"})}


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        (NAME, {}),
        (f"call {NAME}", {}),
        (
            f'Use `{NAME}` with {{"path": ".", "of": {{"a": [1, null]}}}}',
            {"path": ".", "of": {"a": [1, None]}},
        ),
        (f'{NAME} path="a b; then c" n=3 deep=true', {"path": "a b; then c", "n": 3, "deep": True}),
    ],
)
def test_a_tool_is_called_with_the_arguments_as_they_were_typed(
    message: str, arguments: Mapping[str, Any]
) -> None:
    reply = respond(ChatRequest(ConversationTurn(message), tools=TOOLS))
    assert [(call.name, dict(call.arguments)) for call in reply.calls] == [(NAME, arguments)]


def test_a_deferred_tool_is_called_through_tool_run() -> None:
    reply = respond(ChatRequest(ConversationTurn(f"{NAME} path=."), tools={"tool_run": frozenset()}))
    [call] = reply.calls
    assert json.loads(json.dumps(dict(call.arguments))) == {"name": NAME, "arguments": {"path": "."}}


@pytest.mark.parametrize(
    ("message", "tools", "answer"),
    [
        (f"{NAME} {{", TOOLS, "I cannot read the arguments"),
        (f"{NAME} main", TOOLS, "'main' has no value"),
        (f"{NAME} path='", TOOLS, "No closing quotation"),
        (NAME, {"read": frozenset[str]()}, "This session does not offer"),
    ],
)
def test_what_cannot_be_called_is_explained(
    message: str, tools: Mapping[str, frozenset[str]], answer: str
) -> None:
    reply = respond(ChatRequest(ConversationTurn(message), tools=tools))
    assert not reply.calls and answer in reply.text


@pytest.mark.parametrize(
    ("status", "answer"),
    [(CallStatus.OK, "returned:\n\n```\none"), (CallStatus.FAILED, "failed:"), (CallStatus.DENIED, "")],
)
def test_the_result_is_shown(status: CallStatus, answer: str) -> None:
    done = CompletedCall(Call(NAME, {}), CallOutcome("one\ntwo", status))
    reply = respond(ChatRequest(ConversationTurn(NAME, (done,)), tools=TOOLS))
    assert not reply.calls and answer in reply.text and ("two" in reply.text or not answer)


@pytest.mark.parametrize(
    "note",
    [
        "<forge-note>\nNew tools of MCP servers:\n- one: a, b\n</forge-note>",
        [
            {"type": "text", "text": "<forge-note>The images in the result.</forge-note>"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ],
    ],
)
def test_a_note_within_a_turn_is_no_request(note: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": NAME, "arguments": "{}"}}
    messages = [
        {"role": "user", "content": NAME},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "user", "content": note},
    ]
    request = read_request({"messages": messages})
    assert len(request.earlier) == 0 and request.now.request == NAME
    assert "returned:" in respond(replace(request, tools=TOOLS)).text
