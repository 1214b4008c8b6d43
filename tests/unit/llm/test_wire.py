"""Reading the provider's JSON: what is odd is left out, never fatal."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from forge_core.llm.http.assembly import read_response
from forge_core.llm.http.wire import error_in, parse_json, read_chunk, read_decimal, read_usage
from forge_core.llm.models import TokenUsage, ToolCallDelta


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields}]}


def test_an_openrouter_chunk_is_read_completely() -> None:
    payload = {
        "id": "gen-9",
        "provider": "Anthropic",
        "model": "anthropic/claude",
        "choices": [
            {
                "delta": {
                    "role": "assistant",
                    "content": "Hi",
                    "reasoning": "hm",
                    "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}],
                    "tool_calls": [{"index": 1, "id": "c", "function": {"name": "f", "arguments": "{"}}],
                },
                "finish_reason": "tool_calls",
                "native_finish_reason": "tool_use",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5, "cost_details": {"a": 1}},
    }
    chunk = read_chunk(payload)
    assert (chunk.id, chunk.provider, chunk.model) == ("gen-9", "Anthropic", "anthropic/claude")
    assert (chunk.text, chunk.reasoning) == ("Hi", "hm")
    assert chunk.reasoning_details == [{"type": "reasoning.text", "text": "hm", "index": 0}]
    assert chunk.tool_calls == [ToolCallDelta(1, "c", "f", "{")]
    assert (chunk.finish_reason, chunk.native_finish_reason) == ("tool_calls", "tool_use")
    assert chunk.usage == TokenUsage(3, 4, cost_usd=Decimal("0.5"))
    assert chunk.cost_details == {"a": 1}


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {"choices": {"0": {}}},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": None, "tool_calls": None}}]},
        {
            "choices": [
                {"delta": {"content": 5, "tool_calls": "x", "reasoning": [1], "reasoning_details": "y"}}
            ]
        },
        {
            "id": 5,
            "model": [],
            "provider": {},
            "usage": "many",
            "choices": [{"delta": {"tool_calls": [None, 3]}}],
        },
    ],
)
def test_missing_or_wrongly_typed_fields_give_an_empty_chunk(payload: dict[str, Any]) -> None:
    chunk = read_chunk(payload)
    assert (chunk.text, chunk.reasoning, chunk.tool_calls, chunk.usage, chunk.id) == ("", "", [], None, None)


def test_other_field_names_for_reasoning_are_read() -> None:
    assert read_chunk(delta(reasoning_content="deep")).reasoning == "deep"
    details = [
        {"type": "reasoning.summary", "summary": "short"},
        {"type": "reasoning.encrypted", "data": "x"},
    ]
    assert read_chunk(delta(reasoning_details=details)).reasoning == "short"
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    chunk = read_chunk(delta(content=parts))
    assert (chunk.text, chunk.reasoning) == ("yes", "hm")


def test_arguments_as_an_object_become_json_text() -> None:
    call = {"function": {"name": "f", "arguments": {"a": "ü"}}}
    assert read_chunk(delta(tool_calls=[call])).tool_calls == [ToolCallDelta(0, None, "f", '{"a": "ü"}')]


def test_calls_without_an_index_are_numbered_by_position() -> None:
    calls = [{"function": {"name": "f"}}, {"function": {"name": "g"}, "index": "1"}]
    assert [call.index for call in read_chunk(delta(tool_calls=calls)).tool_calls] == [0, 1]


def test_the_legacy_function_call_counts_as_one_tool_call() -> None:
    chunk = read_chunk(delta(function_call={"name": "f", "arguments": "{}"}))
    assert chunk.tool_calls == [ToolCallDelta(0, None, "f", "{}")]


def test_a_message_instead_of_a_delta_is_read() -> None:
    assert read_chunk({"choices": [{"message": {"content": "whole"}}]}).text == "whole"
    assert read_chunk({"choices": [{"text": "completion"}]}).text == "completion"


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (7, 7),
        (7.9, 7),
        ("12", 12),
        (-3, 0),
        (None, 0),
        (True, 0),
        (float("nan"), 0),
        (float("inf"), 0),
        ("x", 0),
    ],
)
def test_token_counts_of_any_kind_become_whole_numbers(given: Any, count: int) -> None:
    usage = read_usage({"prompt_tokens": given})
    assert usage is not None
    assert usage.prompt_tokens == count


def test_usage_details_are_read_as_subsets() -> None:
    usage = read_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 5},
            "cost": "0.00042",
        }
    )
    assert usage == TokenUsage(100, 20, 60, 10, 5, Decimal("0.00042"))
    assert read_usage({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}) == TokenUsage(9, cached_tokens=4)


@pytest.mark.parametrize("value", [None, True, "abc", "NaN", "-1", float("inf"), {}, []])
def test_an_invalid_price_is_unknown_and_not_zero(value: Any) -> None:
    assert read_decimal(value) is None


def test_a_tiny_float_price_keeps_its_digits() -> None:
    assert read_decimal(1.5e-07) == Decimal("1.5E-7")
    assert read_decimal(0) == 0


def test_a_complete_answer_becomes_a_message_with_reasoning_to_send_back() -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]
    message = {
        "content": None,
        "refusal": None,
        "reasoning": "hm",
        "reasoning_details": details,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        "annotations": [{"type": "file"}],
    }
    response = read_response(
        {"id": "g", "model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    )
    assert response is not None
    assert response.message.content == ""
    assert response.message.extra == {
        "reasoning": "hm",
        "reasoning_details": details,
        "annotations": [{"type": "file"}],
    }
    assert response.message.tool_calls is not None
    assert (response.message.tool_calls[0].id, response.message.tool_calls[0].arguments) == ("c1", '{"a":1}')
    assert response.generation_id == "g"


def test_calls_without_ids_get_different_ones() -> None:
    calls = [{"function": {"name": "f", "arguments": "{}"}}] * 2
    response = read_response({"choices": [{"message": {"tool_calls": calls}}]})
    assert response is not None
    assert response.message.tool_calls is not None
    assert len({call.id for call in response.message.tool_calls}) == 2


def test_lone_surrogates_in_a_complete_answer_are_replaced() -> None:
    payload = parse_json(r'{"choices":[{"message":{"content":"a\ud83d b \ud83e\udd8a"}}]}')
    response = read_response(payload)
    assert response is not None
    assert response.message.content == "a\ufffd b 🦊"


def test_an_answer_without_choices_is_none() -> None:
    assert read_response({"id": "x", "choices": []}) is None


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 50_000, "nul"])
def test_every_failure_to_parse_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_errors_are_found_at_the_top_and_in_the_choice() -> None:
    assert error_in({"error": {"code": 502}}) == {"code": 502}
    assert error_in({"choices": [{"error": {"code": 1}}]}) == {"code": 1}
    assert error_in({"choices": [{"finish_reason": "error"}]}) is not None
    assert error_in({"choices": [{"finish_reason": "stop"}], "error": None}) is None
