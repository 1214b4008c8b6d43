"""The estimate: near enough for a gauge, cheap at any length."""

from __future__ import annotations

import pytest

from forge_core.llm.tokens import estimate_tokens

COUNTED_BY_O200K = [
    ("Hello, world!", 4),
    ("def add(a: int, b: int) -> int:\n    return a + b\n", 19),
    ("The quick brown fox jumps over the lazy dog.", 10),
    ('{"path": "/tmp/test.txt", "limit": 100}', 14),
    ("Die Würde des Menschen ist unantastbar.", 11),
    ("人人生而自由,在尊严和权利上一律平等。", 16),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED_BY_O200K)
def test_the_estimate_is_within_a_third_of_the_true_count(text: str, tokens: int) -> None:
    assert tokens * 0.67 <= estimate_tokens(text) <= tokens * 1.34 + 1


def test_empty_text_has_no_tokens_and_other_text_at_least_one() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == 1


def test_a_long_text_is_estimated_from_samples() -> None:
    piece = "def f(a, b):\n    return a + b\n\n"
    exact = estimate_tokens(piece * 400)
    assert estimate_tokens(piece * 400_000) == pytest.approx(exact * 1000, rel=0.02)


def test_unusual_characters_can_be_estimated() -> None:
    assert estimate_tokens("\ud800\x00\x7f🦊\u2028") > 0
