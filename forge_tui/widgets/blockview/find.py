"""Finding a text in the blocks: which hold it, and how often. Looks through them a slice at a time."""

from __future__ import annotations

import re
import time
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from forge_tui.widgets.blockview.blocks import Block, Passage, letters_of
from forge_tui.widgets.blockview.layout import Layout
from forge_tui.widgets.blockview.rows import Rendered

_OPEN_BLOCKS = 64
"""Blocks from the end that may still change while a turn runs."""


class Finder:
    """The matches of one text at a time. Small letters find capitals too, capitals only themselves."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.needle = ""
        self._letters = ""
        self.pattern: re.Pattern[str] | None = None
        self.hits: list[int] = []
        """The blocks with a match that have been found so far, in order."""
        self.is_done = True
        self._counts: dict[int, int] = {}
        self._passages: dict[int, dict[Passage, int]] = {}
        """By block: its passages with a match, in order, and how many matches each."""
        self._looking: Iterator[None] = iter(())
        self._seen: dict[int, tuple[Block, int]] = {}
        """What was looked at, by index: the block and its revision."""
        self._texts: dict[Block, tuple[int, list[tuple[Passage, str]]]] = {}

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    def passages(self, block: int) -> Mapping[Passage, int]:
        """The passages of a block with a match, in order, what is folded included; and how many each has."""
        return self._passages.get(block, {})

    def before(self, block: int) -> int:
        """Matches in the blocks before this one."""
        return sum(self._counts[hit] for hit in self.hits[: bisect_left(self.hits, block)])

    def begin(self, needle: str, start: int) -> None:
        """Looks for another text, from block `start` upwards, then from the end on."""
        flags = re.NOFLAG if any(character.isupper() for character in needle) else re.IGNORECASE
        was_sharp = self.pattern is not None and not self.pattern.flags & re.IGNORECASE
        is_narrower = (
            self.is_done
            and self.pattern is not None
            and needle.startswith(self.needle)
            and not (was_sharp and flags)
        )
        blocks = self.hits if is_narrower else range(len(self._layout.blocks))
        self.needle = needle
        self._letters = letters_of(needle) if needle.isascii() else ""
        self.pattern = re.compile(re.escape(needle), flags) if needle else None
        below = bisect_left(blocks, start + 1)
        order = chain(reversed(blocks[:below]), reversed(blocks[below:]))
        self._looking = self._look_through(order) if needle else iter(())
        if not is_narrower:
            self._seen.clear()
        self.hits, self._counts, self._passages = [], {}, {}
        self.is_done = not needle

    def forget(self) -> None:
        """Looks for nothing, and keeps no text."""
        self.begin("", 0)
        self._texts.clear()
        self._seen.clear()

    def step(self, budget_s: float) -> None:
        """Looks at blocks for about so long."""
        end = time.perf_counter() + budget_s
        for _ in self._looking:
            if time.perf_counter() > end:
                return
        self.is_done = True

    def follow(self) -> bool:
        """Looks again at what has changed near the end, once all has been looked at; whether anything had."""
        if not self.is_done or self.pattern is None:
            return False
        blocks = self._layout.blocks
        last = max(max(self._seen, default=-1), len(blocks) - 1)
        changed = [
            index
            for index in range(max(0, last - _OPEN_BLOCKS), last + 1)
            if index >= len(blocks) or self._seen.get(index) != (blocks[index], blocks[index].revision)
        ]
        for _ in self._look_through(changed):
            pass
        return bool(changed)

    def places(self, rendered: Rendered, lines: range) -> list[tuple[int, int, int]]:
        """Line, start and end of each match in these lines of what a block shows. Of a line that stands
        unchanged on both sides of a diff only the new side counts."""
        if self.pattern is None:
            return []
        return [
            (number, match.start(), match.end())
            for number in lines
            if not _is_twin(rendered, number)
            for match in self.pattern.finditer(rendered.lines[number])
        ]

    def spans(self, line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The matches that touch these characters of a line."""
        if self.pattern is not None:
            reach = len(self.needle) - 1
            for match in self.pattern.finditer(line, max(0, start - reach), min(len(line), end + reach)):
                yield match.span()

    def _look_through(self, order: Iterable[int]) -> Iterator[None]:
        """Looks at these blocks; comes up for air after each passage."""
        for index in order:
            yield from self._look_at(index)
            yield

    def _look_at(self, index: int) -> Iterator[None]:
        if self._counts.pop(index, 0):
            self.hits.remove(index)
            del self._passages[index]
        if index >= len(self._layout.blocks):
            self._seen.pop(index, None)
            return
        block = self._layout.blocks[index]
        self._seen[index] = (block, block.revision)
        if self.pattern is None or not (block in self._texts or block.may_hold(self._letters)):
            return
        found: dict[Passage, int] = {}
        for passage, text in self._passages_of(block):
            if count := sum(1 for _ in self.pattern.finditer(text)):
                found[passage] = count
            yield
        if found:
            self._counts[index], self._passages[index] = sum(found.values()), found
            insort(self.hits, index)

    def _passages_of(self, block: Block) -> Iterator[tuple[Passage, str]]:
        revision = block.revision
        known = self._texts.get(block)
        if known is not None and known[0] == revision:
            yield from known[1]
            return
        texts: list[tuple[Passage, str]] = []
        for passage in block.passages():
            texts.append(passage)
            yield passage
        self._texts[block] = (revision, texts)


def _is_twin(rendered: Rendered, number: int) -> bool:
    return (
        rendered.sides.get(number) == "old"
        and rendered.sides.get(number + 1) == "new"
        and rendered.lines[number] == rendered.lines[number + 1]
    )
