"""What a block renders to: rows for the screen, and the logical lines that selection and copy work on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from forge_tui.widgets.transcript.wrapping import Span, cells, slice_spans, wrap_words

NO_LINE = -1
"""`Row.line` of a row that holds no text of its own (a gap, a rule)."""


class Row:
    """One row of the screen: segments without the widget's base style, and where its text comes from."""

    __slots__ = ("end", "final", "line", "segments", "skip", "start")

    def __init__(self, segments: list[Segment], line: int, start: int, end: int, skip: int) -> None:
        self.segments = segments
        self.line = line
        """Index of the logical line in `Rendered.lines`, or NO_LINE."""
        self.start = start
        self.end = end
        """The characters of the logical line that this row shows."""
        self.skip = skip
        """Characters of decoration before them."""
        self.final: Strip | None = None
        """The row as painted: full width, base style laid under."""

    def is_like(self, other: Row) -> bool:
        """Whether both show the same; then the old one is kept, and its row is not painted again."""
        return (
            self.line == other.line
            and self.start == other.start
            and self.skip == other.skip
            and self.segments == other.segments
        )


@dataclass(slots=True)
class Rendered:
    """A block at one width in one theme."""

    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """Logical lines: unwrapped, without decoration."""
    leads: dict[int, str] = field(default_factory=dict)
    """What a copy puts before a line that is copied from its start: a list's marker."""
    originals: dict[int, str] = field(default_factory=dict)
    """What a copy gives for a whole line where the shown text differs (tabs)."""


class _Prefix:
    """Decoration before the rows of a nested part: once a marker, then blanks of the same width."""

    def __init__(self, first: Sequence[Segment], rest: Sequence[Segment]) -> None:
        self._first: Sequence[Segment] | None = first
        self._rest = rest
        self.width = sum(cells(segment.text) for segment in rest)

    def take(self) -> Sequence[Segment]:
        segments = self._rest if self._first is None else self._first
        self._first = None
        return segments


class Canvas:
    """Collects the rows of one block."""

    def __init__(self, width: int, gutter: Sequence[Segment] = (), measure: int | None = None) -> None:
        """`measure`: cells beyond which text is wrapped though there is room; filled rows are not."""
        self.rendered = Rendered()
        self._width = width
        self._measure = measure or width
        self._prefixes: list[_Prefix] = []
        if gutter:
            self._prefixes.append(_Prefix(gutter, gutter))

    @property
    def width(self) -> int:
        """Cells left for text beside the decoration."""
        return max(8, self._width - sum(prefix.width for prefix in self._prefixes))

    @contextmanager
    def indented(self, rest: Sequence[Segment], first: Sequence[Segment] | None = None) -> Iterator[None]:
        """Rows added inside carry `rest` before them, the first of them `first`."""
        self._prefixes.append(_Prefix(rest if first is None else first, rest))
        try:
            yield
        finally:
            self._prefixes.pop()

    def gap(self, count: int = 1) -> None:
        """Adds empty rows (with the decoration of the part they stand in)."""
        for _ in range(count):
            segments = [segment for prefix in self._prefixes for segment in prefix.take()]
            self.rendered.rows.append(Row(segments, NO_LINE, 0, 0, 0))

    def adopt(self, other: Canvas) -> None:
        """Adds what another canvas collected; it must hold the decoration already."""
        offset = len(self.rendered.lines)
        for row in other.rendered.rows:
            if row.line != NO_LINE:
                row.line += offset
        self.rendered.rows += other.rendered.rows
        self.rendered.lines += other.rendered.lines
        self.rendered.leads |= {line + offset: lead for line, lead in other.rendered.leads.items()}
        self.rendered.originals |= {line + offset: text for line, text in other.rendered.originals.items()}

    def decoration(self, spans: Sequence[Span]) -> None:
        """Adds a row that no selection touches."""
        prefix = [segment for part in self._prefixes for segment in part.take()]
        body = [Segment(text, style) for text, style in spans]
        self.rendered.rows.append(Row(prefix + body, NO_LINE, 0, 0, 0))

    def text(
        self,
        spans: Sequence[Span],
        *,
        wrap: Callable[[str, int], list[tuple[int, int]]] = wrap_words,
        fill: Style | None = None,
        lead: str = "",
        original: str | None = None,
        hanging: int = 0,
    ) -> None:
        """Adds one logical line.

        `fill` paints the rows to the full width in that style; `lead` and `original` are for copying
        (see `Rendered`); `hanging` indents wrapped rows by that many cells.
        """
        line = len(self.rendered.lines)
        text = "".join(part for part, _ in spans)
        self.rendered.lines.append(text)
        if lead:
            self.rendered.leads[line] = lead
        if original is not None and original != text:
            self.rendered.originals[line] = original
        width = self.width if fill is not None else min(self.width, self._measure)
        for number, (start, end) in enumerate(_wrap(wrap, text, width, hanging)):
            segments = [segment for part in self._prefixes for segment in part.take()]
            if number and hanging:
                segments.append(Segment(" " * hanging, fill))
            skip = sum(len(segment.text) for segment in segments)
            segments.extend(slice_spans(spans, start, end))
            if fill is not None:
                used = cells(text[start:end]) + (hanging if number else 0)
                if used < width:
                    segments.append(Segment(" " * (width - used), fill))
            self.rendered.rows.append(Row(segments, line, start, end, skip))


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
