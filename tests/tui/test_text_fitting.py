"""Truncated and wrapped text fits into every width, and nothing is cut that had room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from forge_core.approval import ApprovalRequest, Effect
from forge_core.sanitize import safe_line
from forge_core.text_width import clip, clip_middle, clip_parts, clip_start, crop, hard_wrap, wrap_cells
from forge_core.workspace.change_source import ChangedFile, ChangeList, ChangeStatus, Counts
from forge_tui.screens.diff.screen import footer_line, header_line
from forge_tui.screens.prompts.request_text import facts_of
from forge_tui.terminal.first_paint.type_ahead import TypedLine
from forge_tui.widgets.blockview.rows import Canvas, without_tabs, wrap_words
from forge_tui.widgets.exact_text import ExactLine, command_lines, exact_rows
from forge_tui.widgets.status_text import DROP_ORDER, Figures, fit
from forge_tui.widgets.status_text import cells as cells_of_parts
from forge_tui.widgets.transcript.calls.card_header import draw_header
from forge_tui.widgets.transcript.markdown.table import Table, draw_table
from forge_tui.widgets.welcome.welcome_text import WelcomeContent, continue_offer, lines
from tests.support.transcripts import STYLES, row_text

WIDE = ("日", "\u3000", "👩", "💻", "ﷺ")
JOINING = ("\u200d", "\ufe0f", "❤", "🇩", "🇪", "🏽", "\u0301", "\u0e33", "ी", "\u1160", "\u200b")
UNSAFE = ("\x1b", "\x00", "\x7f", "\x9b", "\n", "\t", "\u202e", "\ufeff", "\udcff")

FOREIGN = st.text(st.sampled_from((*"ab /.é", *WIDE, *JOINING, *UNSAFE)), max_size=14)
"""As it comes from outside."""
SAFE = FOREIGN.map(safe_line)
"""As it reaches what cuts."""
WIDTHS = st.integers(0, 14)
PLAIN = Style()
LEAST = 10
"""Cells that a canvas works with where it has fewer, its gutter included."""

few = settings(max_examples=60, deadline=None)


@few
@given(SAFE, WIDTHS)
@example("日", 1)
@example("日", 0)
@example("❤\ufe0f❤\ufe0f", 3)
def test_what_is_cut_fits_and_what_fits_is_not_cut(text: str, width: int) -> None:
    for cut in (clip, clip_parts, clip_middle, clip_start):
        shown = cut(text, width)
        assert cell_len(shown) <= width, cut
        assert shown == text or cell_len(text) > width, cut
    assert cell_len(crop(text, width)) <= width and text.startswith(crop(text, width))


@few
@given(SAFE, WIDTHS)
@example("❤\ufe0fab", 2)
def test_pieces_fit_and_are_all_of_the_text(text: str, width: int) -> None:
    pieces = hard_wrap(text, width)
    assert "".join(pieces) == text and pieces
    assert all(cell_len(piece) <= max(width, 2) for piece in pieces)


@few
@given(SAFE, WIDTHS, st.sampled_from((wrap_words, wrap_cells)))
@example("", 0, wrap_cells)
@example("ab", 0, wrap_cells)
@example("ab", 0, wrap_words)
@example("\u1160日", 1, wrap_words)
def test_rows_fit_and_only_blanks_are_between_them(
    text: str, width: int, wrap: Callable[[str, int], list[tuple[int, int]]]
) -> None:
    rows = wrap(text, width)
    assert rows
    ends = [0, *(end for _, end in rows)]
    for before, (start, end) in zip(ends, rows, strict=False):
        assert cell_len(text[start:end]) <= max(width, 2)
        assert before <= start <= end and not text[before:start].strip()
    assert not text[ends[-1] :].strip()


@few
@given(FOREIGN, FOREIGN)
def test_no_tab_is_left(first: str, second: str) -> None:
    spans = without_tabs([(first, PLAIN), (second, PLAIN)])
    assert not any("\t" in text for text, _ in spans)
    assert "".join(text for text, _ in spans).replace(" ", "") == (first + second).translate(
        {ord("\t"): None, ord(" "): None}
    )


LABELS = st.one_of(
    st.sampled_from(("", " ", " - ", " - why", "x - ", "- ", "sandbox: on", "sandbox: OFF")),
    FOREIGN,
    st.builds("{} - {}. {}".format, FOREIGN, FOREIGN, FOREIGN),
)


@few
@given(LABELS, st.integers(0, 60), FOREIGN, st.booleans())
@example("sandbox: OFF - bwrap not found. Commands that may write will ask.", 0, "", False)
@example("sandbox: OFF - bwrap not found. Commands that may write will ask.", 12, "", True)
@example("日本 - 日本語", 9, "", False)
@example(" ", 0, "", False)
def test_the_status_bar_has_words_for_every_width(label: str, width: int, name: str, is_away: bool) -> None:
    figures = Figures(model=name, folder=name, branch=name, sandbox=label, is_away=is_away)
    left, right = fit(figures, width)
    parts = [*left, *right]
    assert all(part.text == safe_line(part.text) for part in parts)
    if any(part.name in DROP_ORDER for part in parts):
        assert cells_of_parts(left) + cells_of_parts(right) <= width


@few
@given(FOREIGN, LABELS, st.integers(0, 40), st.integers(0, 30))
def test_the_welcome_fits(name: str, label: str, width: int, height: int) -> None:
    figures = Figures(model=name, folder=name, provider="offline", sandbox=label)
    content = WelcomeContent("1.0", ("x" * 50,), found=name, first=continue_offer("id", name, "now", 3))
    for row in lines(figures, content, width, height):
        assert all(text == safe_line(text) for _, text in row)
        assert sum(cell_len(text) for _, text in row) <= width


@few
@given(SAFE, SAFE, SAFE, st.integers(0, 40), st.booleans())
def test_the_header_of_a_card_is_one_row(
    verb: str, target: str, result: str, width: int, is_kept: bool
) -> None:
    canvas = Canvas(width)
    words = (verb, PLAIN), (target, PLAIN), (result, PLAIN)
    draw_header(canvas, STYLES, *words, "12.0s", result, is_target_kept=is_kept)
    assert cell_len(row_text(canvas.rendered.rows[0])) <= max(width, 16)
    assert len(canvas.rendered.rows) == 1 or width < 16


@few
@given(st.lists(SAFE, min_size=1, max_size=4), st.lists(st.lists(SAFE, max_size=5), max_size=3), WIDTHS)
def test_a_table_fits(header: list[str], rows: list[list[str]], width: int) -> None:
    table = Table([[(text, PLAIN)] for text in header], [[[(text, PLAIN)] for text in row] for row in rows])
    canvas = Canvas(width)
    draw_table(table, canvas, STYLES)
    assert all(cell_len(row_text(row).rstrip()) <= max(width, LEAST) for row in canvas.rendered.rows)


@few
@given(SAFE, WIDTHS, st.sampled_from((wrap_words, wrap_cells)), st.sampled_from((0, 2)), st.booleans())
def test_a_line_on_a_canvas_fits(
    text: str,
    width: int,
    wrap: Callable[[str, int], list[tuple[int, int]]],
    hanging: int,
    is_filled: bool,
) -> None:
    canvas = Canvas(width, [Segment("│ ")])
    canvas.text([(text, PLAIN)], wrap=wrap, hanging=hanging, fill=PLAIN if is_filled else None)
    assert all(cell_len(row_text(row)) <= max(width, LEAST) for row in canvas.rendered.rows)


@few
@given(FOREIGN, WIDTHS, st.booleans())
def test_the_rows_of_a_request_fit_the_width(text: str, width: int, is_command: bool) -> None:
    assume("\u200d\u200d" not in text)
    shown = command_lines(text) if is_command else [ExactLine(line) for line in text.split("\n")]
    for row in exact_rows(shown, width):
        assert sum(cell_len(piece) for _, piece in row) <= max(width, 6)


@few
@given(FOREIGN, FOREIGN, st.integers(0, 80))
def test_any_fact_can_be_shown_in_a_prompt(text: str, other: str, room: int) -> None:
    request = ApprovalRequest(
        call_id="c",
        tool=text,
        effect=Effect.RUN,
        arguments={text: other},
        target=other,
        reason=text,
        session_rule="",
        details={text: other, "Purpose, as the model says": text},
    )
    facts = facts_of(request, Path("/work"), room=room)
    assert facts == safe_line(facts)


@few
@given(FOREIGN, FOREIGN, WIDTHS)
def test_the_lines_around_a_diff_have_words_for_every_width(name: str, title: str, width: int) -> None:
    file = ChangedFile(name, ChangeStatus.RENAMED, title, note=title)
    header = header_line(ChangeList(title, (file,)), file, 0, Counts(1, 2), width)
    assert header.plain == safe_line(header.plain)
    assert "q close" in footer_line(width, is_raw=False, is_whole=False).plain


@few
@given(FOREIGN, WIDTHS, st.integers(0, 20))
def test_text_typed_early_fits_its_line_and_all_of_it_is_kept(text: str, room: int, cut: int) -> None:
    line = TypedLine(room)
    data = text.replace("\x7f", "").encode(errors="surrogateescape")
    line.feed(data[:cut])
    line.feed(data[cut:])
    assert cell_len(line.text) <= room
    assert line.text.encode() + line.rest == data
