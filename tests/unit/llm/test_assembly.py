"""Fragments of calls and of reasoning find together, however carelessly a provider numbers them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from forge_core.llm.http.assembly import AnswerAssembler, CallAssembler, ReasoningAssembler
from forge_core.llm.models import StreamChunk, TokenUsage
from forge_core.llm.models import ToolCallDelta as Delta


def assemble(*deltas: Delta) -> list[tuple[str, str, str]]:
    calls = CallAssembler()
    for delta in deltas:
        calls.add(delta)
    return [(call.id, call.name, call.arguments) for call in calls.finished()]


def test_fragments_of_one_call_are_joined_in_order() -> None:
    assert assemble(Delta(0, "a", "read"), Delta(0, None, None, '{"p":'), Delta(0, None, None, "1}")) == [
        ("a", "read", '{"p":1}')
    ]


def test_interleaved_calls_are_kept_apart() -> None:
    assert assemble(
        Delta(0, "a", "f"), Delta(1, "b", "g"), Delta(0, None, None, "{}"), Delta(1, None, None, '{"x":1}')
    ) == [("a", "f", "{}"), ("b", "g", '{"x":1}')]


def test_two_calls_under_one_index_are_distinguished_by_id() -> None:
    assert assemble(Delta(0, "a", "f", '{"x":1}'), Delta(0, "b", "f", '{"x":2}')) == [
        ("a", "f", '{"x":1}'),
        ("b", "f", '{"x":2}'),
    ]


def test_two_complete_calls_under_one_index_without_ids_are_two_calls() -> None:
    (first, _, _), (second, _, _) = assemble(Delta(0, None, "f", '{"x":1}'), Delta(0, None, "f", '{"x":2}'))
    assert first and second and first != second


def test_an_id_and_a_name_repeated_on_each_fragment_are_one_call() -> None:
    assert assemble(Delta(0, "a", "f", '{"x"'), Delta(0, "a", "f", ":1}")) == [("a", "f", '{"x":1}')]
    [(_, name, arguments)] = assemble(Delta(0, None, "f", '{"x"'), Delta(0, None, "f", ":1}"))
    assert (name, arguments) == ("f", '{"x":1}')


def test_a_new_id_on_each_fragment_without_a_name_is_the_same_call() -> None:
    assert assemble(Delta(0, "a", "f", '{"x"'), Delta(0, "b", None, ":1}")) == [("a", "f", '{"x":1}')]


def test_a_fragmented_name_is_joined() -> None:
    assert assemble(Delta(0, "a", "read"), Delta(0, None, "_file"), Delta(0, None, None, "{}")) == [
        ("a", "read_file", "{}")
    ]


def test_id_and_name_are_handed_on_once() -> None:
    calls = CallAssembler()
    out = [calls.add(Delta(3, "a", "f")), calls.add(Delta(3, "a", "f", "{}")), calls.add(Delta(9, "b", "g"))]
    assert out == [Delta(0, "a", "f"), Delta(0, None, None, "{}"), Delta(1, "b", "g")]


def merge(*details: dict[str, Any]) -> list[dict[str, Any]]:
    reasoning = ReasoningAssembler()
    for detail in details:
        reasoning.add(detail)
    return reasoning.finished()


def test_a_reasoning_block_in_fragments_is_merged_with_its_late_signature() -> None:
    text = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    assert merge(
        {**text, "text": "Let me "}, {**text, "text": "think."}, {**text, "signature": "sig", "text": None}
    ) == [{**text, "text": "Let me think.", "signature": "sig"}]


def test_blocks_of_another_type_or_index_stay_apart_in_order() -> None:
    blocks = [
        {"type": "reasoning.summary", "summary": "a", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 0},
        {"type": "reasoning.summary", "summary": "b", "index": 1},
    ]
    assert merge(*blocks) == blocks


def test_without_an_index_encrypted_blocks_and_new_ids_are_separate() -> None:
    blocks = [
        {"type": "reasoning.encrypted", "data": "x", "id": "1"},
        {"type": "reasoning.encrypted", "data": "y", "id": "2"},
        {"type": "reasoning.text", "text": "a", "id": "3"},
        {"type": "reasoning.text", "text": "b", "id": "4"},
    ]
    assert merge(*blocks) == blocks


def test_without_an_index_text_fragments_are_one_block() -> None:
    assert merge({"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}) == [
        {"type": "reasoning.text", "text": "ab"}
    ]


def test_the_assembled_answer_keeps_the_last_value_of_repeated_fields() -> None:
    answer = AnswerAssembler()
    for chunk in (
        StreamChunk(text="Hel", id="g", model="m", provider="P", generation_id="gen", usage=TokenUsage(1, 1)),
        StreamChunk(text="lo", id="g", usage=TokenUsage(5, 2, cost_usd=Decimal("0.1")), finish_reason="stop"),
        StreamChunk(id="g", finish_reason="stop", native_finish_reason="end_turn"),
    ):
        answer.add(chunk)
    response = answer.response()
    assert response.message.text == "Hello"
    assert (response.model, response.provider, response.id, response.generation_id) == ("m", "P", "g", "gen")
    assert response.usage == TokenUsage(5, 2, cost_usd=Decimal("0.1"))
    assert (response.finish_reason, response.native_finish_reason) == ("stop", "end_turn")
    assert response.message.extra == {}


def test_reasoning_refusal_and_annotations_are_stored_in_extra() -> None:
    answer = AnswerAssembler()
    answer.add(StreamChunk(reasoning="h", refusal="no", annotations=[{"type": "file"}]))
    answer.add(StreamChunk(reasoning="m", reasoning_details=[{"type": "reasoning.text", "text": "hm"}]))
    assert answer.response().message.extra == {
        "reasoning": "hm",
        "refusal": "no",
        "annotations": [{"type": "file"}],
        "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
    }
