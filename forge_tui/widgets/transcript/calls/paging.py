"""Pages of a long text: which items show, and how many lines are before and after them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

PAGE_LINES = 200
PAGE_CHARS = 24_000
"""A page ends at either limit, so that each costs about the same to draw."""
MOST_PAGES = 3
"""Pages that show at the same time; beyond that, the farthest one is hidden."""
_LONGEST_LINE = 8_000


class ItemSize(NamedTuple):
    """The size of one item."""

    lines: int
    chars: int


class Pages:
    """A window onto numbered items: first one page of them, then one more at either end."""

    def __init__(self, sizes: Iterable[ItemSize | tuple[int, int]]) -> None:
        sizes = list(sizes)
        self._starts = [0]
        self._lines: list[int] = list(accumulate(map(itemgetter(0), sizes), initial=0))
        """Lines before each item."""
        self.count = len(sizes)
        lines = chars = 0
        for number, (more_lines, more_chars) in enumerate(sizes):
            lines, chars = lines + more_lines, chars + more_chars
            # A page has at least one item, however long that is.
            if lines > more_lines and (lines > PAGE_LINES or chars > PAGE_CHARS):
                self._starts.append(number)
                lines, chars = more_lines, more_chars
        self._numbers = range(1)
        self._new_from = 0

    @property
    def first(self) -> int:
        """The first item that shows."""
        return self._starts[self._numbers.start]

    @property
    def end(self) -> int:
        """The item after the last one that shows."""
        return self.items(self._numbers.stop - 1).stop

    @property
    def lines(self) -> int:
        """Lines of all items."""
        return self._lines[-1]

    @property
    def lines_before(self) -> int:
        return self._lines[self.first]

    @property
    def lines_after(self) -> int:
        return self.lines - self._lines[self.end]

    @property
    def numbers(self) -> range:
        """The pages that show."""
        return self._numbers

    @numbers.setter
    def numbers(self, numbers: range) -> None:
        self._numbers, self._new_from = numbers, 0

    def items(self, number: int) -> range:
        """Return the items on a page."""
        is_last = number + 1 >= len(self._starts)
        return range(self._starts[number], self.count if is_last else self._starts[number + 1])

    def __len__(self) -> int:
        """Return the number of pages, shown or not."""
        return len(self._starts)

    def parts(self) -> list[tuple[int, range, bool]]:
        """Return the items that show, page by page; True for those that the last step has added."""
        parts: list[tuple[int, range, bool]] = []
        for number in self.numbers:
            items = self.items(number)
            if items.start < self._new_from < items.stop:
                parts.append((number, range(items.start, self._new_from), False))
                items = range(self._new_from, items.stop)
            parts.append((number, items, self.first < self._new_from == items.start))
        return parts

    def show(self, number: int) -> bool:
        """Show a page, with those around it; return whether it was hidden."""
        if number in self.numbers or number >= len(self):
            return False
        self.numbers = range(max(0, number - 1), min(len(self), number + 2))
        return True

    def turn_page(self, direction: int) -> bool:
        """Show the next (1) or the previous (-1) page as well; return whether there is one."""
        turned = turn_page(self._numbers, direction, len(self))
        if turned is None:
            return False
        # On the way back the mark is at the last new item, next to the text that the user was reading.
        self._new_from = self.end if direction > 0 else self.first - 1
        self._numbers = turned
        return True


def turn_page(shown: range, direction: int, count: int) -> range | None:
    """Return the pages that show after turning to the next (1) or the previous (-1) of `count` pages.

    The others stay, as long as they are not more than MOST_PAGES. None if there is no such page.
    """
    if direction > 0 and shown.stop < count:
        return range(max(shown.start, shown.stop + 1 - MOST_PAGES), shown.stop + 1)
    if direction < 0 and shown.start:
        return range(shown.start - 1, min(shown.stop, shown.start - 1 + MOST_PAGES))
    return None


def lines_of(text: str) -> list[str]:
    """Return the lines of `text`; very long ones in pieces."""
    lines = text.split("\n")
    if max(map(len, lines)) <= _LONGEST_LINE:
        return lines
    return [
        line[at : at + _LONGEST_LINE] for line in lines for at in range(0, max(1, len(line)), _LONGEST_LINE)
    ]
