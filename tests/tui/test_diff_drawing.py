"""Diffs as they are drawn: both sides complete and in order, words marked, columns aligned, one side copied."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from forge_core.result import FileDiff
from forge_core.sanitize import safe_text
from forge_tui.widgets.blockview import selection as selecting
from forge_tui.widgets.blockview.block_layout import Layout, TextPosition
from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.rows import NO_LINE, Canvas, RenderedBlock, Row
from forge_tui.widgets.blockview.selection import TextSelection
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.diff.drawing import DiffLayout, code_spans, draw_patch, draw_stretches, tokens_of
from forge_tui.widgets.diff.unified_diff import Patch, Stretch, read_patch
from forge_tui.widgets.diff.word_diff import changed_words, counterparts, row_pairs
from tests.support.chat_app import until
from tests.support.transcripts import STYLES, TranscriptApp, row_text, tool_ended, tool_started

pytestmark = pytest.mark.slow


LINES = st.lists(
    st.text(st.sampled_from("ab \t日\u0301é👍x-+@\\"), max_size=12)
    | st.sampled_from(["", "def f():", "    return 1", "--- a", "+++ b", "@@ -1 +1 @@", "\\ No newline"]),
    max_size=14,
)


def unified(old: Sequence[str], new: Sequence[str], context: int = 3) -> str:
    return "\n".join([*difflib.unified_diff(list(old), list(new), n=context, lineterm="")][2:])


def rendered(patch: Patch, width: int, *, is_split: bool, language: str = "") -> RenderedBlock:
    canvas = Canvas(width)
    look = DiffLayout.of(patch, language, is_split=is_split)
    for hunk in patch.hunks:
        draw_stretches(hunk.stretches, canvas, STYLES, look)
    return canvas.rendered


def side_text(picture: RenderedBlock, side: str) -> list[str]:
    """The lines of one side from its rows alone, as a reader goes down the column."""
    pieces: dict[int, str] = {}
    for row in picture.rows:
        for part in row.parts:
            if part.line != NO_LINE and picture.lines[part.line].side in ("", side):
                shown = row_text(row)[part.skip : part.skip + part.end - part.start]
                pieces[part.line] = pieces.get(part.line, "") + shown
    assert [picture.lines[line] for line in sorted(pieces)] == [pieces[line] for line in sorted(pieces)]
    originals = {line: picture.lines[line].original for line in sorted(pieces)}
    return [pieces[line] if original is None else original for line, original in originals.items()]


@pytest.mark.parametrize("is_split", [False, True])
@given(old=LINES, new=LINES, width=st.integers(30, 90))
@settings(max_examples=120, deadline=None)
def test_each_side_read_down_gives_exactly_its_text(
    old: list[str], new: list[str], width: int, is_split: bool
) -> None:
    patch = read_patch(unified(old, new, context=100))
    picture = rendered(patch, width, is_split=is_split)
    if old != new:
        assert side_text(picture, "old") == old
        assert side_text(picture, "new") == new
    assert all(cell_len(row_text(row)) <= width for row in picture.rows)


@given(old=LINES, new=LINES)
@settings(max_examples=80, deadline=None)
def test_every_old_and_new_line_has_one_place_in_the_two_columns(old: list[str], new: list[str]) -> None:
    stretch = Stretch(1, 1, old, new, is_same=False)
    rows = list(row_pairs(stretch, counterparts(stretch)))
    assert [at for at, _ in rows if at is not None] == list(range(len(old)))
    assert [at for _, at in rows if at is not None] == list(range(len(new)))
    assert (None, None) not in rows


@given(old=LINES, new=LINES, size=st.integers(1, 9), is_split=st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_stretch_in_pieces_holds_the_same_lines(
    old: list[str], new: list[str], size: int, is_split: bool
) -> None:
    stretch = Stretch(5, 7, old, new, False, bool(old), bool(new))
    parts = list(stretch.parts(size, is_split=is_split))
    assert [line for part in parts for line in part.old] == old
    assert [line for part in parts for line in part.new] == new
    assert [part.old_from + at - 5 for part in parts for at in range(len(part.old))] == [*range(len(old))]
    assert [part.new_from + at - 7 for part in parts for at in range(len(part.new))] == [*range(len(new))]
    assert sum(part.old_is_open for part in parts) == bool(old)
    assert sum(part.new_is_open for part in parts) == bool(new)


@given(
    old=st.text(st.sampled_from("ab c.(日é")),
    new=st.text(st.sampled_from("ab c.(日é")),
    is_code=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_the_marks_of_words_leave_the_line_as_it_is(old: str, new: str, is_code: bool) -> None:
    strong = Style(bgcolor="red")
    kept = []
    for line, ranges in zip((old, new), changed_words(old, new), strict=True):
        tokens = tokens_of([line], "python" if is_code else "")[0]
        spans = list(code_spans(tokens, ranges, Style.null(), strong, STYLES))
        assert "".join(text for text, _ in spans) == line
        assert "".join(text for text, style in spans if style.bgcolor == strong.bgcolor) == "".join(
            line[first:last] for first, last in ranges
        )
        kept.append("".join(text for text, style in spans if style.bgcolor != strong.bgcolor).split())
    assert "".join(kept[0]) == "".join(kept[1])  # what is not marked is the same on both sides


def test_a_diff_numbers_both_sides_and_highlights_changed_words() -> None:
    patch = read_patch("@@ -9,3 +9,3 @@\n context\n-old word here\n+new word here\n tail")
    rows = [row_text(row).rstrip() for row in rendered(patch, 40, is_split=False).rows]
    assert rows == [
        " 9  9   context",
        "10    - old word here",
        "   10 + new word here",
        "11 11   tail",
    ]
    strong = [
        segment.text
        for row in rendered(patch, 40, is_split=False).rows
        for segment in row.segments
        if segment.style
        and segment.style.bgcolor in (STYLES.added_strong.bgcolor, STYLES.removed_strong.bgcolor)
    ]
    assert strong == ["old", "new"]


def test_lines_removed_after_added_ones_are_another_change() -> None:
    patch = read_patch("@@ -1 +1 @@\n+new\n-old\n same")
    assert [(list(one.old), list(one.new), one.old_from, one.new_from) for one in patch.stretches] == [
        ([], ["new"], 1, 1),
        (["old"], [], 1, 2),
        (["same"], ["same"], 2, 2),
    ]


def test_lines_with_nothing_in_common_are_not_compared_word_by_word() -> None:
    assert counterparts(Stretch(1, 1, ["alpha beta gamma"], ["0123 4567"], is_same=False)) == []


def test_two_columns_align_with_wide_and_combining_characters_and_tabs() -> None:
    old = ["plain", "日本語日本語", "cafe\u0301\tx", "👍👍👍👍👍👍👍👍👍👍👍👍", "end"]
    picture = rendered(read_patch(unified(old, [line + "!" for line in old])), 60, is_split=True)
    for row in picture.rows:
        text = row_text(row)
        assert cell_len(text) == 60
        assert cell_len(text[: text.index("│")]) == 29


@pytest.mark.parametrize(
    ("columns", "filler", "is_split"),
    [
        (145, "", False),
        (146, "", True),
        (146, "x" * 65, True),
        (146, "x" * 66, False),
        (160, "\t" * 19, False),
    ],
)
async def test_a_card_shows_both_sides_if_each_has_70_columns_and_no_line_wraps(
    columns: int, filler: str, is_split: bool
) -> None:
    diff = FileDiff("a.py", f"@@ -1 +1,2 @@\n-old = 1\n+new = 1\n+{filler}", 2, 1)
    async with (app := TranscriptApp()).run_test(size=(columns, 20)) as pilot:
        app.transcript.apply(tool_started("edit", file_path="a.py"))
        app.transcript.apply(tool_ended("edit", summary="+1 −1", diffs=(diff,)))
        await until(pilot, lambda: any("new = 1" in row for row in app.rows()))
        assert any("old = 1" in row and "new = 1" in row for row in app.rows()) == is_split


TWO_HUNKS = "@@ -255,3 +255,3 @@ def gross(net):\n a\n-b\n+c\n d\n@@ -300,2 +300,1 @@\n-e\n f"


@pytest.mark.parametrize(
    ("diff", "titles"),
    [
        (TWO_HUNKS, ["  ⋮ lines 255–257  def gross(net):", "  ⋮ line 300"]),
        ("@@ -1,2 +1,2 @@\n a\n-b\n+c", []),
        ("@@ -8,2 +8,2 @@ class Till:\n a\n-b\n+c", ["⋮ lines 8–9  class Till:"]),
        ("@@ -8,2 +0,0 @@ class Till:\n-a\n-b", ["⋮ lines 8–9  class Till:"]),
    ],
)
def test_a_hunk_is_titled_by_its_lines_and_its_function(diff: str, titles: list[str]) -> None:
    patch = read_patch(diff)
    canvas = Canvas(60)
    draw_patch(patch, canvas, STYLES, "", 100)
    rows = [row_text(row).rstrip() for row in canvas.rendered.rows]
    assert [row for row in rows if "⋮" in row] == titles


def test_a_long_line_wraps_in_its_column() -> None:
    old, new = "a" * 70, "a" * 70 + " b"
    picture = rendered(read_patch(unified([old], [new])), 61, is_split=True)
    assert len(picture.rows) == 3
    assert [row_text(row)[30] for row in picture.rows] == ["│"] * 3
    assert side_text(picture, "old") == [old]
    assert side_text(picture, "new") == [new]


def test_a_new_file_has_one_column_even_on_a_wide_terminal() -> None:
    picture = rendered(read_patch("@@ -0,0 +1,2 @@\n+one\n+two"), 120, is_split=True)
    assert [row_text(row).rstrip() for row in picture.rows] == ["1 + one", "2 + two"]
    gone = rendered(read_patch("@@ -1,2 +0,0 @@\n-one\n-two"), 120, is_split=True)
    assert [row_text(row).rstrip() for row in gone.rows] == ["1 - one", "2 - two"]


@pytest.mark.parametrize("is_split", [False, True])
def test_a_missing_newline_at_the_end_is_shown_on_its_side(is_split: bool) -> None:
    patch = read_patch("@@ -1,2 +1,2 @@\n same\n-x\n\\ No newline at end of file\n+x")
    rows = [row_text(row) for row in rendered(patch, 80, is_split=is_split).rows]
    told = [row for row in rows if "no newline at end of file" in row]
    assert len(told) == 1
    if is_split:
        assert told[0].index("no newline") < told[0].index("│")


def test_tabs_in_a_remark_below_a_diff_are_replaced() -> None:
    patch = read_patch("@@ -1 +1 @@\n-x\n+y\n\\ odd\tremark ")
    assert patch.remarks == ["odd remark"]


def test_line_endings_are_shown_only_where_they_differ() -> None:
    alike = read_patch("@@ -1,2 +1,2 @@\n-a\r\n+b\r\n c\r\n")
    assert [list(stretch.new) for stretch in alike.stretches] == [["b"], ["c"]]
    unlike = read_patch("@@ -1 +1 @@\n-a\r\n+a\n")
    assert [(list(one.old), list(one.new)) for one in unlike.stretches] == [(["a␍"], ["a"])]


def test_a_line_inside_a_hunk_that_looks_like_a_header_is_a_line() -> None:
    patch = read_patch("@@ -1,2 +1,2 @@\n--- old\n+++ new\n @@ -1 +1 @@")
    assert [(list(one.old), list(one.new)) for one in patch.stretches] == [
        (["-- old"], ["++ new"]),
        (["@@ -1 +1 @@"], ["@@ -1 +1 @@"]),
    ]


def test_a_file_replaced_by_a_symlink_is_read_as_two_parts() -> None:
    diff = (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n"
        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+target\n"
        "\\ No newline at end of file\n"
    )
    patch = read_patch(diff)
    assert [(list(one.old), list(one.new)) for one in patch.stretches] == [(["text"], []), ([], ["target"])]


def test_control_bytes_of_a_file_are_escaped() -> None:
    patch = read_patch("@@ -1 +1 @@ \x1b[31mdef\n-\x1b[2Jold\x9b\n+\u202enew\x07\n")
    text = "".join(row_text(row) for row in rendered(patch, 60, is_split=False, language="python").rows)
    assert safe_text(text) == text
    assert "␛[2Jold" in text
    assert "\x1b" not in patch.hunks[0].heading


class PatchBlock(Block):
    """A block that holds nothing but a diff."""

    def __init__(self, patch: Patch, *, is_split: bool) -> None:
        super().__init__()
        self.gap = 0
        self._patch = patch
        self._is_split = is_split

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        look = DiffLayout.of(self._patch, is_split=self._is_split)
        draw_stretches(list(self._patch.stretches), canvas, styles, look)

    def estimate(self, width: int) -> int:
        return len(self._patch)


def layout_of_patch(*, is_split: bool) -> Layout:
    layout = Layout()
    layout.configure(80, 20, STYLES)
    layout.append(PatchBlock(read_patch("@@ -1,4 +1,4 @@\n a\n-\told\n+\tnew\n b\n c"), is_split=is_split))
    return layout


def line_of(layout: Layout, text: str, side: str) -> tuple[int, Row]:
    picture = layout.rendered(0)
    for row in picture.rows:
        for part in row.parts:
            if picture.lines[part.line].strip() == text and part.side in ("", side):
                return part.line, part
    raise AssertionError(text)


@pytest.mark.parametrize("is_split", [False, True])
def test_a_selection_copies_the_side_where_it_starts(is_split: bool) -> None:
    layout = layout_of_patch(is_split=is_split)
    first, last = line_of(layout, "a", "new")[0], line_of(layout, "c", "new")[0]
    new = TextSelection(TextPosition(0, first, 0), TextPosition(0, last, 1))
    assert selecting.selected_text(layout, new) == "a\n\tnew\nb\nc"
    first, last = line_of(layout, "old", "old")[0], line_of(layout, "c", "old")[0]
    old = TextSelection(TextPosition(0, first, 0), TextPosition(0, last, 1))
    assert selecting.selected_text(layout, old) == "\told\nb\nc"
    marked = [
        segment.text.strip()
        for row in layout.rendered(0).rows
        for segment in selecting.highlighted(row, 0, old, selecting.side_of(layout, old), Style(reverse=True))
        if segment.style is not None and segment.style.reverse
    ]
    assert marked == ["old", "b", "c"]


def test_the_mouse_position_maps_to_the_line_of_its_column() -> None:
    layout = layout_of_patch(is_split=True)
    picture = layout.rendered(0)
    number = next(at for at, row in enumerate(picture.rows) if "old" in row_text(row))
    row = picture.rows[number]
    for text in ("old", "new"):
        x = row_text(row).index(text)
        spot = selecting.position_at(layout, 0, number, x)
        assert picture.lines[spot.line].strip() == text
        assert picture.lines[spot.line][spot.at] == text[0]
