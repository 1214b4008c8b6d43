"""Which rows of which blocks are on the screen. Knows blocks, rows and heights, but no widget.

Only blocks that show are rendered; the heights of the others are estimates. What is at the top of the screen
is held by block and row, not by a line number: when a height above it turns out different, the number changes
and the view does not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from forge_tui.widgets.transcript.blocks import Block
from forge_tui.widgets.transcript.heights import Heights
from forge_tui.widgets.transcript.rows import NO_LINE, Rendered, Row
from forge_tui.widgets.transcript.styles import TranscriptStyles

_KEPT_ROWS = 3_000
"""Rendered rows that are kept; those looked at longest ago go first."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the screen shows."""

    rows: Sequence[Row]
    """From the top; fewer than the screen's height where the transcript is shorter."""
    places: Sequence[tuple[int, int]]
    """Block and row of each."""
    offset: int
    """Rows above the first one, as far as is known."""
    total: int
    """Rows in all, as far as is known."""


@dataclass(slots=True)
class _Entry:
    key: tuple[int, int, int, TranscriptStyles]
    rendered: Rendered


class Layout:
    """The blocks, and the window onto them."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.follows_end = True
        """Whether the window stays at the end while the transcript grows."""
        self._heights = Heights()
        self._cache: OrderedDict[Block, _Entry] = OrderedDict()
        self._cached_rows = 0
        self._top = (0, 0)
        self._width = 80
        self._height = 24
        self._styles: TranscriptStyles | None = None

    def configure(self, width: int, height: int, styles: TranscriptStyles) -> None:
        """Sets the window's size in cells and the styles; what was rendered otherwise is redone when seen."""
        if self._width != width and not self.follows_end and self.blocks and self._styles is not None:
            self._keep_place(width, styles)
        self._width, self._height, self._styles = width, height, styles

    def append(self, block: Block) -> None:
        self.blocks.append(block)
        self._heights.append(block.estimate(self._width))

    def replace(self, index: int, blocks: Sequence[Block]) -> None:
        """Puts `blocks` in the place of block `index`: the open part of an answer has become them."""
        old = self.blocks[index]
        entry = self._cache.pop(old, None)
        if entry is not None and blocks:
            # The old rows go on as far as the new block shows the same; its own revision is not theirs.
            revision = entry.key[0] if blocks[0] is old else -1
            self._cache[blocks[0]] = _Entry((revision, *entry.key[1:]), entry.rendered)
        elif entry is not None:
            self._cached_rows -= len(entry.rendered.rows)
        self.blocks[index : index + 1] = blocks
        if index == len(self._heights) - 1 and blocks:
            self._heights.set(index, self._known_height(blocks[0]))
            for block in blocks[1:]:
                self._heights.append(block.estimate(self._width))
        else:
            self._heights = Heights(self._known_height(block) for block in self.blocks)
            if self._top[0] > index:
                self._top = (max(0, self._top[0] + len(blocks) - 1), self._top[1])

    def clear(self) -> None:
        self.blocks.clear()
        self._heights = Heights()
        self._cache.clear()
        self._cached_rows = 0
        self._top = (0, 0)
        self.follows_end = True

    def rendered(self, index: int) -> Rendered:
        """Block `index` as rows, its height now known."""
        assert self._styles is not None, "configure() comes first"
        block = self.blocks[index]
        key = (block.revision, block.gap, self._width, self._styles)
        entry = self._cache.get(block)
        if entry is not None and entry.key == key:
            self._cache.move_to_end(block)
            return entry.rendered
        new = block.render(self._width, self._styles)
        if entry is not None:
            self._cached_rows -= len(entry.rendered.rows)
            if entry.key[2:] == key[2:]:
                _keep_rows(entry.rendered.rows, new.rows)
        self._cache[block] = _Entry(key, new)
        self._cache.move_to_end(block)
        self._cached_rows += len(new.rows)
        while self._cached_rows > _KEPT_ROWS and len(self._cache) > self._height:
            _, dropped = self._cache.popitem(last=False)
            self._cached_rows -= len(dropped.rendered.rows)
        self._heights.set(index, len(new.rows))
        return new

    def frame(self) -> Frame:
        """What is to be shown now."""
        if not self.blocks:
            return Frame((), (), 0, 0)
        places = self._from_end() if self.follows_end else self._from_top()
        if places:
            self._top = places[0]
        rows = [self.rendered(block).rows[row] for block, row in places]
        return Frame(rows, places, self._heights.offset(self._top[0]) + self._top[1], self._heights.total)

    def scroll(self, delta: int) -> None:
        """Moves the window by `delta` rows, exactly, whatever was estimated."""
        if not self.blocks:
            return
        block, row = self._top
        block = min(block, len(self.blocks) - 1)
        row += delta
        while row < 0 and block > 0:
            block -= 1
            row += len(self.rendered(block).rows)
        while row >= (count := len(self.rendered(block).rows)) and block < len(self.blocks) - 1:
            row -= count
            block += 1
        self._top = (block, max(0, row))
        self._settle_end()

    def jump(self, offset: int) -> None:
        """Moves the window to about `offset` rows from the beginning."""
        self._top = self._heights.find(offset)
        self._settle_end()

    def stay(self) -> None:
        """Holds what is at the top, though something below is about to change its height."""
        self.follows_end = False

    def settle(self) -> None:
        """Follows the end again where the window is at it."""
        self._settle_end()

    def _settle_end(self) -> None:
        if not self.blocks:
            self.follows_end = True
            return
        self.follows_end = False
        places = self._from_top()
        last = len(self.blocks) - 1
        self.follows_end = not places or places[-1] == (last, len(self.rendered(last).rows) - 1)

    def _from_end(self) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        block = len(self.blocks) - 1
        while block >= 0 and len(places) < self._height:
            count = len(self.rendered(block).rows)
            places.extend((block, row) for row in range(count - 1, -1, -1))
            block -= 1
        return places[: self._height][::-1]

    def _from_top(self) -> list[tuple[int, int]]:
        block, row = self._top
        block = min(block, len(self.blocks) - 1)
        row = min(row, max(0, len(self.rendered(block).rows) - 1))
        places: list[tuple[int, int]] = []
        while block < len(self.blocks) and len(places) < self._height:
            places.extend((block, at) for at in range(row, len(self.rendered(block).rows)))
            block, row = block + 1, 0
        return places[: self._height] if len(places) >= self._height else self._from_end()

    def _keep_place(self, width: int, styles: TranscriptStyles) -> None:
        """Finds the text at the top again after a change of width."""
        block, row = self._top
        rows = self.rendered(min(block, len(self.blocks) - 1)).rows
        at = rows[min(row, len(rows) - 1)] if rows else None
        self._width, self._styles = width, styles
        if at is None or at.line == NO_LINE:
            return
        new = self.rendered(block).rows
        fitting = [n for n, other in enumerate(new) if (other.line, other.start) <= (at.line, at.start)]
        self._top = (block, fitting[-1] if fitting else 0)

    def _known_height(self, block: Block) -> int:
        entry = self._cache.get(block)
        return block.estimate(self._width) if entry is None else len(entry.rendered.rows)


def _keep_rows(old: list[Row], new: list[Row]) -> None:
    """Puts the old row wherever the new one shows the same: only what differs is painted again."""
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        if after.is_like(before):
            before.end = after.end
            new[number] = before
