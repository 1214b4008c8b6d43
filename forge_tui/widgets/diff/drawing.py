"""Rows of a diff: stacked, or side by side if there is room.

No change is shown by colour alone: each changed line has a sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

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


WORD = "word"
"""The kind of a part of a line that has changed."""


def code_parts(tokens: Sequence[CodeToken], changed: Ranges) -> Iterator[CodeToken]:
    """Yield one line in parts, each with its kind: that of its token, or `WORD` where the line changed."""
    edges = [edge for span in changed for edge in span]
    at = 0
    for kind, text in tokens:
        end = at + len(text)
        start = at
        for stop in (*(edge for edge in edges if at < edge < end), end):
            is_changed = any(first <= start and stop <= last for first, last in changed)
            yield WORD if is_changed else kind, text[start - at : stop - at]
            start = stop
        at = end


def code_spans(
    tokens: Sequence[CodeToken], changed: Ranges, under: Style, strong: Style, styles: TranscriptStyles
) -> Iterator[StyledSpan]:
    """Yield the spans of one line: `under` all of it, `strong` under the ranges that changed.

    A language's colours are made for the normal background: text on `strong`, and comments on any other
    background, are in the colour of text.
    """
    for kind, text in code_parts(tokens, changed):
        if kind == WORD:
            yield text, under + strong
        else:
            is_coloured = kind and (under.bgcolor is None or kind != "comment")
            yield text, under + styles.syntax[kind] if is_coloured else under


LineLook: TypeAlias = "tuple[Segment, Segment, list[StyledSpan], Style | None]"
"""The gutter of a line's first row and of the others, its spans, and the fill of its rows."""


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
    for row in lines_of(stretches, look.language):
        draw(row)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of one side, with its tokens and changed words."""

    number: int
    text: str
    tokens: list[CodeToken]
    side: Side
    changed: Ranges = ()
    is_open: bool = False
    """Whether it ends without a newline."""
    other_number: int | None = None
    """Of an unchanged line: its number on the old side."""


@dataclass(frozen=True, slots=True)
class StretchLines:
    """The lines of a stretch: both sides, and which of them are counterparts."""

    stretch: Stretch
    old: list[DiffLine]
    new: list[DiffLine]
    alike: Sequence[tuple[int, int]]

    @property
    def stacked(self) -> list[DiffLine]:
        """All removed lines, then all added ones; unchanged ones once."""
        return self.new if self.stretch.is_same else [*self.old, *self.new]


def lines_of(
    stretches: Sequence[Stretch], language: str, *, has_words: bool = True
) -> Iterator[StretchLines]:
    """Yield the lines of these stretches of one hunk with their tokens
    and, if `has_words`, their changed words."""
    # Each side is lexed as one text, so that a string may extend over several stretches.
    tokens = [
        iter(tokens_of([line for stretch in stretches for line in lines(stretch)], language))
        for lines in (attrgetter("old"), attrgetter("new"))
    ]
    for stretch in stretches:
        alike = counterparts(stretch) if has_words else ()
        changed: tuple[dict[int, Ranges], dict[int, Ranges]] = ({}, {})
        for old, new in () if stretch.is_same else alike:
            changed[0][old], changed[1][new] = changed_words(stretch.old[old], stretch.new[new])
        before = _cells("old", stretch, tokens[0], changed[0])
        after = _cells("new", stretch, tokens[1], changed[1])
        yield StretchLines(stretch, before, after, alike)


def gutter_of(cell: DiffLine, look: DiffLayout) -> str:
    """Return the line numbers of both sides and the sign of a line."""
    is_same = cell.other_number is not None
    old_number = str(cell.other_number) if is_same else str(cell.number) if cell.side == "old" else ""
    new_number = "" if cell.side == "old" else str(cell.number)
    numbers = [
        number.rjust(digits)
        for number, digits in ((old_number, look.old_digits), (new_number, look.new_digits))
        if digits
    ]
    return f"{' '.join(numbers)} {sign_of(cell)} "


def sign_of(cell: DiffLine) -> str:
    """Return the sign of a line: a blank if it is unchanged."""
    if cell.other_number is not None:
        return " "
    return "-" if cell.side == "old" else "+"


class _Painter:
    def __init__(self, canvas: Canvas, styles: TranscriptStyles, look: DiffLayout) -> None:
        self._canvas = canvas
        self._styles = styles
        self._look = look

    def stacked(self, lines: StretchLines) -> None:
        """Draw all removed lines, then all added ones."""
        for cell in lines.stacked:
            self._line(cell)

    def split(self, lines: StretchLines) -> None:
        """Draw the old side on the left, the new one on the right."""
        room = self._canvas.width - 1
        for old_at, new_at in row_pairs(lines.stretch, lines.alike):
            left = None if old_at is None else lines.old[old_at]
            right = None if new_at is None else lines.new[new_at]
            columns = (
                self._column(left, room // 2, self._look.old_digits),
                self._column(right, room - room // 2, self._look.new_digits),
            )
            self._canvas.columns(*columns, Segment("│", self._styles.faint))
            self._note_open_ends(left, right, room // 2)

    def _line(self, cell: DiffLine) -> None:
        first, rest, spans, fill = self._look_of(cell, gutter_of(cell, self._look))
        with self._canvas.indented([rest], [first]):
            side = "" if cell.other_number is not None else cell.side
            self._canvas.text(spans, wrap=wrap_cells, fill=fill, original=cell.text, side=side)
        if cell.is_open:
            self._canvas.decoration([(rest.text + OPEN_END, self._styles.faint)])

    def _column(self, cell: DiffLine | None, width: int, digits: int) -> Column:
        if cell is None:
            return Column(width)
        margin = " " if cell.side == "new" else ""  # apart from the bar between the columns
        gutter = f"{margin}{cell.number:>{digits}} {sign_of(cell)} "
        first, rest, spans, fill = self._look_of(cell, gutter)
        return Column(width, spans, first, rest, fill, cell.text, cell.side)

    def _note_open_ends(self, left: DiffLine | None, right: DiffLine | None, width: int) -> None:
        if not any(cell is not None and cell.is_open for cell in (left, right)):
            return
        texts = [
            " " * (gutter + 3) + OPEN_END if cell is not None and cell.is_open else ""
            for cell, gutter in ((left, self._look.old_digits), (right, self._look.new_digits + 1))
        ]
        first = clip(texts[0], width).ljust(width)
        self._canvas.decoration([(clip(f"{first}│{texts[1]}", self._canvas.width), self._styles.faint)])

    def _look_of(self, cell: DiffLine, gutter: str) -> LineLook:
        styles = self._styles
        fill: Style | None
        if cell.other_number is not None:
            colour, fill, strong = styles.muted, None, Style.null()
        elif cell.side == "old":
            colour, fill, strong = styles.removed_sign, styles.removed, styles.removed_strong
        else:
            colour, fill, strong = styles.added_sign, styles.added, styles.added_strong
        spans = code_spans(cell.tokens, cell.changed, fill or styles.text, strong, styles)
        return Segment(gutter, colour), Segment(" " * len(gutter), fill), without_tabs(spans), fill


def _cells(
    side: Side, stretch: Stretch, tokens: Iterator[list[CodeToken]], changed: Mapping[int, Ranges]
) -> list[DiffLine]:
    """Return the cells of one side of a stretch; consume their tokens."""
    is_old = side == "old"
    lines = stretch.old if is_old else stretch.new
    first = stretch.old_from if is_old else stretch.new_from
    is_open = stretch.old_is_open if is_old else stretch.new_is_open
    last = len(lines) - 1
    return [
        DiffLine(
            first + at,
            line,
            next(tokens),
            side,
            changed.get(at, ()),
            is_open and at == last,
            stretch.old_from + at if stretch.is_same else None,
        )
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
