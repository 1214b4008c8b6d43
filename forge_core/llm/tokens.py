"""Estimates of token counts, without a tokenizer.

Exact counts come from the provider's usage after each answer. The constants are fitted to o200k_base: over 69
files of Python, C, JSON, JavaScript and English prose the mean of each kind is within 6 %, a single file
within 20 % as a rule (minified code 40 %); characters divided by four are up to 20 % off in the mean.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"[A-Z]*[a-z]+|[A-Z]+|[0-9]{1,3}|[^\x00-\x7f]+|[^\sA-Za-z0-9\x80-\U0010ffff]+|\n\s*|[ \t]{2,}"
)
_SCALE = 1.06
"""Brings the mean over all kinds to 1."""
_SAMPLE = 20_000
"""Characters looked at; of a longer text a beginning, a middle and an end, scaled up."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` has: 0 for an empty one, otherwise at least 1. Takes at most 5 ms
    for any length."""
    if not text:
        return 0
    if len(text) <= _SAMPLE:
        return max(1, round(_SCALE * _count(text)))
    third = _SAMPLE // 3
    middle = len(text) // 2
    sample = text[:third] + text[middle : middle + third] + text[-third:]
    return max(1, round(_SCALE * _count(sample) * len(text) / len(sample)))


def _count(text: str) -> float:
    tokens = 0.0
    for match in _PIECE.finditer(text):
        piece = match.group()
        first = piece[0]
        if first.isascii():
            if first.isalpha():
                tokens += 0.96 if len(piece) <= 8 else len(piece) / 6.5
            elif first.isspace():
                tokens += 0.7
            elif first.isdigit():
                tokens += 1
            else:
                tokens += 0.8 if len(piece) <= 2 else (len(piece) + 2) / 4
        else:
            tokens += _foreign(piece)
    return tokens


def _foreign(piece: str) -> float:
    """Return the tokens of characters beyond ASCII: emoji about 2 each, CJK 0.8, alphabets 0.35."""
    tokens = 0.0
    for char in piece:
        tokens += 2.0 if char >= "\U0001f000" else 0.8 if char >= "\u2e80" else 0.35
    return tokens
