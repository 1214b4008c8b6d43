"""Which rows of which blocks a view shows. Depends on blocks, rows and heights, not on a widget.

Only visible blocks are rendered; the heights of the others are estimates. The top of the view is anchored to
its text, not to a line number: when a height above it turns out different, when its block grows or is split,
or when the width changes, the number changes and the view does not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias
from weakref import WeakSet

from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.heights import Heights
from forge_tui.widgets.blockview.rows import NO_LINE, RenderedBlock, Row, keep_rows
from forge_tui.widgets.blockview.styles import TranscriptStyles

_KEPT_ROWS = 1_000
RenderKey: TypeAlias = tuple[int, int, int, TranscriptStyles]
"""What rows depend on: the block's revision and gap, the width, the styles."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class TextPosition:
    """A character of a logical line. A layout that tracks it moves it with its text."""

    block: int
    line: int
    at: int

    @property
    def order(self) -> tuple[int, int, int]:
        """A sort key: the order of characters in the view."""
        return self.block, self.line, self.at

    def copy(self) -> TextPosition:
        return TextPosition(self.block, self.line, self.at)


@dataclass(slots=True, eq=False)
class TopAnchor:
    """The top of the view, identified by its text."""

    position: TextPosition
    """The first character of the first row with text at or below the top, or the end of the last row above if
    there is none; its line is NO_LINE if the block has no text."""
    above: int
    """Rows from the top to that row."""
    top: tuple[int, int]
    """Block and row where it was found last."""
    shape: object
    """What the block's rows depended on then; None if it must be found again."""


def anchor_at(rows: Sequence[Row], block: int, row: int, shape: object) -> TopAnchor:
    """Return an anchor to what row `row` of a block shows, for `row_of_anchor`."""
    around = chain(range(row, len(rows)), range(min(row, len(rows)) - 1, -1, -1))
    number = next((number for number in around if rows[number].line != NO_LINE), None)
    if number is None:
        return TopAnchor(TextPosition(block, NO_LINE, 0), 0, (block, row), shape)
    at = rows[number].start if number >= row else rows[number].end
    return TopAnchor(TextPosition(block, rows[number].line, at), number - row, (block, row), shape)


def row_of_anchor(rows: Sequence[Row], anchor: TopAnchor) -> int:
    """Return the row that shows what was anchored."""
    if anchor.position.line == NO_LINE:
        return min(anchor.top[1], max(0, len(rows) - 1))
    row = row_of(rows, anchor.position.line, anchor.position.at) - anchor.above
    return min(max(0, row), max(0, len(rows) - 1))


def row_of(rows: Sequence[Row], line: int, at: int) -> int:
    """Return the row that shows character `at` of a logical line, or the nearest one before."""
    nearest, exact = 0, -1
    for number, row in enumerate(rows):
        for part in row.parts:
            if part.line != NO_LINE and (part.line, part.start) <= (line, at):
                nearest = number
                exact = number if part.line == line else exact
    return nearest if exact < 0 else exact


class RowCache:
    """The rows of the blocks rendered last. Bounded by rows, not by blocks; the least recently used are
    dropped."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Block, tuple[RenderKey, RenderedBlock]] = OrderedDict()
        self._rows = 0

    def __len__(self) -> int:
        """Return the number of blocks kept."""
        return len(self._entries)

    def find(self, block: Block, key: RenderKey) -> RenderedBlock | None:
        """Return the block's rows if they are known for this key."""
        known, rendered = self._entries.get(block, (None, None))
        if known != key:
            return None
        self._entries.move_to_end(block)
        return rendered

    def store(self, block: Block, key: RenderKey, new: RenderedBlock, least: int) -> None:
        """Keep new rows; old rows that show the same replace them, so that they are not painted again.

        At least `least` blocks are kept, however long they are.
        """
        if block in self._entries:
            before, old = self._entries.pop(block)
            self._rows -= len(old.rows)
            # Same width and styles: only then can an old row look the same, which saves painting it.
            if before[2:] == key[2:]:
                keep_rows(old.rows, new.rows)
        self._entries[block] = key, new
        self._rows += len(new.rows)
        while self._rows > _KEPT_ROWS and len(self._entries) > least:
            _, (_, dropped) = self._entries.popitem(last=False)
            self._rows -= len(dropped.rows)

    def transfer(self, old: Block, blocks: Sequence[Block]) -> None:
        """Move the rows of `old` to the first of the blocks that replace it, to be reused by `store`."""
        if old not in self._entries:
            return
        key, rendered = self._entries.pop(old)
        if blocks:
            # The revision of `old` means nothing for another block.
            self._entries[blocks[0]] = (key[0] if blocks[0] is old else -1, *key[1:]), rendered
        else:
            self._rows -= len(rendered.rows)

    def height(self, block: Block, width: int) -> int:
        """Return how many rows it had when it was rendered last, otherwise an estimate for `width` cells."""
        return len(self._entries[block][1].rows) if block in self._entries else block.estimate(width)

    def clear(self) -> None:
        self._entries.clear()
        self._rows = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a view shows, and where they come from."""

    rows: Sequence[Row]
    """From the top; fewer than the view's height if the content is shorter."""
    places: Sequence[tuple[int, int]]
    """Block and row of each."""
    offset: int
    """Rows above the first one, as far as known."""
    total: int
    """All rows, as far as known."""


class Layout:
    """The blocks of a view, and the window onto them."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.follows_end = True
        """Whether the window stays at the end while blocks are added; if not, the top stays where it is."""
        self._heights = Heights()
        self._cache = RowCache()
        self._top = (0, 0)
        self._anchor: TopAnchor | None = None
        """The text at the top; None if the window has moved since the last frame."""
        self._positions: WeakSet[TextPosition] = WeakSet()
        self._landmarks: list[int] = []
        self._width = 80
        self._height = 24
        self._styles: TranscriptStyles | None = None

    def configure(self, width: int, height: int, styles: TranscriptStyles) -> None:
        """Set the window's size in cells and the styles; blocks are rendered again when they are shown."""
        self._width, self._height, self._styles = width, height, styles

    def append(self, block: Block) -> None:
        if block.is_landmark:
            self._landmarks.append(len(self.blocks))
        self.blocks.append(block)
        self._heights.append(block.estimate(self._width))

    def prepend(self, blocks: Sequence[Block]) -> None:
        """Put blocks before all others; what shows stays where it is. O(n)."""
        if self.blocks and blocks:
            self.blocks[0].gap = 1
        self.blocks[:0] = blocks
        self._heights = Heights()
        for block in self.blocks:
            self._heights.append(self._cache.height(block, self._width))
        self._landmarks = [at for at, block in enumerate(self.blocks) if block.is_landmark]
        for position in self._positions:
            position.block += len(blocks)
        self._top = (self._top[0] + len(blocks), self._top[1])
        if self._anchor is not None:
            self._anchor.shape = None

    def replace(self, index: int, blocks: Sequence[Block]) -> None:
        """Replace block `index` by `blocks`: the open part of an answer has been split."""
        self._cache.transfer(self.blocks[index], blocks)
        self.blocks[index : index + 1] = blocks
        # An open part is near the end: few blocks follow it. Elsewhere this would be linear in what follows.
        self._heights.truncate(index)
        for block in self.blocks[index:]:
            self._heights.append(self._cache.height(block, self._width))
        first = bisect_left(self._landmarks, index)
        self._landmarks[first:] = [at for at in range(index, len(self.blocks)) if self.blocks[at].is_landmark]
        self._move_positions(index, len(blocks))

    def clear(self) -> None:
        self.blocks.clear()
        self._heights = Heights()
        self._cache.clear()
        self._top = (0, 0)
        self._anchor = None
        self._positions.clear()
        self._landmarks.clear()
        self.follows_end = True

    def track(self, position: TextPosition) -> TextPosition:
        """Move this position with its text from now on, as long as the caller keeps a reference to it."""
        self._positions.add(position)
        return position

    def rendered(self, index: int) -> RenderedBlock:
        """Return the rows of block `index`; its height is known then."""
        assert self._styles is not None, "configure() comes first"
        block = self.blocks[index]
        key = (*self._shape(block), self._styles)
        known = self._cache.find(block, key)
        if known is not None:
            return known
        new = block.render(self._width, self._styles)
        self._cache.store(block, key, new, least=self._height)
        self._heights.set(index, len(new.rows))
        return new

    def frame(self) -> Frame:
        """Return what is to be shown now."""
        if not self.blocks:
            return Frame((), (), 0, 0)
        places = self._from_end() if self.follows_end else self._from_top()
        if places:
            self._top = places[0]
            if self._anchor is None or self._anchor.top != self._top:
                self._anchor = None
                self._anchor = self._anchor_at_top()
        # Only the rows that show are listed: a block of 100,000 rows costs no more than one of 100.
        rows: list[Row] = []
        last, of_block = -1, rows
        for block, row in places:
            if block != last:
                last, of_block = block, self.rendered(block).rows
            rows.append(of_block[row])
        return Frame(rows, places, self._heights.offset(self._top[0]) + self._top[1], self._heights.total)

    def scroll(self, delta: int) -> None:
        """Move the window by exactly `delta` rows, whatever was estimated."""
        if not self.blocks:
            return
        self._find_anchor()
        block, row = self._top
        row += delta
        # Blocks on the way are rendered, so that the step is exact; the cost grows with `delta`.
        while row < 0 and block > 0:
            block -= 1
            row += len(self.rendered(block).rows)
        while row >= (count := len(self.rendered(block).rows)) and block < len(self.blocks) - 1:
            row -= count
            block += 1
        self.move_to(block, max(0, row))

    def jump(self, offset: int) -> None:
        """Move the window to about `offset` rows from the beginning."""
        # A long way goes by estimates, in logarithmic time: nothing on the way is rendered.
        if offset > 0 and offset >= self._heights.total - self._height:
            # The end exactly, although the total is an estimate.
            self.move_to(max(0, len(self.blocks) - 1), 1 << 30)
        else:
            self.move_to(*self._heights.find(offset))

    def move_to(self, block: int, row: int) -> None:
        """Show a row at the top, or as near to it as the end allows."""
        self._top, self._anchor = (block, row), None
        self.follow_if_at_end()

    def move_to_line(self, block: int, line: int, at: int) -> None:
        """Scroll a character into view, a third down the window; not at all if it is visible."""
        if not self.follows_end:
            self._find_anchor()
        row = row_of(self.rendered(block).rows, line, at)
        places = self._from_end() if self.follows_end else self._from_top()
        if (block, row) not in places:
            self.move_to(block, row)
            self.scroll(-(self._height // 3))

    def landmark(self, direction: int) -> int | None:
        """Return the nearest landmark before (-1) or after (1) the top."""

        def place(block: int) -> tuple[int, int]:
            return block, self.blocks[block].gap

        marks = self._landmarks
        if direction > 0:
            index = bisect_right(marks, self._top, key=place)
        else:
            index = bisect_left(marks, self._top, key=place) - 1
        return marks[index] if 0 <= index < len(marks) else None

    def top_anchor(self) -> TopAnchor | None:
        """Return what is at the top now, for `restore`; None for the end."""
        return None if self.follows_end or not self.blocks else self._anchor_at_top()

    def restore(self, anchor: TopAnchor | None) -> None:
        """Show again what `top_anchor()` returned."""
        self.follows_end = anchor is None
        if anchor is not None and self.blocks:
            self._anchor, anchor.shape = anchor, None
            self._find_anchor()
            self.follow_if_at_end()

    def can_remove_last(self, count: int) -> bool:
        """Return whether the last `count` blocks can be removed without moving what shows: the end is
        followed, or enough rows are below the window."""
        if self.follows_end or not self.blocks:
            return True
        self._find_anchor()
        block, below = self._top[0], -self._top[1]
        while block < len(self.blocks) - count and below < self._height:
            below += len(self.rendered(block).rows)
            block += 1
        return below >= self._height

    def scroll_to(self, block: int, row: int, y: int) -> None:
        """Show a row of a block at row `y` of the window, or as near as the rows above it allow."""
        self._top, self._anchor = (block, max(0, min(row, len(self.rendered(block).rows) - 1))), None
        self.scroll(-y)

    def follow_if_at_end(self) -> None:
        """Follow the end again if the window is at it."""
        if not self.blocks:
            self.follows_end = True
            return
        self.follows_end = False
        # A window at the end has the last visible row of the last block that has any.
        places = self._from_top()
        last = len(self.blocks) - 1
        while last > 0 and not self.rendered(last).rows:
            last -= 1  # a block of no rows, such as hidden reasoning
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
        self._find_anchor()
        block, row = self._top
        row = min(row, max(0, len(self.rendered(block).rows) - 1))
        places: list[tuple[int, int]] = []
        while block < len(self.blocks) and len(places) < self._height:
            end = min(len(self.rendered(block).rows), row + self._height - len(places))
            places.extend((block, at) for at in range(row, end))
            block, row = block + 1, 0
        return places if len(places) >= self._height else self._from_end()

    def _anchor_at_top(self) -> TopAnchor:
        self._find_anchor()
        block, row = self._top
        anchor = anchor_at(self.rendered(block).rows, block, row, self._shape(self.blocks[block]))
        self.track(anchor.position)
        return anchor

    def _find_anchor(self) -> None:
        """Find the text at the top again if its block has changed.

        It stays anchored to the same character: resizing to another width and back does not move the view.
        """
        self._top = (min(self._top[0], len(self.blocks) - 1), self._top[1])
        anchor = self._anchor
        if anchor is None or anchor.shape == self._shape(self.blocks[self._top[0]]):
            return
        block = min(anchor.position.block, len(self.blocks) - 1)
        self._top = anchor.top = (block, row_of_anchor(self.rendered(block).rows, anchor))
        anchor.shape = self._shape(self.blocks[block])

    def _move_positions(self, index: int, count: int) -> None:
        """Find each position's text in the `count` blocks that have replaced block `index`."""
        # Invariant: a position's line is counted from its block's first line; each piece takes its lines off.
        for position in self._positions:
            if position.block > index:
                position.block += count - 1
            elif position.block == index and not count:
                position.block, position.line, position.at = max(0, index - 1), 0, 0
            elif position.block == index:
                last = index + count - 1
                while position.block < last and position.line >= (
                    lines := len(self.rendered(position.block).lines)
                ):
                    position.block, position.line = position.block + 1, position.line - lines
        if self._anchor is not None:
            self._anchor.shape = None

    def _shape(self, block: Block) -> tuple[int, int, int]:
        return block.revision, block.gap, self._width
