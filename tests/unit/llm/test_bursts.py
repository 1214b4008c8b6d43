"""What comes at once is handed out in fewer pieces, and all of it, in order."""

from __future__ import annotations

import pytest

from forge_core.llm.http.chunk_reader import MAX_MERGED, MIN_BURST, merge_burst
from forge_core.llm.models import StreamChunk, TokenUsage, ToolCallDelta


def words(count: int) -> list[StreamChunk]:
    return [StreamChunk(text=f"w{number} ", id="a", model="m") for number in range(count)]


def test_a_few_chunks_are_not_merged() -> None:
    chunks = words(MIN_BURST - 1)
    assert merge_burst(chunks) is chunks


def test_text_chunks_of_a_burst_are_merged() -> None:
    text = "".join(chunk.text for chunk in words(100))
    chunks = merge_burst(words(100))
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks) == -(-100 // MAX_MERGED)
    assert {(chunk.id, chunk.model) for chunk in chunks} == {("a", "m")}


@pytest.mark.parametrize(
    "other",
    (
        StreamChunk(reasoning="hm"),
        StreamChunk(text="end", finish_reason="stop"),
        StreamChunk(text="x", usage=TokenUsage(prompt_tokens=1)),
        StreamChunk(tool_calls=[ToolCallDelta(index=0, arguments="{")]),
        StreamChunk(comment="OPENROUTER PROCESSING"),
        StreamChunk(text="x", generation_id="g"),
        StreamChunk(text="x", id="another"),
    ),
)
def test_chunks_with_more_than_text_are_not_merged_and_keep_their_position(other: StreamChunk) -> None:
    before, after = words(9), words(9)
    text = "".join(chunk.text for chunk in before)
    chunks = merge_burst([*before, other, *after])
    assert [chunk.text for chunk in chunks] == [text, other.text, text]
    assert chunks[1] is other
