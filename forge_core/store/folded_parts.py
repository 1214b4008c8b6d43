"""Which parts of a message were folded where it was written, as big pastes are: recorded with the message.

A folded part is recorded as its first and its last index, the latter exclusive, in the text as the journal
holds it, without keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

Span: TypeAlias = tuple[int, int]
_KEY = "folded"


def recorded_spans(text: str, spans: Sequence[Span], redact: Callable[[str], str]) -> dict[str, list[Span]]:
    """Return what the record of a message holds about its folded parts; empty without any, and where the
    redacted text no longer consists of the same parts."""
    if not spans:
        return {}
    ends = [0, *(end for span in spans for end in span), len(text)]
    parts = [redact(text[start:end]) for start, end in pairwise(ends)]
    if "".join(parts) != redact(text):  # a key on both sides of an end
        return {}
    found, at = [], 0
    for number, part in enumerate(parts):
        if number % 2:
            found.append((at, at + len(part)))
        at += len(part)
    return {_KEY: found}


def spans_of(data: dict[str, Any]) -> tuple[Span, ...]:
    """Return the folded parts in the record of a message; none where they do not fit its text."""
    recorded, text = data.get(_KEY), data.get("text")
    if not isinstance(recorded, list) or not isinstance(text, str):
        return ()
    spans = tuple(_spans(recorded))
    ends = [0, *(end for span in spans for end in span), len(text)]
    is_whole = len(spans) == len(recorded) and all(one <= other for one, other in pairwise(ends))
    return spans if is_whole else ()


def _spans(recorded: Sequence[object]) -> Iterator[Span]:
    for one in recorded:
        match one:
            case [int(start), int(end)]:
                yield start, end
