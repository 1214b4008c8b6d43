"""The event-stream reader: whatever way the bytes are cut, the same events come out."""

from __future__ import annotations

import pytest

from forge_core.errors import MalformedResponseError
from forge_core.llm.http.sse import SseEvent, SseReader


def read(*pieces: bytes, limit: int = 1000) -> list[SseEvent]:
    reader = SseReader(limit)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.close()


def data(*pieces: bytes) -> list[str]:
    return [event.data for event in read(*pieces) if event.comment is None]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_ending_of_the_grammar_separates_events(end: bytes) -> None:
    assert data(b"data: a" + end + end + b"data: b" + end + end) == ["a", "b"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_splitting_the_bytes_anywhere_gives_the_same_events(size: int, end: bytes) -> None:
    lines = (
        ": hi",
        "data: grün 🦊",
        "",
        "event: x",
        "id: 7",
        "data: two",
        "data:lines",
        "",
        "data: last",
        "",
    )
    whole = end.join(line.encode() for line in lines) + end
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert read(*pieces) == read(whole)
    assert data(*pieces) == ["grün 🦊", "two\nlines", "last"]


def test_a_byte_order_mark_is_dropped_even_when_split() -> None:
    assert data(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == ["a"]
    assert data(b"data: \xef\xbb\xbfkept\n\n") == ["\ufeffkept"]


def test_comments_are_returned_with_their_text_and_without_data() -> None:
    assert read(b": OPENROUTER PROCESSING\n\n") == [SseEvent("", "OPENROUTER PROCESSING")]


def test_an_unterminated_last_event_is_returned() -> None:
    assert data(b"data: a\n\ndata: b") == ["a", "b"]
    assert data(b"data: b\n") == ["b"]


def test_only_one_space_after_the_colon_is_dropped() -> None:
    assert data(b"data:  a \n\n") == [" a "]
    assert data(b"data\n\n") == [""]


def test_other_fields_and_lone_blank_lines_give_no_events() -> None:
    assert data(b"\n\nevent: ping\nretry: 10\ndatax: no\n\n\n") == []


def test_invalid_utf8_becomes_the_replacement_character() -> None:
    assert data(b"data: a\xffb\n\n") == ["a\ufffdb"]


def test_unicode_line_separators_do_not_end_a_line() -> None:
    text = "a\u2028b\x0bc\x85d"
    assert data(f"data: {text}\n\n".encode()) == [text]


@pytest.mark.parametrize(
    "pieces",
    [[b"data: " + b"x" * 2000], [b"x" * 600, b"x" * 600], [b"data: " + b"x" * 300 + b"\n"] * 5],
)
def test_a_line_or_event_over_the_size_limit_is_rejected(pieces: list[bytes]) -> None:
    with pytest.raises(MalformedResponseError, match="1,000 bytes"):
        read(*pieces)


def test_the_size_limit_applies_to_each_event_separately() -> None:
    assert len(data(*[b"data: " + b"x" * 300 + b"\n\n"] * 20)) == 20
