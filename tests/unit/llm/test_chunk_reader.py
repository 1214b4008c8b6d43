"""One streamed answer without its network: chunks, verdicts, partial text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge_core.errors import ConnectionFailedError, MalformedResponseError, RateLimitError, ServerError
from forge_core.llm.endpoints import OPENROUTER_URL, identify
from forge_core.llm.http.chunk_reader import ChunkReader
from forge_core.llm.http.error_mapping import ErrorMapper
from forge_core.llm.models import StreamChunk
from tests.support.sse_server import DONE, PROCESSING, chunk, event, fragments


def reader() -> ChunkReader:
    return ChunkReader(ErrorMapper(identify(OPENROUTER_URL), OPENROUTER_URL), "gen-h")


def read(*data: bytes) -> tuple[ChunkReader, list[StreamChunk]]:
    made = reader()
    chunks = [found for piece in data for found in made.feed(piece)]
    return made, [*chunks, *made.end()]


def text_of(chunks: list[StreamChunk]) -> str:
    return "".join(found.text for found in chunks)


def test_an_answer_in_single_bytes_is_the_same_answer() -> None:
    whole = (
        PROCESSING
        + event(chunk("grün "))
        + event(chunk("🦊"))
        + event(chunk("", finish_reason="stop"))
        + DONE
    )
    made, chunks = read(*fragments(whole))
    assert text_of(chunks) == "grün 🦊"
    assert chunks[0].comment == "OPENROUTER PROCESSING"
    assert made.is_done
    assert made.failure is None


def test_only_the_first_chunk_has_the_generation_id() -> None:
    _, chunks = read(event(chunk("a")), event(chunk("b")), DONE)
    assert [found.generation_id for found in chunks] == ["gen-h", None]


def test_data_after_done_is_ignored() -> None:
    _, chunks = read(event(chunk("a")) + DONE + event(chunk("b")), event(chunk("c")))
    assert text_of(chunks) == "a"


def test_an_answer_without_done_is_complete_when_it_has_a_finish_reason() -> None:
    made, chunks = read(event(chunk("a", finish_reason="stop")))
    assert text_of(chunks) == "a"
    assert made.failure is None


def test_an_answer_that_ends_early_is_a_broken_connection_with_its_text() -> None:
    made, chunks = read(event(chunk("half ")), event(chunk("an answer")))
    assert text_of(chunks) == "half an answer"
    assert isinstance(made.failure, ConnectionFailedError)
    assert made.failure.partial_text == "half an answer"
    assert made.failure.generation_id == "gen-h"


def test_an_empty_body_is_a_broken_connection() -> None:
    made, _ = read()
    assert isinstance(made.failure, ConnectionFailedError)
    assert not made.has_token


def test_a_mid_stream_error_follows_the_chunks_before_it() -> None:
    error = {"code": 502, "message": "upstream died", "metadata": {"provider_name": "X"}}
    payload = {**chunk("", finish_reason="error"), "error": error}
    made, chunks = read(event(chunk("so far")) + event(payload) + event(chunk("never")))
    assert text_of(chunks) == "so far"
    assert isinstance(made.failure, ServerError)
    assert "upstream died" in made.failure.message
    assert made.failure.partial_text == "so far"
    assert made.failure.provider == "X"


def test_an_error_before_any_token_keeps_its_class() -> None:
    made, _ = read(event({"error": {"code": 429, "message": "slow"}}))
    assert isinstance(made.failure, RateLimitError)
    assert not made.has_token


@pytest.mark.parametrize(
    "bad", [b'data: {"choices": [\n\n', b"data: hello\n\n", b"data: " + b"[" * 50_000 + b"\n\n"]
)
def test_a_non_json_event_is_an_error_with_the_partial_text(bad: bytes) -> None:
    made, chunks = read(event(chunk("a")), bad)
    assert text_of(chunks) == "a"
    assert isinstance(made.failure, MalformedResponseError)
    assert made.failure.partial_text == "a"


def test_pings_and_other_non_object_values_are_skipped() -> None:
    made, chunks = read(b"data: null\n\ndata: 5\n\ndata: []\n\ndata:\n\n", event(chunk("a")), DONE)
    assert text_of(chunks) == "a"
    assert made.failure is None


def test_events_not_separated_by_blank_lines_are_read() -> None:
    lines = event(chunk("a")).strip() + b"\n" + event(chunk("b")).strip() + b"\ndata: [DONE]\n\n"
    made, chunks = read(lines)
    assert text_of(chunks) == "ab"
    assert made.is_done


def test_json_spread_over_several_data_lines_is_one_event() -> None:
    pretty = json.dumps(chunk("a"), indent=1)
    data = b"".join(b"data: " + line.encode() + b"\n" for line in pretty.split("\n")) + b"\n"
    assert text_of(read(data, DONE)[1]) == "a"


def test_a_non_streamed_response_is_accepted() -> None:
    body: dict[str, Any] = {"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}
    made, chunks = read(*fragments(b" \n" + json.dumps(body, indent=2).encode(), 9))
    assert text_of(chunks) == "whole"
    assert made.failure is None


def test_an_error_as_plain_json_is_raised() -> None:
    made, _ = read(json.dumps({"error": {"code": 429, "message": "slow"}}).encode())
    assert isinstance(made.failure, RateLimitError)


def test_a_surrogate_pair_split_across_chunks_is_joined() -> None:
    first, second = (json.dumps(chunk("X")).replace("X", half) for half in (r"a\ud83e", r"\udd8ab"))
    _, chunks = read(b"data: " + first.encode() + b"\n\ndata: " + second.encode() + b"\n\n" + DONE)
    assert [found.text for found in chunks] == ["a", "🦊b"]


def test_a_lone_surrogate_is_replaced_in_place() -> None:
    first = json.dumps(chunk("X")).replace("X", r"a\ud83e")
    _, chunks = read(b"data: " + first.encode() + b"\n\n" + event(chunk("b")) + DONE)
    assert text_of(chunks) == "a\ufffdb"


def test_surrogates_in_tool_arguments_are_joined_per_call() -> None:
    def fragment(arguments: str) -> bytes:
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "X"}}
        return (
            b"data: " + json.dumps(chunk(None, tool_calls=[call])).replace("X", arguments).encode() + b"\n\n"
        )

    _, chunks = read(fragment(r"\ud83e"), fragment(r"\udd8a"), DONE)
    assert "".join(call.arguments for found in chunks for call in found.tool_calls) == "🦊"


def test_an_endless_event_is_refused() -> None:
    made = reader()
    block = b"x" * (1024 * 1024)
    made.feed(b"data: ")
    for _ in range(40):
        made.feed(block)
    assert isinstance(made.failure, MalformedResponseError)


@pytest.mark.parametrize("rest", [b"data: {", b"data: [DON", b"da", b": OPENROU", b'data: {"choices": []'])
def test_an_event_truncated_at_the_end_is_a_broken_connection(rest: bytes) -> None:
    made, _ = read(event(chunk("half")), rest)
    assert isinstance(made.failure, ConnectionFailedError)
    finished, chunks = read(event(chunk("whole", finish_reason="stop")), rest)
    assert finished.failure is None
    assert text_of(chunks) == "whole"


def test_a_non_json_body_is_malformed() -> None:
    made, _ = read(b'{"choices": [')
    assert isinstance(made.failure, MalformedResponseError)
