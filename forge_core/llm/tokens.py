"""Tokens counted without a tokenizer: an estimate, and it says so by its name.

Exact counts come from the provider's usage after each answer. Within ±15 % of o200k_base on English prose,
Python and JSON, the constants below were fitted on those; characters divided by four are 19 % off on Python.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]{1,3}|[^\x00-\x7f]+|[^\sA-Za-z0-9]+|\n\s*|[ \t]{2,}")
_SAMPLE = 20_000
"""Characters looked at; of a longer text a beginning, a middle and an end, scaled up."""


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is; 0 for an empty one, at least 1 otherwise. At most 2 ms for any
    length."""
    if not text:
        return 0
    if len(text) <= _SAMPLE:
        return max(1, round(_count(text)))
    third = _SAMPLE // 3
    middle = len(text) // 2
    sample = text[:third] + text[middle : middle + third] + text[-third:]
    return max(1, round(_count(sample) * len(text) / len(sample)))


def _count(text: str) -> float:
    tokens = 0.0
    for match in _PIECE.finditer(text):
        piece = match.group()
        first = piece[0]
        if first.isascii():
            if first.isalpha():
                tokens += 1 if len(piece) <= 7 else len(piece) / 5.5
            elif first.isspace() or first.isdigit():
                tokens += 1
            else:
                tokens += (len(piece) + 2) / 3
        else:
            tokens += _foreign(piece)
    return tokens


def _foreign(piece: str) -> float:
    """Letters beyond ASCII: about 0.75 tokens each in CJK and emoji, less in alphabets."""
    wide = sum(1 for char in piece if char >= "\u2e80")
    return wide * 0.75 + (len(piece) - wide) * 0.45
