"""Calls that stand within another block, one below the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from forge_tui.widgets.blockview.blocks import Passage
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.transcript.calls.call_block import CallBlock, Handle
from forge_tui.widgets.transcript.calls.piece import Piece, draw_piece, lay_piece

if TYPE_CHECKING:
    from forge_tui.widgets.blockview.styles import TranscriptStyles

_LATEST = 4
"""Blocks that show while the card is folded and runs; the others are counted."""
_PAGE = 100
"""Blocks that show at first where the card is unfolded."""
_MOST_PAGES = 3
"""Pages that show at once; beyond, the farthest one makes room."""


class CallList:
    """What stands in a card between its header and its output."""

    def __init__(self, owner: CallBlock) -> None:
        self._owner = owner
        self._blocks: list[CallBlock] = []
        self._first, self._end = 0, _PAGE
        """Which blocks show."""
        self._pieces: dict[CallBlock, Piece] = {}
        """Their rows: an event draws only the call again that it changes."""
        self.count = 0
        """Calls; a group counts as many as it holds."""

    @property
    def last(self) -> CallBlock | None:
        return self._blocks[-1] if self._blocks else None

    def append(self, block: CallBlock) -> None:
        block.owner = self._owner
        self._blocks.append(block)

    def replace_last(self, block: CallBlock) -> None:
        """Puts a group in the place of its first call."""
        block.owner = self._owner
        self._blocks[-1] = block

    def passages(self) -> Iterator[tuple[Passage, str]]:
        """What can be found in them, in order."""
        return (passage for block in self._blocks for passage in block.passages())

    def show(self, block: CallBlock) -> bool:
        """Shows the page with that block, and those around it; whether it did not show before."""
        at = self._blocks.index(block)
        if self._first <= at < self._end:
            return False
        first = at // _PAGE * _PAGE
        self.shown = range(max(0, first - _PAGE), first + 2 * _PAGE)
        return True

    @property
    def shown(self) -> range:
        """Which blocks show where the card is unfolded."""
        return range(self._first, self._end)

    @shown.setter
    def shown(self, numbers: range) -> None:
        self._first, self._end = numbers.start, numbers.stop

    def turn_page(self, *, is_on: bool) -> CallBlock | None:
        """Shows as many again, on or back; gives the first of them."""
        if is_on and self._end < len(self._blocks):
            self._end += _PAGE
            self._first = max(self._first, self._end - _MOST_PAGES * _PAGE)
            return self._blocks[self._end - _PAGE]
        if not is_on and self._first:
            self._first -= _PAGE
            self._end = min(self._end, self._first + _MOST_PAGES * _PAGE)
            return self._blocks[self._first + _PAGE - 1]
        return None

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Adds the rows of the calls, in order."""
        if self._first:
            canvas.mark(Handle(self._owner, "earlier"))
            canvas.decoration([(f"… {self._first:,} before (PageUp)", styles.accent)])
        before, self._pieces = self._pieces, {}
        for block in self._blocks[self._first : self._end]:
            looks, piece = (block.revision, styles), before.get(block)
            if piece is None or piece.looks != looks or piece.place != canvas.place:
                piece = draw_piece(canvas, looks, partial(block.draw_in_list, canvas, styles))
            else:
                lay_piece(canvas, piece)
            self._pieces[block] = piece
        if (more := len(self._blocks) - self._end) > 0:
            canvas.mark(Handle(self._owner, "calls"))
            canvas.decoration([(f"… {more:,} more below (PageDown)", styles.accent)])

    def draw_latest(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Adds a row for each of the latest calls."""
        self._pieces.clear()
        if (more := len(self._blocks) - _LATEST) > 0:
            canvas.mark(Handle(self._owner, "text"))
            canvas.decoration([(f"… {more:,} before (Ctrl+O)", styles.muted)])
        for block in self._blocks[-_LATEST:]:
            block.draw_header(canvas, styles)
