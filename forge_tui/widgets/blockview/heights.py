"""Row counts of many blocks: sums, lookups and updates in logarithmic time (a Fenwick tree)."""

from __future__ import annotations


class Heights:
    """The heights of a growing sequence of blocks, in rows."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        self.total = 0

    def append(self, height: int) -> None:
        self._heights.append(height)
        # Node `at` sums the `at & -at` heights that end at it (Fenwick, 1994).
        at = len(self._heights)
        below = at - (at & -at)
        node, child = height, at - 1
        while child > below:
            node += self._tree[child]
            child -= child & -child
        self._tree.append(node)
        self.total += height

    def set(self, index: int, height: int) -> None:
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        self.total += change
        at = index + 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def truncate(self, length: int) -> None:
        """Remove all but the first `length` heights, in time linear in those removed."""
        self.total -= sum(self._heights[length:])
        del self._heights[length:]
        del self._tree[length + 1 :]

    def offset(self, index: int) -> int:
        """Return the number of rows before block `index`."""
        rows = 0
        while index > 0:
            rows += self._tree[index]
            index -= index & -index
        return rows

    def find(self, row: int) -> tuple[int, int]:
        """Return the block that contains `row`, and the row's number in it; the nearest one if there is
        none."""
        if not self._heights or row <= 0:
            return 0, 0
        if row >= self.total:
            return len(self._heights) - 1, max(0, self._heights[-1] - 1)
        # Descend from the largest power of two. Invariant: `row` is relative to the beginning of block `at`.
        at, step = 0, 1 << (len(self._heights).bit_length() - 1)
        while step:
            child = at + step
            if child < len(self._tree) and self._tree[child] <= row:
                at = child
                row -= self._tree[child]
            step >>= 1
        return at, row
