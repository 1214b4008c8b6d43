"""Events read back from records: the same values, and nothing raises on what is damaged."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

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
from forge_core.langchain.messages.conversion import forge_to_langchain
from forge_core.llm.models import Message, TokenUsage, ToolCall
from forge_core.result import AgentResult, FileDiff, Omission
from forge_core.session.turn_recorder import message_record
from forge_core.store.event_records import event_of, message_of

USAGE = TokenUsage(prompt_tokens=12, completion_tokens=3, cached_tokens=2, cost_usd=Decimal("0.000123456789"))
EVENTS: list[AgentEvent] = [
    LLMStart(iteration=2, model="a/b"),
    LLMChunk(text="größer", kind="reasoning"),
    LLMEnd(
        usage=USAGE,
        cost_usd=Decimal("0.1"),
        finish_reason="stop",
        duration_s=1.5,
        total_usage=USAGE,
        model="a/b",
    ),
    ToolStart(
        call_id="c1",
        name="read",
        arguments={"file_path": "a.py", "limit": 3},
        title="Read",
        target="a.py",
        kind=ToolKind.WRITE,
        subject=Subject("read", "file", "/a.py", "a.py"),
        preview_rows=2,
        color="cyan",
        parent_id="c0",
    ),
    ToolProgress(call_id="c1", text="\rline"),
    ToolEnd(
        call_id="c1",
        name="edit",
        result="done",
        success=True,
        duration_s=0.1,
        summary="1 change",
        diffs=(FileDiff("a.py", "@@ -1 +1 @@\n-a\n+b", 1, 1),),
        outcome="done",
        model_notes=("note",),
        omission=Omission("…", 10, "/kept"),
    ),
    Permission(call_id="c1", decision="allow", rule="r", by="person", reason="ok"),
    Steered(text="stop there"),
    Compaction(before=100, after=10, pinned=("goal",)),
    Compaction(before=9, after=3, pinned=("goal",), added=("goal",), method="removed", replaced=4),
    Notice(level="info", text="hello"),
    Retry.of("It broke.", attempt=1, max_retries=2, wait_s=1.0, discards_answer=True),
    Error(error="no", kind="ServerError", recoverable=True),
    AgentEnd(result=AgentResult("out", [], [], USAGE, 3, stopped_reason="budget", warning="w")),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_read_back_from_its_record_unchanged(event: AgentEvent) -> None:
    record = json.loads(json.dumps(event.as_record()))
    assert event_of(record) == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_damaged_fields_give_an_event_or_none_and_never_raise(event: AgentEvent) -> None:
    record = event.as_record()
    for name in record["data"]:
        for bad in (None, 7, "x", [], {}, [1], {"a": 1}):
            event_of({**record, "data": {**record["data"], name: bad}})
        less = {key: value for key, value in record["data"].items() if key != name}
        assert event_of({**record, "data": less}) is not None, name


def test_a_record_of_another_kind_is_no_event() -> None:
    assert event_of({"type": "user", "data": {"text": "hello"}}) is None
    assert event_of({"type": "notice", "data": None}) is None
    assert event_of({"type": "from the future", "data": {}}) is None


@pytest.mark.parametrize(
    "data",
    [
        {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "", "arguments": "{}"}}]},
        {"role": "assistant", "tool_calls": [{"id": 7, "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": {}}}]},
        {"role": "tool", "content": "x"},
        {"role": "tool", "content": "x", "tool_call_id": ""},
    ],
)
def test_a_call_or_result_that_cannot_be_paired_is_no_message(data: dict[str, Any]) -> None:
    assert message_of(data) is None


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    "content", ["", " \n", [], [{}], [{"type": ""}], [{"type": 5}], [{"type": "text", "text": None}],
                [{"type": "text", "text": " "}]]
)  # fmt: skip
def test_content_that_a_strict_host_refuses_is_no_message(role: str, content: object) -> None:
    assert message_of({"role": role, "content": content}) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"input_token_details": True},
        {"output_token_details": 5},
        {"input_token_details": {"cache_read": {}}},
        {"input_token_details": {"audio": None}},
        {"total_tokens": {"audio": 1}},
    ],
)
def test_usage_that_no_message_can_have_is_left_out(damage: dict[str, Any]) -> None:
    usage = {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3, "input_token_details": {"audio": 1}}
    record = {"role": "assistant", "content": "hi", "extra": {"usage": usage}}
    whole = message_of(record)
    assert whole is not None and whole.extra == {"usage": usage}
    damaged = message_of({**record, "extra": {"usage": {**usage, **damage}}})
    assert damaged == Message.assistant("hi")
    forge_to_langchain(damaged)


@pytest.mark.parametrize(
    "message",
    [
        Message.user("go"),
        Message.user(
            [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
        ),
        Message.assistant("", [ToolCall("c1", {"name": "read", "arguments": '{"file_path": "a'})]),
        Message.assistant("half", partial=True, reasoning_details=[{"type": "x"}]),
        Message.tool_result("c1", "text", status="error"),
    ],
    ids=["text", "parts", "call", "partial", "result"],
)
def test_a_message_is_read_back_unchanged(message: Message) -> None:
    assert message_of(json.loads(json.dumps(message_record(message)))) == message
