"""Selecting in a transcript: which characters a mouse position means, what is highlighted, what is copied.

Textual knows a selection as two offsets. Here `y` is a stable row id, `block << 20 | line`, and `x` a
character of that logical line: neither moves when rows above change, when the width changes or on scrolling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from forge_tui.widgets.transcript.layout import Layout
from forge_tui.widgets.transcript.rows import NO_LINE, Rendered, Row

LINE_BITS = 20
_LINE_MASK = (1 << LINE_BITS) - 1
_WORD = re.compile(r"[\w./:@~+-]+|\S")
"""What a double click takes: paths, addresses and names in one piece."""


def row_id(block: int, line: int) -> int:
    return block << LINE_BITS | line


def with_offsets(rendered: Rendered, block: int, number: int) -> Strip:
    """A row whose segments carry the offsets that `Screen.get_widget_and_offset_at` looks for."""
    row = rendered.rows[number]
    if row.line == NO_LINE:
        line = _line_after(rendered.rows, number)
        end = len(rendered.lines[line]) if line < len(rendered.lines) else 0
        at = 0 if _has_line(rendered.rows[number:]) else end
        return Strip(_placed("".join(segment.text for segment in row.segments) or " ", at, block, line))
    segments: list[Segment] = []
    at = 0
    shown_end = row.skip + row.end - row.start
    for segment in row.segments:
        end = at + len(segment.text)
        decoration = segment.text[: max(0, row.skip - at)]
        text = segment.text[max(0, row.skip - at) : max(0, shown_end - at)]
        segments.extend(_placed(decoration, row.start, block, row.line))
        if text:
            start = row.start + max(at, row.skip) - row.skip
            segments.append(Segment(text, _offset_style(start, block, row.line)))
        at = end
    if row.start == row.end:
        segments.extend(_placed(" ", row.start, block, row.line))
    return Strip(segments)


def past_the_end(layout: Layout) -> Strip:
    """What lies below the last row: the end of the last line."""
    last = len(layout.blocks) - 1
    if last < 0:
        return Strip.blank(1)
    lines = layout.rendered(last).lines
    return Strip(_placed(" ", len(lines[-1]) if lines else 0, last, max(0, len(lines) - 1)))


def highlighted(row: Row, block: int, selection: Selection, style: Style) -> list[Segment]:
    """The row's segments with the selected characters in `style`."""
    span = None if row.line == NO_LINE else selection.get_span(row_id(block, row.line))
    if span is None:
        return row.segments
    start = row.skip + max(0, span[0] - row.start)
    end = row.skip + min(row.end, row.end if span[1] < 0 else span[1]) - row.start
    if start >= end:
        return row.segments
    return list(_overlaid(row.segments, start, end, style))


def selected_text(layout: Layout, selection: Selection) -> str:
    """The selected text as logical lines: unwrapped, without decoration; a list keeps its markers."""
    if not layout.blocks:
        return ""
    start, end = selection
    first = 0 if start is None else min(start.y >> LINE_BITS, len(layout.blocks) - 1)
    last = len(layout.blocks) - 1 if end is None else min(end.y >> LINE_BITS, len(layout.blocks) - 1)
    parts: list[str] = []
    for block in range(first, last + 1):
        text = "\n".join(_selected_lines(layout.rendered(block), block, selection))
        if parts and layout.blocks[block].gap:
            parts.append("")
        parts.append(text)
    return "\n".join(parts)


def word_at(layout: Layout, block: int, line: int, at: int) -> Selection | None:
    """The selection of the word at a character, or None where there is none."""
    text = layout.rendered(block).lines[line]
    y = row_id(block, line)
    for match in _WORD.finditer(text):
        if match.start() <= at < match.end():
            return Selection(Offset(match.start(), y), Offset(match.end(), y))
    return None


def line_at(layout: Layout, block: int, line: int) -> Selection:
    """The selection of a whole logical line: a paragraph."""
    y = row_id(block, line)
    return Selection(Offset(0, y), Offset(len(layout.rendered(block).lines[line]), y))


def _selected_lines(rendered: Rendered, block: int, selection: Selection) -> Iterator[str]:
    for number, shown in enumerate(rendered.lines):
        span = selection.get_span(row_id(block, number))
        if span is None:
            continue
        start, end = span[0], len(shown) if span[1] < 0 else span[1]
        lead = rendered.leads.get(number, "") if start == 0 and end > 0 else ""
        if start == 0 and end >= len(shown):
            yield lead + rendered.originals.get(number, shown)
        else:
            yield lead + shown[start:end]


def _overlaid(segments: Sequence[Segment], start: int, end: int, style: Style) -> Iterator[Segment]:
    at = 0
    for segment in segments:
        stop = at + len(segment.text)
        for a, b, over in ((at, start, None), (max(at, start), min(stop, end), style), (end, stop, None)):
            text = segment.text[max(0, a - at) : max(0, min(b, stop) - at)]
            if text:
                under = segment.style or Style.null()
                yield Segment(text, under + over if over is not None else segment.style)
        at = stop


def _placed(text: str, at: int, block: int, line: int) -> list[Segment]:
    """Each character of a decoration as a segment of its own, all meaning the same place."""
    style = _offset_style(at, block, line)
    return [Segment(character, style) for character in text]


def _offset_style(at: int, block: int, line: int) -> Style:
    return Style.from_meta({"offset": (at, row_id(block, line))})


def _has_line(rows: Sequence[Row]) -> bool:
    return any(row.line != NO_LINE for row in rows)


def _line_after(rows: Sequence[Row], number: int) -> int:
    after = next((row.line for row in rows[number:] if row.line != NO_LINE), None)
    if after is not None:
        return after
    return max((row.line for row in rows if row.line != NO_LINE), default=0)
