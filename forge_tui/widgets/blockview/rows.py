"""Rows of the screen, made from the logical lines that selection and copying use; wrapping by cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from forge_core.sanitize import mark_invisible
from forge_core.text_width import cell_len, wrap_cells

StyledSpan: TypeAlias = tuple[str, Style]
"""A run of text in one style."""

_WIDE = "\u1100-\u115f\u2e80-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
_WORDS = re.compile(rf"[{_WIDE}]\s*|[^\s{_WIDE}]+\s*|\s+")
"""A word with the space after it; scripts written without spaces may break after each character."""
Side: TypeAlias = Literal["", "old", "new"]
"""Which version of a file a line belongs to; "" for both, and outside of diffs."""
NO_LINE = -1
"""`Row.line` of a row without text of its own (a gap, a rule)."""
_LEAST_ROOM = 16
"""Cells that deep nesting leaves for text."""
TAB_CELLS = 4
_INDENTS_KEPT = 2
"""Indents that are kept in any width."""


def without_tabs(spans: Iterable[StyledSpan]) -> list[StyledSpan]:
    """Return the `spans` of one line with its tabs expanded to multiples of 4 cells."""
    expanded: list[StyledSpan] = []
    column = 0
    for text, style in spans:
        first, *rest = text.split("\t")
        shown = first
        for part in rest:
            shown += " " * (TAB_CELLS - (column + cell_len(shown)) % TAB_CELLS) + part
        column += cell_len(shown)
        expanded.append((shown, style))
    return expanded


def wrap_words(text: str, width: int) -> list[tuple[int, int]]:
    """Return the character ranges of the rows of `text` in `width` cells, broken at spaces where possible.

    The space at a break belongs to no row. There is always at least one range.
    """
    width = max(1, width)
    if cell_len(text) <= width:
        return [(0, len(text))]
    rows: list[tuple[int, int]] = []
    start = end = column = 0
    for match in _WORDS.finditer(text):
        word = match.group()
        bare = cell_len(word.rstrip())
        # The word does not fit: it begins the next row.
        if column + bare > width and (column or end > start):
            rows.append((start, end))
            start, column = match.start(), 0
        if bare > width:
            # Wider than a row: break it by cells; what is left of it begins the next row.
            *full, last = wrap_cells(word.rstrip(), width)
            rows.extend((match.start() + a, match.start() + b) for a, b in full)
            start, column = match.start() + last[0], cell_len(word.rstrip()[last[0] : last[1]])
            column += cell_len(word) - bare
        else:
            column += cell_len(word)
        end = match.start() + len(word.rstrip())
    rows.append((start, end))
    return rows


def slice_spans(spans: Sequence[StyledSpan], start: int, end: int) -> Iterator[Segment]:
    """Yield the part of `spans` between two character offsets, as segments."""
    at = 0
    for text, style in spans:
        stop = at + len(text)
        if stop > start and at < end and text:
            yield Segment(text[max(0, start - at) : end - at], style)
        if stop >= end:
            return
        at = stop


def _marked(spans: Sequence[StyledSpan]) -> Sequence[StyledSpan]:
    """Return the spans with invisible characters marked, character for character."""
    return _marked_with_text("".join(part for part, _ in spans), spans)[1]


def _marked_with_text(text: str, spans: Sequence[StyledSpan]) -> tuple[str, Sequence[StyledSpan]]:
    """Return `text`, the text of the spans, and the spans, with invisible characters marked."""
    shown = mark_invisible(text)
    if shown == text:
        return text, spans
    ends = accumulate(len(part) for part, _ in spans)
    return shown, [
        (shown[end - len(part) : end], style) for end, (part, style) in zip(ends, spans, strict=True)
    ]


class Row:
    """One row of the screen: segments without the widget's base style, and where its text comes from."""

    __slots__ = ("beside", "column", "end", "final", "is_edge", "line", "segments", "side", "skip", "start")

    def __init__(self, segments: list[Segment], line: int, start: int, end: int, skip: int) -> None:
        self.segments = segments
        self.line = line
        """Index of the logical line in `RenderedBlock.lines`, or NO_LINE."""
        self.start = start
        self.end = end
        """The characters of the logical line that this row shows."""
        self.skip = skip
        """Characters of decoration before them."""
        self.is_edge = False
        """Whether it only pads a background, which without colours nobody sees."""
        self.side: Side = ""
        self.column = 0
        """Characters before the column that it is in."""
        self.beside: Row | None = None
        """Another logical line that the same segments show, in a column further right."""
        self.final: Strip | None = None
        """The row as painted: in full width, on the base style."""

    @property
    def parts(self) -> tuple[Row, ...]:
        """The logical lines that it shows, from the left: one, or two in columns."""
        return (self,) if self.beside is None else (self, self.beside)

    def is_like(self, other: Row) -> bool:
        """Return whether both show the same. Then the old one is kept, and not painted again."""
        return (
            self.line == other.line
            and self.start == other.start
            and self.skip == other.skip
            and self.segments == other.segments
            and [part.line for part in self.parts] == [part.line for part in other.parts]
        )


def keep_rows(old: list[Row], new: list[Row]) -> None:
    """Replace new rows by old ones that show the same, so that only changed rows are painted."""
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        if after is not before and after.is_like(before):
            before.end = after.end
            new[number] = before


class LogicalLine(str):
    """The text of a line as it is searched and copied: unwrapped, without decoration."""

    lead: str = ""
    """Text that a copy puts before the line if it is copied from its start: a list's marker."""
    original: str | None = None
    """Text that a copy takes instead of the whole line, where the shown text differs (tabs)."""
    side: Side = ""
    """The version of a file that it belongs to; a selection takes the lines of one side."""


@dataclass(slots=True)
class RenderedBlock:
    """A block at one width in one theme."""

    rows: list[Row] = field(default_factory=list)
    lines: list[LogicalLine] = field(default_factory=list)
    marks: list[tuple[int, object]] = field(default_factory=list)
    """The row that each mark of `Canvas.mark` begins at."""

    def extend(self, other: RenderedBlock) -> None:
        """Add rows and lines below, whose line numbers already count from the beginning of this block."""
        self.marks += [(len(self.rows) + row, mark) for row, mark in other.marks]
        self.rows += other.rows
        self.lines += other.lines

    def after(self, rows: int, lines: int, marks: int) -> RenderedBlock:
        """Return what follows so many rows, lines and marks, to be added again by `extend`."""
        below = [(row - rows, mark) for row, mark in self.marks[marks:]]
        return RenderedBlock(self.rows[rows:], self.lines[lines:], below)


@dataclass(frozen=True, slots=True)
class Column:
    """One of two texts side by side; empty without `spans`."""

    width: int
    """Cells, gutter included."""
    spans: Sequence[StyledSpan] | None = None
    first: Segment = Segment("")  # noqa: RUF009 - immutable
    rest: Segment = Segment("")  # noqa: RUF009
    """Its gutter in the first row and in the following ones."""
    fill: Style | None = None
    original: str | None = None
    side: Side = ""


class _Prefix:
    """Decoration before the rows of a nested part: a marker once, then spaces of the same width."""

    def __init__(self, first: Sequence[Segment], rest: Sequence[Segment]) -> None:
        self._first: Sequence[Segment] | None = first
        self.rest = rest
        self.width = sum(cell_len(segment.text) for segment in rest)

    def take(self) -> Sequence[Segment]:
        segments = self.rest if self._first is None else self._first
        self._first = None
        return segments


class Canvas:
    """Collects the rows of one block."""

    def __init__(self, width: int, gutter: Sequence[Segment] = ()) -> None:
        self.rendered = RenderedBlock()
        self._width = width
        self._prefixes: list[_Prefix] = []
        if gutter:
            self._prefixes.append(_Prefix(gutter, gutter))

    @property
    def width(self) -> int:
        """Cells for text, without the decoration."""
        return max(8, self._width - sum(prefix.width for prefix in self._prefixes))

    @property
    def full_width(self) -> int:
        """All cells, decoration included."""
        return self._width

    @property
    def position(self) -> object:
        """What the next rows depend on, besides what they show."""
        return (
            self._width,
            len(self.rendered.lines),
            [prefix.rest for prefix in self._prefixes],
        )

    @contextmanager
    def indented(self, rest: Sequence[Segment], first: Sequence[Segment] | None = None) -> Iterator[None]:
        """Put `rest` before the rows added inside, `first` before the first of them.

        If hardly any cells are left for text, it replaces the prefix around it instead.
        """
        prefix = _Prefix(rest if first is None else first, rest)
        room = self._width - sum(part.width for part in self._prefixes) - prefix.width
        # Otherwise a list of 20 levels would leave 8 cells for its text, and overflow.
        is_deep = len(self._prefixes) > _INDENTS_KEPT and room < _LEAST_ROOM
        around = self._prefixes.pop() if is_deep else None
        self._prefixes.append(prefix)
        try:
            yield
        finally:
            self._prefixes.pop()
            if around is not None:
                self._prefixes.append(around)

    @contextmanager
    def limited(self, width: int) -> Iterator[None]:
        """Add the rows inside in at most `width` cells, decoration included."""
        all_cells, self._width = self._width, min(self._width, width)
        try:
            yield
        finally:
            self._width = all_cells

    def mark(self, value: object) -> None:
        """Mark the rows from here on with `value`: the target of clicks, or a passage."""
        self.rendered.marks.append((len(self.rendered.rows), value))

    def gap(self, count: int = 1) -> None:
        """Add empty rows (with the decoration of the enclosing parts)."""
        for _ in range(count):
            segments = [segment for prefix in self._prefixes for segment in prefix.take()]
            self.rendered.rows.append(Row(segments, NO_LINE, 0, 0, 0))

    def decoration(self, spans: Sequence[StyledSpan]) -> None:
        """Add a row that cannot be selected."""
        prefix = self._take_prefix(None)
        body = [Segment(text, style) for text, style in _marked(spans)]
        self.rendered.rows.append(Row(prefix + body, NO_LINE, 0, 0, 0))

    def edge(self, half_block: str, style: Style) -> None:
        """Add a row that pads the background of the rows below or above it, from the blank cell before
        them."""
        prefix = self._take_prefix(Segment(half_block, style))
        row = Row([*prefix, Segment(half_block * self.width, style)], NO_LINE, 0, 0, 0)
        row.is_edge = True
        self.rendered.rows.append(row)

    def text(
        self,
        spans: Sequence[StyledSpan],
        *,
        wrap: Callable[[str, int], list[tuple[int, int]]] = wrap_words,
        fill: Style | None = None,
        lead: str = "",
        original: str | None = None,
        hanging: int = 0,
        side: Side = "",
        bleed: Segment | None = None,
        right: StyledSpan | None = None,
    ) -> None:
        """Add one logical line.

        `fill` paints its rows to the full width in that style; `lead` and `original` are for copying (see
        `LogicalLine`); `hanging` indents continuation rows by that many cells. `bleed` replaces the blank
        cell before each row. With `fill`, `right` ends the first row, for which `wrap` leaves the room.
        """
        line, text = self._line(spans, original, side, lead)
        shown, spans = _marked_with_text(text, spans)
        width = self.width
        for number, (start, end) in enumerate(_wrap(wrap, shown, width, hanging)):
            segments = self._take_prefix(bleed)
            if number and hanging:
                segments.append(Segment(" " * hanging, fill))
            skip = sum(len(segment.text) for segment in segments)
            segments.extend(slice_spans(spans, start, end))
            if fill is not None:
                used = cell_len(shown[start:end]) + (hanging if number else 0)
                last = [Segment(*right)] if right is not None and not number else []
                free = width - used - sum(segment.cell_length for segment in last)
                if free > 0:
                    segments.append(Segment(" " * free, fill))
                segments += last
            row = Row(segments, line, start, end, skip)
            row.side = side
            self.rendered.rows.append(row)

    def _take_prefix(self, bleed: Segment | None) -> list[Segment]:
        """Return the decoration of the next row, its last cell replaced by `bleed` if that cell is blank."""
        segments = [segment for part in self._prefixes for segment in part.take()]
        if bleed is not None and segments and segments[-1].text.endswith(" "):
            text, style, _ = segments.pop()
            segments += [Segment(text[:-1], style)] if len(text) > 1 else []
            segments.append(bleed)
        return segments

    def columns(self, left: Column, right: Column, between: Segment) -> None:
        """Add two logical lines side by side, each wrapped (as code) in its column."""
        columns = (left, right)
        shown = [_marked(column.spans or ()) for column in columns]
        cut = [self._wrapped_column(column) for column in columns]
        for number in range(max(len(ranges) for _, ranges in cut)):
            segments = [segment for part in self._prefixes for segment in part.take()]
            # The first part is the row itself; a second one is `beside` it and has the same segments.
            parts: list[Row] = []
            for column, spans, (line, ranges) in zip(columns, shown, cut, strict=True):
                if column is right:
                    segments.append(between)
                begin = sum(len(segment.text) for segment in segments)
                if number >= len(ranges):
                    segments.append(Segment(" " * column.width, column.fill))
                    continue
                start, end = ranges[number]
                gutter = column.rest if number else column.first
                text = list(slice_spans(spans, start, end))
                used = cell_len(gutter.text) + sum(cell_len(segment.text) for segment in text)
                segments += [gutter, *text, Segment(" " * max(0, column.width - used), column.fill)]
                row = Row(segments, line, start, end, begin + len(gutter.text))
                row.side, row.column = column.side, begin if parts else 0
                parts.append(row)
            parts[0].beside = parts[1] if len(parts) > 1 else None
            self.rendered.rows.append(parts[0])

    def _wrapped_column(self, column: Column) -> tuple[int, list[tuple[int, int]]]:
        if column.spans is None:
            return NO_LINE, []
        line, text = self._line(column.spans, column.original, column.side)
        return line, wrap_cells(mark_invisible(text), max(2, column.width - cell_len(column.first.text)))

    def _line(
        self, spans: Sequence[StyledSpan], original: str | None, side: Side, lead: str = ""
    ) -> tuple[int, LogicalLine]:
        """Add a logical line; return its index and text."""
        text = LogicalLine("".join(part for part, _ in spans))
        text.lead, text.original, text.side = lead, original, side
        self.rendered.lines.append(text)
        return len(self.rendered.lines) - 1, text


def _wrap(
    wrap: Callable[[str, int], list[tuple[int, int]]], text: str, width: int, hanging: int
) -> list[tuple[int, int]]:
    if not hanging:
        return wrap(text, width)
    first = wrap(text, width)
    if len(first) == 1:
        return first
    start = first[1][0]
    return [first[0], *((a + start, b + start) for a, b in wrap(text[start:], max(4, width - hanging)))]
