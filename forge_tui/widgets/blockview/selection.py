"""The selection in a view: from one character of its text to another, whatever rows they are on.

Textual's own selection asks for the text at every cell, and identifies text by widget and line on the screen.
Here both ends are positions that the layout moves with their text: rows above may change, the width may
change, and an answer may still be growing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style

from forge_core.text_width import cell_len, crop
from forge_tui.widgets.blockview.block_layout import Layout, TextPosition
from forge_tui.widgets.blockview.rows import NO_LINE, RenderedBlock, Row, Side

_WORD = re.compile(r"[\w./:@~+-]+|\S")
"""A double click selects paths, addresses and names as a whole."""


@dataclass(frozen=True, slots=True)
class TextSelection:
    """The text between two positions, without the character at the later one."""

    anchor: TextPosition
    """Where the selection began."""
    head: TextPosition

    @property
    def ends(self) -> tuple[TextPosition, TextPosition]:
        """Both positions in order."""
        ordered = self.anchor.order <= self.head.order
        return (self.anchor, self.head) if ordered else (self.head, self.anchor)

    @property
    def is_empty(self) -> bool:
        return self.anchor.order == self.head.order

    def span(self, block: int, line: int, length: int) -> tuple[int, int] | None:
        """Return the selected range of a line of `length` characters, or None."""
        first, last = self.ends
        if not first.order[:2] <= (block, line) <= last.order[:2]:
            return None
        start = first.at if (block, line) == first.order[:2] else 0
        end = last.at if (block, line) == last.order[:2] else length
        return start, end


def position_at(layout: Layout, block: int, number: int, x: int, *, behind: bool = False) -> TextPosition:
    """Return the character at cell `x` of a row, or the one after it (`behind`); in a row without text of its
    own, the next one."""
    rendered = layout.rendered(block)
    row = rendered.rows[number]
    if row.line == NO_LINE:
        after = next((later for later in rendered.rows[number:] if later.line != NO_LINE), None)
        return end_of(layout, block) if after is None else TextPosition(block, after.line, after.start)
    # Cells to characters: a wide character takes two cells, a combining mark none.
    painted = "".join(segment.text for segment in row.segments)
    before = len(crop(painted, x))
    part = row if row.beside is None or before < row.beside.column else row.beside
    at = max(part.start, part.start + before - part.skip)
    if behind:
        at += 1
        while at < part.end and not cell_len(painted[part.skip + at - part.start]):
            at += 1  # combining marks of the character before
    return TextPosition(block, part.line, min(at, part.end))


def end_of(layout: Layout, block: int) -> TextPosition:
    """Return the position after the last character of a block."""
    lines = layout.rendered(block).lines
    return TextPosition(block, max(0, len(lines) - 1), len(lines[-1]) if lines else 0)


def side_of(layout: Layout, selection: TextSelection) -> Side:
    """Return the version of a file that a selection copies: the old one if it began in a line of it."""
    if not layout.blocks:
        return "new"
    lines = layout.rendered(min(selection.anchor.block, len(layout.blocks) - 1)).lines
    line = selection.anchor.line
    return (lines[line].side if 0 <= line < len(lines) else "") or "new"


def highlighted(row: Row, block: int, selection: TextSelection, side: Side, style: Style) -> list[Segment]:
    """Return the row's segments with the selected characters in `style`; `side`: see `side_of`."""
    segments = row.segments
    for part in row.parts:
        span = None if part.line == NO_LINE else selection.span(block, part.line, part.end)
        if span is not None and part.side in ("", side):
            segments = overlaid(segments, part, *span, style)
    return segments


def overlaid(segments: list[Segment], part: Row, start: int, end: int, style: Style) -> list[Segment]:
    """Return the row's segments with a range of characters of one of its lines in `style`."""
    first, last = max(start, part.start), min(end, part.end)
    if first >= last:
        return segments
    # From characters of the logical line to characters of the row, decoration included.
    shift = part.skip - part.start
    return list(_overlaid(segments, first + shift, last + shift, style))


def selected_text(layout: Layout, selection: TextSelection) -> str:
    """Return the selected text as logical lines: unwrapped, without decoration, but with list markers."""
    if not layout.blocks or selection.is_empty:
        return ""
    first, last = selection.ends
    side = side_of(layout, selection)
    parts: list[str] = []
    for block in range(first.block, min(last.block, len(layout.blocks) - 1) + 1):
        text = "\n".join(_selected_lines(layout.rendered(block), block, selection, side))
        if parts and layout.blocks[block].gap:
            parts.append("")
        parts.append(text)
    return "\n".join(parts)


def word_at(layout: Layout, position: TextPosition) -> TextSelection | None:
    """Return the word at a character, or None."""
    lines = layout.rendered(position.block).lines
    for match in _WORD.finditer(lines[position.line] if position.line < len(lines) else ""):
        if match.start() <= position.at < match.end():
            return _part_of_line(layout, position, match.start(), match.end())
    return None


def line_at(layout: Layout, position: TextPosition) -> TextSelection:
    """Return the whole logical line: a paragraph."""
    lines = layout.rendered(position.block).lines
    return _part_of_line(layout, position, 0, len(lines[position.line]) if position.line < len(lines) else 0)


def _part_of_line(layout: Layout, position: TextPosition, start: int, end: int) -> TextSelection:
    ends = (layout.track(TextPosition(position.block, position.line, at)) for at in (start, end))
    return TextSelection(*ends)


def _selected_lines(
    rendered: RenderedBlock, block: int, selection: TextSelection, side: Side
) -> Iterator[str]:
    for number, shown in enumerate(rendered.lines):
        span = selection.span(block, number, len(shown))
        if span is None or shown.side not in ("", side):
            continue
        start, end = span
        is_whole = start == 0 and end >= len(shown)
        text = shown.original if is_whole and shown.original is not None else shown[start:end]
        yield shown.lead + text if start == 0 and end > 0 else text


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
