"""Figures as people read them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forge_core.commands.columns import table
from forge_core.commands.figures import cost_text, dollars, percent_text, share_text, tokens_text, window_text
from forge_core.text_width import cell_len, clip, clip_start


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_430, "12.4k"), (999_949, "999.9k"), (2_500_000, "2.5M")],
)
def test_token_counts_are_abbreviated(count: int, said: str) -> None:
    assert tokens_text(count) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [(None, "?"), (0, "?"), (200_000, "200k"), (1_000_000, "1M"), (131_072, "131.1k"), (1_050_000, "1.1M")],
)
def test_window_sizes_are_rounded(size: int | None, said: str) -> None:
    assert window_text(size) == said


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        ("0", "$0.00"),
        ("0.0312", "$0.031"),
        ("0.3129", "$0.313"),
        ("0.0021", "$0.0021"),
        ("0.00042", "$0.00042"),
        ("0.0000003", "<$0.000001"),
        ("1.239", "$1.24"),
        ("1234.5", "$1234.50"),
    ],
)
def test_dollars_show_two_significant_digits(usd: str, said: str) -> None:
    assert dollars(Decimal(usd)) == said


def test_small_dollar_amounts_with_fixed_digits_are_not_shown_as_zero() -> None:
    assert dollars(Decimal("0.03"), 4) == "$0.0300"
    assert dollars(Decimal("0.00001"), 4) == "<$0.0001"
    assert dollars(Decimal(0), 4) == "$0.0000"


def test_a_known_cost_is_shown_with_a_mark_for_unknown_parts() -> None:
    assert cost_text(None, Decimal("0.03"), "openrouter") == "$0.030+?"
    assert cost_text(None, None, "openrouter", is_estimate=True) == "?"
    assert cost_text(Decimal(0), Decimal(0), "offline") == "offline"


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "0%"), (0, 9, "0%"), (1, 200, "<1%"), (1, 1000, "<1%"), (62, 1000, "6%"), (9, 3, "100%")],
)
def test_a_nonzero_share_is_not_shown_as_zero_percent(part: int, whole: int, said: str) -> None:
    assert percent_text(part, whole) == said


def test_a_share_in_a_table_has_one_decimal_where_useful() -> None:
    assert [share_text(part, 1000) for part in (0, 0.9, 1, 62, 999, 1000)] == [
        "0%",
        "<0.1%",
        "0.1%",
        "6.2%",
        "99.9%",
        "100%",
    ]


def test_columns_line_up_in_cells_not_in_characters() -> None:
    rows = table([("日本語", "1"), ("e\u0301t\u0301", "22"), ("plain", "333")]).splitlines()
    assert {cell_len(row) for row in rows} == {6 + 2 + 3}


def test_text_is_truncated_by_cells_at_either_end() -> None:
    assert (clip("日本語です", 7), cell_len(clip("日本語です", 6))) == ("日本語…", 5)
    assert clip_start("anthropic/claude-sonnet-5", 16) == "…claude-sonnet-5"
    assert clip("short", 5) == clip_start("short", 5) == "short"
