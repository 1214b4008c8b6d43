"""Which rows of which blocks are on the screen. Knows blocks, rows and heights, but no widget.

Only blocks that show are rendered; the heights of the others are estimates. What is at the top of the screen
is held by its text, not by a line number: when a height above it turns out different, when its block grows or
is cut in two, or when the width changes, the number changes and the view does not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakSet

from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.heights import Heights
from forge_tui.widgets.blockview.row_cache import RowCache
from forge_tui.widgets.blockview.rows import Rendered, Row
from forge_tui.widgets.blockview.spots import Hold, Spot, hold_of, row_of, row_of_hold
from forge_tui.widgets.blockview.styles import TranscriptStyles


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a view shows, and where they come from."""

    rows: Sequence[Row]
    """From the top; fewer than the screen's height where the transcript is shorter."""
    places: Sequence[tuple[int, int]]
    """Block and row of each."""
    offset: int
    """Rows above the first one, as far as is known."""
    total: int
    """Rows in all, as far as is known."""


class Layout:
    """The blocks, and the window onto them."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.follows_end = True
        """Whether the window stays at the end while the transcript grows."""
        self._heights = Heights()
        self._cache = RowCache()
        self._top = (0, 0)
        self._hold: Hold | None = None
        """The text at the top; None when the person has moved since the last frame."""
        self._spots: WeakSet[Spot] = WeakSet()
        self._landmarks: list[int] = []
        self._width = 80
        self._height = 24
        self._styles: TranscriptStyles | None = None

    def configure(self, width: int, height: int, styles: TranscriptStyles) -> None:
        """Sets the window's size in cells and the styles; what was rendered otherwise is redone when seen."""
        self._width, self._height, self._styles = width, height, styles

    def append(self, block: Block) -> None:
        if block.is_landmark:
            self._landmarks.append(len(self.blocks))
        self.blocks.append(block)
        self._heights.append(block.estimate(self._width))

    def replace(self, index: int, blocks: Sequence[Block]) -> None:
        """Puts `blocks` in the place of block `index`: the open part of an answer has become them."""
        self._cache.hand_on(self.blocks[index], blocks)
        self.blocks[index : index + 1] = blocks
        self._heights.truncate(index)  # an open part is near the end: what follows it is little
        for block in self.blocks[index:]:
            self._heights.append(self._known_height(block))
        first = bisect_left(self._landmarks, index)
        self._landmarks[first:] = [at for at in range(index, len(self.blocks)) if self.blocks[at].is_landmark]
        self._move_spots(index, len(blocks))

    def clear(self) -> None:
        self.blocks.clear()
        self._heights = Heights()
        self._cache.clear()
        self._top = (0, 0)
        self._hold = None
        self._spots.clear()
        self._landmarks.clear()
        self.follows_end = True

    def keep(self, spot: Spot) -> Spot:
        """Moves this spot with its text from now on, for as long as somebody else holds it."""
        self._spots.add(spot)
        return spot

    def rendered(self, index: int) -> Rendered:
        """Block `index` as rows, its height now known."""
        assert self._styles is not None, "configure() comes first"
        block = self.blocks[index]
        key = (*self._shape(block), self._styles)
        known = self._cache.find(block, key)
        if known is not None:
            return known
        new = block.render(self._width, self._styles)
        self._cache.put(block, key, new, least=self._height)
        self._heights.set(index, len(new.rows))
        return new

    def frame(self) -> Frame:
        """What is to be shown now."""
        if not self.blocks:
            return Frame((), (), 0, 0)
        places = self._from_end() if self.follows_end else self._from_top()
        if places:
            self._top = places[0]
            if self._hold is None or self._hold.top != self._top:
                self._hold = None
                self._hold = self._hold_top()
        rows: list[Row] = []
        last, of_block = -1, rows
        for block, row in places:
            if block != last:
                last, of_block = block, self.rendered(block).rows
            rows.append(of_block[row])
        return Frame(rows, places, self._heights.offset(self._top[0]) + self._top[1], self._heights.total)

    def scroll(self, delta: int) -> None:
        """Moves the window by `delta` rows, exactly, whatever was estimated."""
        if not self.blocks:
            return
        self._find_hold()
        block, row = self._top
        row += delta
        while row < 0 and block > 0:
            block -= 1
            row += len(self.rendered(block).rows)
        while row >= (count := len(self.rendered(block).rows)) and block < len(self.blocks) - 1:
            row -= count
            block += 1
        self.move_to(block, max(0, row))

    def jump(self, offset: int) -> None:
        """Moves the window to about `offset` rows from the beginning."""
        if offset > 0 and offset >= self._heights.total - self._height:
            self.move_to(max(0, len(self.blocks) - 1), 1 << 30)  # the end, though the sum be a guess
        else:
            self.move_to(*self._heights.find(offset))

    def move_to(self, block: int, row: int) -> None:
        """Puts a row at the top, or as near to it as the end allows."""
        self._top, self._hold = (block, row), None
        self._settle_end()

    def move_to_line(self, block: int, line: int, at: int) -> None:
        """Brings a character into view: not at all where it shows already, else a third down."""
        if not self.follows_end:
            self._find_hold()
        row = row_of(self.rendered(block).rows, line, at)
        places = self._from_end() if self.follows_end else self._from_top()
        if (block, row) not in places:
            self.move_to(block, row)
            self.scroll(-(self._height // 3))

    def landmark(self, direction: int) -> int | None:
        """The nearest block before (-1) or after (1) the top that the person may want to come back to."""
        if direction > 0:
            index = bisect_left(self._landmarks, self._top[0])
            while index < len(self._landmarks) and self._landmark_place(index) <= self._top:
                index += 1
        else:
            index = bisect_right(self._landmarks, self._top[0]) - 1
            while index >= 0 and self._landmark_place(index) >= self._top:
                index -= 1
        return self._landmarks[index] if 0 <= index < len(self._landmarks) else None

    def _landmark_place(self, index: int) -> tuple[int, int]:
        block = self._landmarks[index]
        return block, self.blocks[block].gap

    def place(self) -> Hold | None:
        """What is at the top now, to go back to; None for the end."""
        return None if self.follows_end or not self.blocks else self._hold_top()

    def go_back(self, place: Hold | None) -> None:
        """Shows again what `place()` gave."""
        self.follows_end = place is None
        if place is not None and self.blocks:
            self._hold, place.shape = place, None
            self._find_hold()
            self._settle_end()

    def can_lose(self, count: int) -> bool:
        """Whether the last `count` blocks can go without a move of what shows: the end is followed, or there
        are enough rows below the window."""
        if self.follows_end or not self.blocks:
            return True
        self._find_hold()
        block, below = self._top[0], -self._top[1]
        while block < len(self.blocks) - count and below < self._height:
            below += len(self.rendered(block).rows)
            block += 1
        return below >= self._height

    def stay(self) -> None:
        """Holds what is at the top, though something below is about to change its height."""
        self.follows_end = False

    def put(self, block: int, row: int, y: int) -> None:
        """Brings a row of a block to row `y` of the window, or as near as there are rows above it."""
        self._top, self._hold = (block, max(0, min(row, len(self.rendered(block).rows) - 1))), None
        self.scroll(-y)

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
        while last > 0 and not self.rendered(last).rows:
            last -= 1  # nothing of it shows
        self.follows_end = not places or places[-1] == (last, len(self.rendered(last).rows) - 1)

    def _from_end(self) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        block = len(self.blocks) - 1
        while block >= 0 and len(places) < self._height:
            count = len(self.rendered(block).rows)
            first = max(0, count - (self._height - len(places)))
            places.extend((block, row) for row in range(count - 1, first - 1, -1))
            block -= 1
        return places[::-1]

    def _from_top(self) -> list[tuple[int, int]]:
        self._find_hold()
        block, row = self._top
        row = min(row, max(0, len(self.rendered(block).rows) - 1))
        places: list[tuple[int, int]] = []
        while block < len(self.blocks) and len(places) < self._height:
            end = min(len(self.rendered(block).rows), row + self._height - len(places))
            places.extend((block, at) for at in range(row, end))
            block, row = block + 1, 0
        return places if len(places) >= self._height else self._from_end()

    def _hold_top(self) -> Hold:
        self._find_hold()
        block, row = self._top
        hold = hold_of(self.rendered(block).rows, block, row, self._shape(self.blocks[block]))
        self.keep(hold.spot)
        return hold

    def _find_hold(self) -> None:
        """Finds the text at the top again where its block has changed. It stays held by the same character,
        so that a width and back again is no move."""
        self._top = (min(self._top[0], len(self.blocks) - 1), self._top[1])
        hold = self._hold
        if hold is None or hold.shape == self._shape(self.blocks[self._top[0]]):
            return
        block = min(hold.spot.block, len(self.blocks) - 1)
        self._top = hold.top = (block, row_of_hold(self.rendered(block).rows, hold))
        hold.shape = self._shape(self.blocks[block])

    def _move_spots(self, index: int, count: int) -> None:
        """Block `index` has become `count` blocks: finds each spot's text in them."""
        for spot in self._spots:
            if spot.block > index:
                spot.block += count - 1
            elif spot.block == index and not count:
                spot.block, spot.line, spot.at = max(0, index - 1), 0, 0
            elif spot.block == index:
                last = index + count - 1
                while spot.block < last and spot.line >= (lines := len(self.rendered(spot.block).lines)):
                    spot.block, spot.line = spot.block + 1, spot.line - lines
        if self._hold is not None:
            self._hold.shape = None

    def _shape(self, block: Block) -> tuple[int, int, int]:
        return block.revision, block.gap, self._width

    def _known_height(self, block: Block) -> int:
        known = self._cache.height(block)
        return block.estimate(self._width) if known is None else known
