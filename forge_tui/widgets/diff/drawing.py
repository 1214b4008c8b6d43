"""Rows of a diff: stacked, or side by side if there is room.

No change is shown by colour alone: each changed line has a sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from rich.segment import Segment
from rich.style import Style

from forge_core.text_width import clip, wrap_cells
from forge_tui.widgets.blockview.highlighting import CodeToken, highlight
from forge_tui.widgets.blockview.rows import Canvas, Column, Side, StyledSpan, without_tabs
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.diff.unified_diff import DiffHunk, Patch, Stretch
from forge_tui.widgets.diff.word_diff import Ranges, changed_words, counterparts, row_pairs

SIDE_CELLS = 70
"""The least cells of a side of two columns, its line numbers included."""
OPEN_END = "no newline at end of file"


def tokens_of(lines: Sequence[str], language: str) -> list[list[CodeToken]]:
    """Return the tokens of each line, lexed as one text."""
    plain: list[list[CodeToken]] = [[("", line)] for line in lines]
    if not language or not lines:
        return plain
    tokens, _ = highlight("\n".join(lines), language)
    # A lexer may drop or change characters; such a line is shown without highlighting.
    return [
        found if "".join(text for _, text in found) == line else whole
        for line, found, whole in zip(lines, [*tokens, *plain[len(tokens) :]], plain, strict=False)
    ]


def code_spans(
    tokens: Sequence[CodeToken], changed: Ranges, under: Style, strong: Style, styles: TranscriptStyles
) -> Iterator[StyledSpan]:
    """Yield the spans of one line: `under` all of it, `strong` under the ranges that changed.

    A language's colours are made for the normal background: text on `strong`, and comments on any other
    background, are in the colour of text.
    """
    is_plain = under.bgcolor is None
    edges = [edge for span in changed for edge in span]
    at = 0
    for kind, text in tokens:
        style = under + styles.syntax[kind] if kind and (is_plain or kind != "comment") else under
        end = at + len(text)
        start = at
        for stop in (*(edge for edge in edges if at < edge < end), end):
            is_changed = any(first <= start and stop <= last for first, last in changed)
            yield text[start - at : stop - at], under + strong if is_changed else style
            start = stop
        at = end


@dataclass(frozen=True, slots=True)
class DiffLayout:
    """The layout of a file's lines."""

    is_split: bool = False
    old_digits: int = 0
    """Cells of the old line numbers; 0 without an old side. The same for the new ones."""
    new_digits: int = 0
    language: str = ""

    @classmethod
    def of(cls, patch: Patch, language: str = "", *, is_split: bool = False) -> DiffLayout:
        """Return the layout; side by side only if both sides have lines: a new file needs no empty column."""
        old, new = patch.last_numbers
        has_old, has_new = patch.has_old, patch.has_new
        return cls(
            is_split and has_old and has_new,
            len(str(old)) if has_old or not has_new else 0,
            len(str(new)) if has_new else 0,
            language,
        )


def fits_split(patch: Patch, width: int) -> bool:
    """Return whether both sides have room beside each other in `width` cells, without a wrapped line."""
    side = (width - 1) // 2
    gutter = max(len(str(number)) for number in patch.last_numbers) + 4
    return side >= SIDE_CELLS and gutter + patch.widest <= side


def draw_patch(
    patch: Patch,
    canvas: Canvas,
    styles: TranscriptStyles,
    language: str,
    room: int,
    whole: Patch | None = None,
    *,
    is_continued: bool = False,
) -> int:
    """Add the first `room` lines (or rows of two) of `patch`; return how many lines are left out.

    `whole`: the patch that it is a part of; all parts have the same layout. `is_continued`: the part does not
    begin its first hunk.
    """
    whole = whole or patch
    look = DiffLayout.of(whole, language, is_split=fits_split(whole, canvas.width))
    hidden = len(patch)
    for number, hunk in enumerate(patch.hunks):
        if room <= 0:
            break
        if whole.has_titles and (number or not is_continued):
            draw_title(hunk, canvas, styles, look)
        shown = list(_head(hunk, room, look.is_split))
        draw_stretches(shown, canvas, styles, look)
        hidden -= sum(map(len, shown))
        room -= sum(_rows(stretch, look.is_split) for stretch in shown)
    for remark in patch.remarks if not hidden else ():
        canvas.decoration([(clip(remark, canvas.width), styles.muted)])
    return hidden


def draw_title(hunk: DiffHunk, canvas: Canvas, styles: TranscriptStyles, look: DiffLayout) -> None:
    """Add the quiet row above a hunk."""
    dots = "⋮".rjust(look.old_digits or look.new_digits)
    title = clip(hunk.title, max(0, canvas.width - len(dots) - 1))
    canvas.decoration([(clip(f"{dots} ", canvas.width), styles.faint), (title, styles.muted)])


def draw_stretches(
    stretches: Sequence[Stretch], canvas: Canvas, styles: TranscriptStyles, look: DiffLayout
) -> None:
    """Add the rows of these stretches of one hunk."""
    painter = _Painter(canvas, styles, look)
    draw = painter.split if look.is_split else painter.stacked
    # Each side is lexed as one text, so that a string may extend over several stretches.
    tokens = [
        iter(tokens_of([line for stretch in stretches for line in lines(stretch)], look.language))
        for lines in (attrgetter("old"), attrgetter("new"))
    ]
    for stretch in stretches:
        alike = counterparts(stretch)
        changed: tuple[dict[int, Ranges], dict[int, Ranges]] = ({}, {})
        for old, new in () if stretch.is_same else alike:
            changed[0][old], changed[1][new] = changed_words(stretch.old[old], stretch.new[new])
        draw(
            stretch,
            _cells("old", stretch.old_from, stretch.old, stretch.old_is_open, tokens[0], changed[0]),
            _cells("new", stretch.new_from, stretch.new, stretch.new_is_open, tokens[1], changed[1]),
            alike,
        )


@dataclass(frozen=True, slots=True)
class _Cell:
    """One line of one side, with its tokens and changed words."""

    number: int
    text: str
    tokens: list[CodeToken]
    side: Side
    changed: Ranges = ()
    is_open: bool = False


class _Painter:
    def __init__(self, canvas: Canvas, styles: TranscriptStyles, look: DiffLayout) -> None:
        self._canvas = canvas
        self._styles = styles
        self._look = look

    def stacked(
        self, stretch: Stretch, old: list[_Cell], new: list[_Cell], alike: Sequence[tuple[int, int]]
    ) -> None:
        """Draw all removed lines, then all added ones."""
        if stretch.is_same:
            for at, cell in enumerate(new):
                self._line(cell, str(stretch.old_from + at))
        else:
            for cell in (*old, *new):
                self._line(cell)

    def split(
        self, stretch: Stretch, old: list[_Cell], new: list[_Cell], alike: Sequence[tuple[int, int]]
    ) -> None:
        """Draw the old side on the left, the new one on the right."""
        room = self._canvas.width - 1
        for old_at, new_at in row_pairs(stretch, alike):
            left = None if old_at is None else old[old_at]
            right = None if new_at is None else new[new_at]
            columns = (
                self._column(left, room // 2, self._look.old_digits, stretch.is_same),
                self._column(right, room - room // 2, self._look.new_digits, stretch.is_same),
            )
            self._canvas.columns(*columns, Segment("│", self._styles.faint))
            self._note_open_ends(left, right, room // 2)

    def _line(self, cell: _Cell, old_number: str = "") -> None:
        look = self._look
        is_same = bool(old_number)
        new_number = "" if cell.side == "old" else str(cell.number)
        if cell.side == "old":
            old_number = str(cell.number)
        numbers = [
            number.rjust(digits)
            for number, digits in ((old_number, look.old_digits), (new_number, look.new_digits))
            if digits
        ]
        first, rest, spans, fill = self._look_of(cell, " ".join(numbers), is_same)
        with self._canvas.indented([rest], [first]):
            side = "" if is_same else cell.side
            self._canvas.text(spans, wrap=wrap_cells, fill=fill, original=cell.text, side=side)
        if cell.is_open:
            self._canvas.decoration([(rest.text + OPEN_END, self._styles.faint)])

    def _column(self, cell: _Cell | None, width: int, digits: int, is_same: bool) -> Column:
        if cell is None:
            return Column(width)
        margin = " " if cell.side == "new" else ""  # apart from the bar between the columns
        first, rest, spans, fill = self._look_of(cell, f"{margin}{cell.number:>{digits}}", is_same)
        return Column(width, spans, first, rest, fill, cell.text, cell.side)

    def _note_open_ends(self, left: _Cell | None, right: _Cell | None, width: int) -> None:
        if not any(cell is not None and cell.is_open for cell in (left, right)):
            return
        texts = [
            " " * (gutter + 3) + OPEN_END if cell is not None and cell.is_open else ""
            for cell, gutter in ((left, self._look.old_digits), (right, self._look.new_digits + 1))
        ]
        first = clip(texts[0], width).ljust(width)
        self._canvas.decoration([(clip(f"{first}│{texts[1]}", self._canvas.width), self._styles.faint)])

    def _look_of(
        self, cell: _Cell, numbers: str, is_same: bool
    ) -> tuple[Segment, Segment, list[StyledSpan], Style | None]:
        """Return the gutter of a line's first row and of the others, its spans, and the fill of its rows."""
        styles = self._styles
        fill: Style | None
        if is_same:
            sign, colour, fill, strong = " ", styles.faint, None, Style.null()
        elif cell.side == "old":
            sign, colour, fill, strong = "-", styles.removed_sign, styles.removed, styles.removed_strong
        else:
            sign, colour, fill, strong = "+", styles.added_sign, styles.added, styles.added_strong
        gutter = f"{numbers} {sign} "
        spans = code_spans(cell.tokens, cell.changed, fill or styles.text, strong, styles)
        return Segment(gutter, colour), Segment(" " * len(gutter), fill), without_tabs(spans), fill


def _cells(
    side: Side,
    first: int,
    lines: Sequence[str],
    is_open: bool,
    tokens: Iterator[list[CodeToken]],
    changed: Mapping[int, Ranges],
) -> list[_Cell]:
    """Return the cells of one side of a stretch; consume their tokens."""
    last = len(lines) - 1
    return [
        _Cell(first + at, line, next(tokens), side, changed.get(at, ()), is_open and at == last)
        for at, line in enumerate(lines)
    ]


def _head(hunk: DiffHunk, room: int, is_split: bool) -> Iterator[Stretch]:
    for stretch in hunk.stretches:
        if room <= 0:
            return
        head = stretch.head(room, is_split=is_split)
        yield head
        room -= _rows(head, is_split)


def _rows(stretch: Stretch, is_split: bool) -> int:
    """Return the approximate number of rows, unwrapped."""
    return max(len(stretch.old), len(stretch.new)) if is_split else len(stretch)
