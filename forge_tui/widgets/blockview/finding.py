"""The transcript while something is looked for in it: matches marked, one of them current."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right

from rich.segment import Segment
from textual.reactive import var
from textual.timer import Timer

from forge_tui.terminal.internals import report_fault
from forge_tui.widgets.blockview.blocks import Block, Passage
from forge_tui.widgets.blockview.find import Finder
from forge_tui.widgets.blockview.pointing import Pointing
from forge_tui.widgets.blockview.rows import NO_LINE, Row
from forge_tui.widgets.blockview.selection import overlaid
from forge_tui.widgets.blockview.spots import Hold, Spot
from forge_tui.widgets.blockview.styles import TranscriptStyles

_SLICE_S = 0.005
"""How long the loop is held at a time: less than a frame."""
_PAUSE_S = 0.002
_PATIENCE_S = 0.05
_FOLLOW_S = 0.5
"""Between two looks at what has come meanwhile."""


class Finding(Pointing):
    """A window in which text can be found."""

    find_status: var[str] = var("")
    """ "3/17", "no match", or empty while nothing is looked for."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._finder = Finder(self.model)
        self._origin: Hold | None = None
        """Where the person was; None: at the end."""
        self._from = (0, 0, 0)
        """Block, line and character behind which nothing was in view then."""
        self._current: Spot | None = None
        self._passage: Passage | None = None
        """What the current match stands in."""
        self._length = 0
        """Characters of the current match."""
        self._unfolded: Block | None = None
        """What was unfolded for the current match alone."""
        self._slice_handle: asyncio.Handle | None = None
        self._follow_timer: Timer | None = None

    # Beginning and end

    def start_find(self) -> None:
        """What is shown now is where the person comes back to."""
        self._origin = self.model.place()
        if self._follow_timer is None:
            self._follow_timer = self.set_interval(_FOLLOW_S, self._follow)

    def end_find(self, *, is_kept: bool) -> None:
        """Nothing is looked for any more; the view stays at the match, or goes back to where it was."""
        if self._follow_timer is not None:
            self._follow_timer.stop()
            self._follow_timer = None
        is_kept = is_kept and self._current is not None
        self._leave_match(is_kept=is_kept)
        self._cancel_slice()
        self._finder.forget()
        self.find_status = ""
        self._move(self.model.settle if is_kept else self._return)
        self.refresh()

    def look_for(self, needle: str) -> None:
        """Finds another text, beginning with the nearest match above the end of what was in view."""
        if needle == self._finder.needle:
            return
        self._leave_match(is_kept=False)
        self._move(self._return)
        self._from = self._end_of_view()
        self._finder.begin(needle, self._from[0])
        self._cancel_slice()
        self.refresh()
        self._look_on()

    def start_over_finding(self) -> None:
        """There is nothing left to look through."""
        self._origin = self._current = self._passage = self._unfolded = None
        self._cancel_slice()
        self._finder.forget()
        self._tell()

    def older_match(self) -> None:
        self._step(-1)

    def newer_match(self) -> None:
        self._step(1)

    def _return(self) -> None:
        self.model.go_back(self._origin)

    def _end_of_view(self) -> tuple[int, int, int]:
        for row, (block, _) in zip(reversed(self._frame.rows), reversed(self._frame.places), strict=True):
            if row.line != NO_LINE:
                return block, row.parts[-1].line, row.parts[-1].end
        return (self._frame.places[-1][0] if self._frame.places else 0), 0, 0

    # Looking

    def _look_on(self) -> None:
        """Looks at some more blocks, and comes back until all have been looked at."""
        self._slice_handle = None
        try:
            self._finder.step(_SLICE_S)
            if self._current is None and self._finder.hits:
                self._find_first()
            self._tell()
        except Exception as error:  # called by the loop: there is no message handler to catch a bug of ours
            report_fault(self.app, error)
            return
        if not self._finder.is_done:
            self._slice_handle = asyncio.get_running_loop().call_later(_PAUSE_S, self._look_on)

    def _follow(self) -> None:
        if self._finder.follow():
            self._tell()
            self.refresh()

    def _find_first(self) -> None:
        """Goes to the nearest match above the end of the view; below it only when all has been looked at."""
        hits, last = self._finder.hits, self._from[0]
        for passage in reversed(list(self._finder.passages(last))):
            for place in reversed(self._places(last, passage)):
                if (last, *place[:2]) <= self._from:
                    self._go_to(last, passage, place)
                    return
        if above := bisect_left(hits, last):
            self._enter(hits[above - 1], -1)
        elif self._finder.is_done and hits:
            self._enter(hits[-1], -1)

    def _step(self, direction: int) -> None:
        if self._current is None and not self._finder.is_done:
            self._finder.step(_PATIENCE_S)  # the key came sooner than the first match
            self._find_first()
            self._tell()
            return
        hits = self._finder.hits
        if not hits:
            return
        if self._current is None:  # they have come since
            self._enter(hits[-1], -1)
            self._tell()
            return
        self._step_from(self._current, direction)
        self._tell()

    def _step_from(self, spot: Spot, direction: int) -> None:
        block, passages = spot.block, list(self._finder.passages(spot.block))
        at = -1 if direction > 0 else len(passages)
        if self._passage in passages:
            here = (spot.line, spot.at)
            places = self._places(block, self._passage)
            rest = [place for place in places if (place[:2] < here if direction < 0 else place[:2] > here)]
            if rest:
                self._go_to(block, self._passage, rest[-1] if direction < 0 else rest[0])
                return
            at = passages.index(self._passage)
        hits = self._finder.hits
        if 0 <= at + direction < len(passages):
            self._go_into(block, passages[at + direction], direction)
        elif direction < 0:
            self._enter(hits[bisect_left(hits, block) - 1], -1)
        else:
            self._enter(hits[bisect_right(hits, block) % len(hits)], 1)

    def _enter(self, block: int, direction: int) -> None:
        """Goes to the last (-1) or first (1) match of a block."""
        self._go_into(block, list(self._finder.passages(block))[-1 if direction < 0 else 0], direction)

    def _go_into(self, index: int, passage: Passage, direction: int) -> None:
        """Goes to the last (-1) or first (1) match of a passage, which is unfolded where it hides."""
        block, places = self.model.blocks[index], self._places(index, passage)
        if block is not self._unfolded:
            self._fold_again()
        if len(places) < self._finder.passages(index)[passage] and block.reveal(passage):
            self._unfolded = block
            places = self._places(index, passage)
        # What is cut even so (the target in a header) is only counted; the line is as near as one can get.
        lines = block.lines_of(passage, self.model.rendered(index)) or range(1)
        nearest = places or [(lines[0], 0, 0), (lines[-1], 0, 0)]
        self._go_to(index, passage, nearest[-1 if direction < 0 else 0])

    def _places(self, index: int, passage: Passage) -> list[tuple[int, int, int]]:
        """The matches of a passage that show."""
        rendered = self.model.rendered(index)
        return self._finder.places(rendered, self.model.blocks[index].lines_of(passage, rendered))

    def _go_to(self, block: int, passage: Passage, place: tuple[int, int, int]) -> None:
        line, start, end = place
        self._passage = passage
        self._current, self._length = self.model.keep(Spot(block, line, start)), end - start

        def go() -> None:
            self.model.stay()
            self.model.move_to_line(block, line, start)

        self._move(go)
        self.refresh()

    def _leave_match(self, *, is_kept: bool) -> None:
        self._current = self._passage = None
        self._fold_again(is_kept=is_kept)

    def _fold_again(self, *, is_kept: bool = False) -> None:
        block, self._unfolded = self._unfolded, None
        if block is not None:
            block.end_reveal(is_kept=is_kept)

    def _tell(self) -> None:
        finder = self._finder
        if finder.pattern is None:
            self.find_status = ""
        elif not finder.is_done:
            self.find_status = f"{finder.total:,}…"
        elif self._current is None:
            self.find_status = f"–/{finder.total:,}" if finder.hits else "no match"
        else:
            self.find_status = f"{self._number(self._current):,}/{finder.total:,}"

    def _number(self, spot: Spot) -> int:
        """Which of all matches the current one is."""
        number, here = self._finder.before(spot.block), (spot.line, spot.at)
        for passage, count in self._finder.passages(spot.block).items():
            if passage == self._passage:
                places = self._places(spot.block, passage)
                return number + min(count, max(1, sum(place[:2] <= here for place in places)))
            number += count
        return max(1, number)

    def _cancel_slice(self) -> None:
        if self._slice_handle is not None:
            self._slice_handle.cancel()
            self._slice_handle = None

    # Painting

    def marked(self, row: Row, block: int, styles: TranscriptStyles) -> list[Segment]:
        """The row's segments with matches and selection marked."""
        segments = super().marked(row, block, styles)
        if self._finder.pattern is None:
            return segments
        lines = self.model.rendered(block).lines
        for part in row.parts:
            if part.line == NO_LINE:
                continue
            for start, end in self._finder.spans(lines[part.line], part.start, part.end):
                is_current = self._current is not None and self._current.order == (block, part.line, start)
                style = styles.match_current if is_current else styles.match
                segments = overlaid(segments, part, start, end, style)
        return segments
