"""Text width: the same as Rich's, and so the same as what is drawn."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len as rich_cell_len
from rich.cells import get_character_cell_size

from forge_core.text_width import (
    cell_len,
    character_width,
    clip,
    clip_middle,
    clip_parts,
    clip_start,
    crop,
    graphemes,
    wrap_cells,
)

pytestmark = pytest.mark.slow


TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab /.é日👩💻❤\u200d\ufe0f🇩🇪🏽\u0301\u0e33ी\u1160\u200b#\u20e3✔\n\t\x1b"),
        st.characters(),
    ),
    max_size=30,
)


def test_every_character_is_as_wide_as_rich_draws_it() -> None:
    wrong = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if character_width(chr(code)) != get_character_cell_size(chr(code))
    ]
    assert wrong == []


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("👩\u200d💻")
@example("\u200da")
@example("a\u200d\u200db")
@example("❤\ufe0f\ufe0f❤\ufe0f")
@example("日" * 600 + "❤\ufe0f")
def test_every_text_is_as_wide_as_rich_draws_it(text: str) -> None:
    assert cell_len(text) == rich_cell_len(text)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("\u200da")
@example("\ufe0f")
def test_graphemes_cover_the_text_and_their_widths_add_up(text: str) -> None:
    found = list(graphemes(text))
    assert "".join(text[start:end] for start, end, _ in found) == text
    assert sum(width for _, _, width in found) == cell_len(text)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("plain", 5),
        ("naïve", 5),
        ("soft\u00adhyphen", 11),
        ("cafe\u0301", 4),
        ("日本語", 6),
        ("👩\u200d💻", 2),
        ("👍🏽", 2),
        ("❤", 1),
        ("❤\ufe0f", 2),
        ("1\ufe0f\u20e3", 2),
        ("हिन्दी", 3),
        ("", 0),
    ],
)
def test_grapheme_clusters_are_measured_as_one_character(text: str, width: int) -> None:
    assert cell_len(text) == width


def test_truncation_never_splits_a_grapheme() -> None:
    technician = "👩\u200d💻"
    assert crop(f"a{technician}b", 2) == "a"
    assert clip(f"a{technician}bc", 3) == "a…"
    assert clip(f"a{technician}bc", 4) == f"a{technician}…"
    assert clip_start(f"bc{technician}a", 4) == f"…{technician}a"
    assert clip_middle(f"{technician * 3}", 5) == f"…{technician * 2}"


def test_each_clip_keeps_its_part_of_the_text() -> None:
    assert clip("one two", 5) == "one…"
    assert clip_start("one two", 5) == "…two"
    assert clip_middle("src/engine/core.py", 10) == "src…ore.py"
    assert clip_parts("one · two · three", 12) == "one · two"
    assert [clip("日本", width) for width in range(5)] == ["", "…", "…", "日…", "日本"]


def test_rows_are_broken_before_the_grapheme_that_does_not_fit() -> None:
    assert wrap_cells("a日b", 2) == [(0, 1), (1, 2), (2, 3)]
    assert wrap_cells("abcde", 2) == [(0, 2), (2, 4), (4, 5)]
    assert wrap_cells("", 2) == [(0, 0)]
