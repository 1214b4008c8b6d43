"""Find in a view: which blocks contain the text, the matches marked, one of them current."""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.timer import Timer

from forge_tui.widgets.blockview.block_layout import Layout, TextPosition, TopAnchor
from forge_tui.widgets.blockview.blocks import Block, Passage, letters_of
from forge_tui.widgets.blockview.rows import NO_LINE, RenderedBlock, Row
from forge_tui.widgets.blockview.selection import overlaid
from forge_tui.widgets.blockview.styles import TranscriptStyles

if TYPE_CHECKING:
    from forge_tui.widgets.blockview.block_view import BlockView

_SLICE_S = 0.005
"""The longest time that the event loop is blocked: less than a frame."""
_PAUSE_S = 0.002
_PATIENCE_S = 0.05
_FOLLOW_S = 0.5
"""Between two searches of added blocks."""
_OPEN_BLOCKS = 64
"""Blocks from the end that may still change while a turn runs."""


class Finder:
    """Finds text in a view: marks the matches, and moves the view from one to the next."""

    def __init__(self, view: BlockView) -> None:
        self.search = TextSearch(view.model)
        self.current: TextPosition | None = None
        """The match that was last scrolled to."""
        self._view = view
        self._origin: TopAnchor | None = None
        """The top of the view when finding began; None for the end."""
        self._from = (0, 0, 0)
        """Block, line and character at the end of the view then."""
        self._passage: Passage | None = None
        """The passage of the current match."""
        self._unfolded: Block | None = None
        """The block that was unfolded only for the current match."""
        self._slice_handle: asyncio.Handle | None = None
        self._follow_timer: Timer | None = None

    # Beginning and end

    def begin(self) -> None:
        """Remember the current view, to return to it if no match is kept."""
        self._origin = self._view.model.top_anchor()
        if self._follow_timer is None:
            self._follow_timer = self._view.set_interval(_FOLLOW_S, self._follow)

    def end(self, *, is_kept: bool) -> None:
        """Stop finding. The view stays at the match (`is_kept`), or returns to where it was."""
        if self._follow_timer is not None:
            self._follow_timer.stop()
            self._follow_timer = None
        is_kept = is_kept and self.current is not None
        self._leave_match(is_kept=is_kept)
        self.cancel()
        self.search.forget()
        self._show_status()
        self._view.move(self._view.model.follow_if_at_end if is_kept else self._return)
        self._view.refresh()

    def find(self, needle: str) -> None:
        """Find another text, beginning with the nearest match above the end of what was in view."""
        if needle == self.search.needle:
            return
        self._leave_match(is_kept=False)
        self._view.move(self._return)
        self._from = self._end_of_view()
        self.search.begin(needle, self._from[0])
        self.cancel()
        self._view.refresh()
        self._continue()

    def reset(self) -> None:
        """Forget everything: the view has been emptied."""
        self._origin = self.current = self._passage = self._unfolded = None
        self.cancel()
        self.search.forget()
        self._show_status()

    def prepended(self, count: int) -> None:
        """Search the `count` blocks that have been put before all others, too; the current match stays."""
        if self.search.pattern is None or not count:
            return
        self._from = (self._from[0] + count, *self._from[1:])
        self.search.begin_again(self._from[0] if self.current is None else self.current.block)
        while self.current is not None and not self.search.hits and not self.search.is_done:
            self.search.step(_SLICE_S)  # a step to another match begins with those of this block
        self.cancel()
        self._continue()

    def cancel(self) -> None:
        """Cancel the slice of searching that is scheduled."""
        if self._slice_handle is not None:
            self._slice_handle.cancel()
            self._slice_handle = None

    def _return(self) -> None:
        self._view.model.restore(self._origin)

    def _end_of_view(self) -> tuple[int, int, int]:
        frame = self._view.frame
        for row, (block, _) in zip(reversed(frame.rows), reversed(frame.places), strict=True):
            if row.line != NO_LINE:
                return block, row.parts[-1].line, row.parts[-1].end
        return (frame.places[-1][0] if frame.places else 0), 0, 0

    # Searching

    def _continue(self) -> None:
        """Search some more blocks; schedule the next slice unless all have been searched."""
        self._slice_handle = None
        try:
            self.search.step(_SLICE_S)
            if self.current is None and self.search.hits:
                self._find_first()
            self._show_status()
        except Exception as error:  # an event loop callback: no message handler would report a bug of ours
            self._view.report_exception(error)
            return
        if not self.search.is_done:
            self._slice_handle = asyncio.get_running_loop().call_later(_PAUSE_S, self._continue)

    def _follow(self) -> None:
        if self.search.follow():
            self._show_status()
            self._view.refresh()

    def _find_first(self) -> None:
        """Go to the nearest match above the end of the view; to one below it only after searching
        everything."""
        hits, last = self.search.hits, self._from[0]
        for passage in reversed(list(self.search.passages(last))):
            for place in reversed(self._places(last, passage)):
                if (last, *place[:2]) <= self._from:
                    self._go_to(last, passage, place)
                    return
        if above := bisect_left(hits, last):
            self._enter(hits[above - 1], -1)
        elif self.search.is_done and hits:
            self._enter(hits[-1], -1)

    def step(self, direction: int) -> None:
        """Go to the match before (-1) or after (1) the current one, wrapping around."""
        if self.current is not None:
            self._step_from(self.current, direction)
        elif not self.search.is_done:
            self.search.step(_PATIENCE_S)  # the key came before the first match
            self._find_first()
        elif self.search.hits:  # all matches are in blocks added since
            self._enter(self.search.hits[-1], -1)
        self._show_status()

    def _step_from(self, position: TextPosition, direction: int) -> None:
        block, passages = position.block, list(self.search.passages(position.block))
        at = -1 if direction > 0 else len(passages)
        # First within the current passage, then in the next passage of the block, then in the next block.
        if self._passage in passages:
            here = (position.line, position.at)
            places = self._places(block, self._passage)
            rest = [place for place in places if (place[:2] < here if direction < 0 else place[:2] > here)]
            if rest:
                self._go_to(block, self._passage, rest[-1] if direction < 0 else rest[0])
                return
            at = passages.index(self._passage)
        hits = self.search.hits
        if 0 <= at + direction < len(passages):
            self._go_into(block, passages[at + direction], direction)
        elif direction < 0:
            self._enter(hits[bisect_left(hits, block) - 1], -1)
        else:
            self._enter(hits[bisect_right(hits, block) % len(hits)], 1)

    def _enter(self, block: int, direction: int) -> None:
        """Go to the last (-1) or first (1) match of a block."""
        self._go_into(block, list(self.search.passages(block))[-1 if direction < 0 else 0], direction)

    def _go_into(self, index: int, passage: Passage, direction: int) -> None:
        """Go to the last (-1) or first (1) match of a passage; unfold it if it is hidden."""
        block, places = self._view.model.blocks[index], self._places(index, passage)
        if block is not self._unfolded:
            self._fold_again()
        if len(places) < self.search.passages(index)[passage] and block.reveal(passage):
            self._unfolded = block
            places = self._places(index, passage)
        # A match in clipped text (a header's target) is counted only: go to its line.
        lines = block.lines_of(passage, self._view.model.rendered(index)) or range(1)
        nearest = places or [(lines[0], 0, 0), (lines[-1], 0, 0)]
        self._go_to(index, passage, nearest[-1 if direction < 0 else 0])

    def _places(self, index: int, passage: Passage) -> list[tuple[int, int, int]]:
        """Return the visible matches of a passage."""
        rendered = self._view.model.rendered(index)
        return self.search.places(rendered, self._view.model.blocks[index].lines_of(passage, rendered))

    def _go_to(self, block: int, passage: Passage, place: tuple[int, int, int]) -> None:
        line, start, _end = place
        self._passage = passage
        self.current = self._view.model.track(TextPosition(block, line, start))

        def go() -> None:
            self._view.model.follows_end = False
            self._view.model.move_to_line(block, line, start)

        self._view.move(go)
        self._view.refresh()

    def _leave_match(self, *, is_kept: bool) -> None:
        self.current = self._passage = None
        self._fold_again(is_kept=is_kept)

    def _fold_again(self, *, is_kept: bool = False) -> None:
        block, self._unfolded = self._unfolded, None
        if block is not None:
            block.end_reveal(is_kept=is_kept)

    def _show_status(self) -> None:
        search = self.search
        if search.pattern is None:
            status = ""
        elif not search.is_done:
            status = f"{search.total:,}…"
        elif self.current is None:
            status = f"–/{search.total:,}" if search.hits else "no match"
        else:
            status = f"{self._number(self.current):,}/{search.total:,}"
        self._view.find_status = status

    def _number(self, position: TextPosition) -> int:
        """Return the number of the current match among all matches."""
        number, here = self.search.before(position.block), (position.line, position.at)
        for passage, count in self.search.passages(position.block).items():
            if passage == self._passage:
                places = self._places(position.block, passage)
                return number + min(count, max(1, sum(place[:2] <= here for place in places)))
            number += count
        return max(1, number)

    # Painting

    def highlighted(
        self, segments: list[Segment], row: Row, block: int, styles: TranscriptStyles
    ) -> list[Segment]:
        """Return the segments of a row with the matches marked."""
        if self.search.pattern is None:
            return segments
        lines = self._view.model.rendered(block).lines
        for part in row.parts:
            if part.line == NO_LINE:
                continue
            for start, end in self.search.spans(lines[part.line], part.start, part.end):
                is_current = self.current is not None and self.current.order == (block, part.line, start)
                style = styles.match_current if is_current else styles.match
                segments = overlaid(segments, part, start, end, style)
        return segments


class TextSearch:
    """The blocks that contain a text, searched a slice at a time. A text in lower case matches any case."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.needle = ""
        self._letters = ""
        self.pattern: re.Pattern[str] | None = None
        self.hits: list[int] = []
        """The indices of the blocks known to match, in order."""
        self.is_done = True
        self._counts: dict[int, int] = {}
        self._passages: dict[int, dict[Passage, int]] = {}
        """By block: its matching passages in order, with their numbers of matches."""
        self._remaining: Iterator[None] = iter(())
        self._seen: dict[int, tuple[Block, int]] = {}
        """What was searched, by index: the block and its revision."""
        self._texts: dict[Block, tuple[int, list[tuple[Passage, str]]]] = {}

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    def passages(self, block: int) -> Mapping[Passage, int]:
        """Return the matching passages of a block, folded ones included, in order, with their numbers of
        matches."""
        return self._passages.get(block, {})

    def before(self, block: int) -> int:
        """Return the number of matches in the blocks before this one."""
        return sum(self._counts[hit] for hit in self.hits[: bisect_left(self.hits, block)])

    def begin(self, needle: str, start: int) -> None:
        """Search for another text, from block `start` upwards, then from the end upwards."""
        flags = re.NOFLAG if any(character.isupper() for character in needle) else re.IGNORECASE
        was_case_sensitive = self.pattern is not None and not self.pattern.flags & re.IGNORECASE
        is_narrower = (
            self.is_done
            and self.pattern is not None
            and needle.startswith(self.needle)
            and not (was_case_sensitive and flags)
        )
        # A longer text can only match where the shorter one did, unless it ignores case and that one did not.
        blocks = self.hits if is_narrower else range(len(self._layout.blocks))
        self.needle = needle
        self._letters = letters_of(needle) if needle.isascii() else ""
        self.pattern = re.compile(re.escape(needle), flags) if needle else None
        # Upwards from the view, then from the end: the nearest match is found first.
        below = bisect_left(blocks, start + 1)
        order = chain(reversed(blocks[:below]), reversed(blocks[below:]))
        self._remaining = self._search_blocks(order) if needle else iter(())
        if not is_narrower:
            self._seen.clear()
        self.hits, self._counts, self._passages = [], {}, {}
        self.is_done = not needle

    def begin_again(self, start: int) -> None:
        """Search for the same text: the indices of the blocks have changed."""
        needle = self.needle
        self.begin("", 0)
        self.begin(needle, start)

    def forget(self) -> None:
        """Search for nothing, and drop the cached texts."""
        self.begin("", 0)
        self._texts.clear()
        self._seen.clear()

    def step(self, budget_s: float) -> None:
        """Search blocks for about `budget_s` seconds."""
        end = time.perf_counter() + budget_s
        for _ in self._remaining:
            if time.perf_counter() > end:
                return
        self.is_done = True

    def follow(self) -> bool:
        """Search the last blocks that have changed since the search was done; return whether any had."""
        if not self.is_done or self.pattern is None:
            return False
        blocks = self._layout.blocks
        # Removed blocks, too, so that their matches are dropped.
        last = max(max(self._seen, default=-1), len(blocks) - 1)
        changed = [
            index
            for index in range(max(0, last - _OPEN_BLOCKS), last + 1)
            if index >= len(blocks) or self._seen.get(index) != (blocks[index], blocks[index].revision)
        ]
        for _ in self._search_blocks(changed):
            pass
        return bool(changed)

    def places(self, rendered: RenderedBlock, lines: range) -> list[tuple[int, int, int]]:
        """Return the line, start and end of each match in these lines of a rendered block.

        Of a line that is unchanged on both sides of a diff, only the new side counts.
        """
        if self.pattern is None:
            return []
        return [
            (number, match.start(), match.end())
            for number in lines
            if not _is_twin(rendered, number)
            for match in self.pattern.finditer(rendered.lines[number])
        ]

    def spans(self, line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each match that touches these characters of a line."""
        if self.pattern is not None:
            # A match may begin before the row, or end after it, by all but one character.
            reach = len(self.needle) - 1
            for match in self.pattern.finditer(line, max(0, start - reach), min(len(line), end + reach)):
                yield match.span()

    def _search_blocks(self, order: Iterable[int]) -> Iterator[None]:
        """Search these blocks; yield after each passage, so that the caller can stop."""
        for index in order:
            yield from self._search_block(index)
            yield

    def _search_block(self, index: int) -> Iterator[None]:
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
        # Cached only when complete: the caller may stop in between.
        texts: list[tuple[Passage, str]] = []
        for passage in block.passages():
            texts.append(passage)
            yield passage
        self._texts[block] = (revision, texts)


def _is_twin(rendered: RenderedBlock, number: int) -> bool:
    line, *following = rendered.lines[number : number + 2]
    return line.side == "old" and any(other.side == "new" and other == line for other in following)
