"""The changes to one file: hunks to step through, side by side or stacked, or the raw patch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from rich.segment import Segment

from forge_core.sanitize import safe_text
from forge_core.text_width import clip, wrap_cells
from forge_tui.widgets.blockview.block_view import BlockView
from forge_tui.widgets.blockview.blocks import Block, LinesBlock
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.diff.drawing import DiffLayout, draw_stretches
from forge_tui.widgets.diff.unified_diff import Patch, Stretch

_BLOCK_LINES = 100
"""Lines per block; only visible blocks are drawn."""
_MARGIN = [Segment(" ")]
_CONTEXT = 3
"""Unchanged lines around a change; a longer stretch between two changes separates them for the keys."""


HunkStart: TypeAlias = tuple[int, int]
"""The numbers, from 1, of the first changed line of a hunk on the old and on the new side."""


@dataclass(frozen=True, slots=True)
class ReadingPosition:
    """Where the user is reading."""

    line: int
    """A line of the new side, approximately."""
    is_at_hunk: bool
    """Whether it is the beginning of the current hunk."""
    hunk: HunkStart | None = None
    """Where the current hunk has its first change."""


class HunkBlock(Block):
    """Some lines of a hunk; the first ones under its heading."""

    is_wide = True

    def __init__(
        self,
        stretches: Sequence[Stretch],
        look: DiffLayout,
        heading: str | None = None,
        *,
        is_kept: bool = False,
        on_click: Callable[[], None] | None = None,
    ) -> None:
        """Of a hunk that is marked as kept only the heading is shown."""
        super().__init__()
        self.gap = 0
        self.is_current = False
        self._is_kept = is_kept
        self._on_click = on_click
        self.first = stretches[0].new_from
        """The number of its first line on the new side."""
        self._stretches = stretches
        self._look = look
        self._heading = heading

    def mark(self, is_current: bool) -> None:
        """Show whether this is the current hunk."""
        if is_current != self.is_current:
            self.is_current = is_current
            self.changed()

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        if self._heading is not None:
            digits = self._look.old_digits or self._look.new_digits
            sign = "▸" if self.is_current else "⋮"
            colour = styles.accent if self.is_current else styles.faint
            mark = "✓ kept  " if self._is_kept else ""
            text = clip(self._heading, max(0, canvas.width - digits - 4 - len(mark)))
            canvas.decoration(
                [(f" {sign.rjust(digits)}   ", colour), (mark, styles.success), (text, styles.muted)]
            )
        if self._is_kept:
            return
        with canvas.indented(_MARGIN):
            draw_stretches(self._stretches, canvas, styles, self._look)

    def toggle(self, row: int) -> bool:
        if self._on_click is not None:
            self._on_click()
        return False

    def estimate(self, width: int) -> int:
        if self._is_kept:
            return 1
        rows = (
            max(len(one.old), len(one.new)) if self._look.is_split else len(one) for one in self._stretches
        )
        return sum(rows) + (self._heading is not None)


class RawBlock(LinesBlock):
    """Lines of a raw patch."""

    is_wide = True

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines)
        self.gap = 0

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        for line in self._lines:
            fill = {"+": styles.added, "-": styles.removed}.get(line[:1])
            if line.startswith(("+++ ", "--- ", "diff --git ")):
                fill = None
            style = fill or (styles.text if line.startswith(" ") else styles.muted)
            with canvas.indented(_MARGIN):
                canvas.text([(line.expandtabs(8), style)], wrap=wrap_cells, fill=fill, original=line)


class MessageBlock(LinesBlock):
    """A message instead of changes."""

    is_wide = True

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented([Segment("  ")]):
            for number, line in enumerate(self._lines):
                canvas.text([(line, styles.muted if number else styles.text)])


class DiffPane(BlockView):
    """The pane of the diff viewer. The screen handles the keys."""

    DEFAULT_CSS = "DiffPane { width: 1fr; height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._heads: list[int] = []
        """The index of the first block of each hunk."""
        self._hunk = 0
        self._starts: list[HunkStart | None] = []
        """Where each hunk has its first change; None for unchanged lines at the end of a file."""
        self._kept: Collection[HunkStart] = ()

    @property
    def current(self) -> HunkStart | None:
        """Where the current hunk has its first change; None without hunks."""
        return self._starts[self._hunk] if self._starts else None

    @property
    def place(self) -> ReadingPosition | None:
        """The current position, to be found again in another view of the file; None without lines."""
        if not self._heads or not self.frame.places:
            return None
        is_at_hunk = self._is_current_visible()
        block, row = (self._heads[self._hunk], 0) if is_at_hunk else self.frame.places[0]
        top = self.model.blocks[block]
        if not isinstance(top, HunkBlock):
            return None
        return ReadingPosition(top.first + row, is_at_hunk, self.current)

    def show_patch(
        self,
        patch: Patch,
        language: str,
        *,
        is_split: bool,
        place: ReadingPosition | None,
        is_last: bool = False,
        kept: Collection[HunkStart] = (),
    ) -> None:
        """Show these hunks from the beginning, from a position, or from the last hunk; fold those that are
        `kept`. If the hunk of the position is gone, show the next one that is not kept."""
        look = DiffLayout.of(patch, language, is_split=is_split)
        self._clear()
        self._kept = kept
        for hunk in patch.hunks:
            for number, section in enumerate(_sections(hunk.stretches)):
                choose = partial(self._choose, len(self._heads))
                self._heads.append(len(self.model.blocks))
                self._starts.append(start := _start(section))
                heading = hunk.title if patch.has_titles and not number else None
                if start in kept:
                    self.model.append(
                        HunkBlock(section, look, _figures(section), is_kept=True, on_click=choose)
                    )
                else:
                    for part in _parts(section, look.is_split):
                        self.model.append(HunkBlock(part, look, heading, on_click=choose))
                        heading = None
        if patch.remarks:
            self.model.append(MessageBlock(patch.remarks))
        self._begin(place, is_last)

    def show_raw(self, text: str) -> None:
        """Show a raw patch."""
        lines = safe_text(text, keep_invisible=True).removesuffix("\n").split("\n")
        self._clear()
        for at in range(0, len(lines), _BLOCK_LINES):
            self.model.append(RawBlock(lines[at : at + _BLOCK_LINES]))
        self._begin(None, False)

    def show_words(self, *lines: str) -> None:
        """Show a message instead."""
        self._clear()
        self.model.append(MessageBlock([line for line in lines if line]))
        self._begin(None, False)

    def step(self, direction: int) -> bool:
        """Go to the next hunk (1) or the previous one (-1); return False if there is none."""
        wanted = self._hunk + direction
        if not self._is_current_visible():  # the user has scrolled away: go on from the top of the view
            top = self.frame.places[0][0] if self.frame.places else 0
            passed = bisect_right(self._heads, top)
            wanted = min(passed, len(self._heads) - 1) if direction > 0 else max(0, passed - 1)
        if not 0 <= wanted < len(self._heads):
            return False
        self._go_to(wanted)
        return True

    def step_past_kept(self) -> bool:
        """Go to the next hunk that is not kept; return False if none follows."""
        wanted = next((number for number in self._open_hunks() if number > self._hunk), None)
        if wanted is None:
            return False
        self._go_to(wanted)
        return True

    def _open_hunks(self) -> list[int]:
        """Return the indices of the hunks that are not kept."""
        return [number for number, start in enumerate(self._starts) if start and start not in self._kept]

    def _clear(self) -> None:
        self.reset()
        self._heads, self._starts, self._hunk, self._kept = [], [], 0, ()

    def _begin(self, place: ReadingPosition | None, is_last: bool) -> None:
        self.model.follows_end = False
        if not self._heads:
            self.move(lambda: self.model.move_to(0, 0))
        elif place is None:
            self._go_to(len(self._heads) - 1 if is_last else 0)
        elif place.is_at_hunk and (found := self._hunk_at(place)) is not None:
            self._go_to(found)
        else:
            blocks = [block.first for block in self.model.blocks if isinstance(block, HunkBlock)]
            block = max(0, bisect_right(blocks, place.line) - 1)
            self._go_to(max(0, bisect_right(self._heads, block) - 1))
            if not place.is_at_hunk:
                self.move(lambda: self.model.move_to(block, max(0, place.line - blocks[block])))
        self.show()

    def _hunk_at(self, place: ReadingPosition) -> int | None:
        """Return the hunk of a position; if it is gone, the next one that is not kept, or else the last."""
        if place.hunk in self._starts:
            return self._starts.index(place.hunk)
        left = self._open_hunks()
        if place.hunk is None or not left:
            return None
        line = place.hunk[1]
        starts = ((number, self._starts[number]) for number in left)
        return next((number for number, start in starts if start and start[1] >= line), left[-1])

    def _go_to(self, hunk: int) -> None:
        self._choose(hunk)
        self.move(lambda: self.model.move_to(self._heads[hunk], 0))

    def _choose(self, hunk: int) -> None:
        """Make a hunk the current one, where it is."""
        for number in (self._hunk, hunk):
            block = self.model.blocks[self._heads[number]]
            assert isinstance(block, HunkBlock)
            block.mark(number == hunk)
        self._hunk = hunk

    def _is_current_visible(self) -> bool:
        return bool(self._heads) and any(block == self._heads[self._hunk] for block, _ in self.frame.places)


def _start(section: Sequence[Stretch]) -> HunkStart | None:
    return next(((one.old_from, one.new_from) for one in section if not one.is_same), None)


def _figures(section: Sequence[Stretch]) -> str:
    """Return the first changed line, and the numbers of added and removed lines."""
    added = sum(len(one.new) for one in section if not one.is_same)
    removed = sum(len(one.old) for one in section if not one.is_same)
    parts = [f"+{added}" if added else "", f"−{removed}" if removed else ""]
    start = _start(section) or (0, section[0].new_from)
    return f"line {start[1]:,}  " + " ".join(part for part in parts if part)


def _sections(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Yield the changes of a hunk that long unchanged stretches separate; in a whole file, what its hunks
    would be."""
    section: list[Stretch] = []
    for stretch in stretches:
        if stretch.is_same and len(stretch) > 2 * _CONTEXT and any(not one.is_same for one in section):
            head, tail = stretch.cut(len(stretch) - _CONTEXT)
            yield [*section, head]
            section = [tail]
        else:
            section.append(stretch)
    if section:
        yield section


def _parts(section: Sequence[Stretch], is_split: bool) -> Iterator[list[Stretch]]:
    """Yield a section in parts that are cheap to draw."""
    part: list[Stretch] = []
    for stretch in section:
        for piece in stretch.parts(_BLOCK_LINES, is_split=is_split):
            part.append(piece)
            if sum(map(len, part)) >= _BLOCK_LINES:
                yield part
                part = []
    if part:
        yield part
