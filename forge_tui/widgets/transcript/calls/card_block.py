"""The base of cards: a tool call, a group of calls, or reasoning. Folding, clicks and search."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from forge_tui.keys.effective import fold_key
from forge_tui.widgets.blockview.blocks import Block, Linkable, Passage
from forge_tui.widgets.blockview.folding import Fold
from forge_tui.widgets.blockview.rows import NO_LINE, Canvas, RenderedBlock
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.calls.paging import turn_page

if TYPE_CHECKING:
    from forge_tui.widgets.transcript.calls.card_body import CardBody

CardPart = Literal[
    "header", "text", "more_calls", "earlier_calls", "previous_page", "next_page", "fold", "new_page"
]
_FORWARD, _BACKWARD = ("next_page", "more_calls"), ("previous_page", "earlier_calls")
"""Parts that turn the page of the body or of the calls."""
HEADER, PREVIEW = 0, -1
"""Numbers of passages: the header, and the visible part of a folded body. The pages of a body count from
1."""
_PAGE = 100
"""Blocks on a page of an unfolded card."""


@dataclass(frozen=True, slots=True)
class ClickTarget:
    """The block and its part that rows belong to, from some row on."""

    block: CardBlock
    part: CardPart


class CardBlock(Block):
    """A card, alone in the transcript or within another one."""

    is_wide = True

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.owner: CardBlock | None = None
        """The card that contains it."""
        self.calls = CardList(self)
        """The cards in it."""
        self.body: CardBody | None = None
        """Its output, below these cards."""
        self._targets: list[tuple[int, ClickTarget]] = []
        self._clicked: ClickTarget | None = None
        self._passages: list[tuple[int, Passage]] = []
        """The passages, each with its first row."""
        self._revealed: dict[CardBlock, _ShownState] = {}
        """The state of each block before it was unfolded for a match."""
        super().__init__()

    @property
    def revision(self) -> int:
        """Incremented also when all blocks are folded or unfolded at once."""
        return self._changes + (self.fold.round << 32)

    @property
    def is_open(self) -> bool:
        return self.fold.is_open

    @property
    @abstractmethod
    def can_unfold(self) -> bool:
        """Whether there is anything to unfold."""

    def path(self) -> Iterator[CardBlock]:
        """Yield the card, the card that contains it, and so on outwards."""
        yield self
        if self.owner is not None:
            yield from self.owner.path()

    def lines_of(self, passage: Passage, rendered: RenderedBlock) -> range:
        at = next((at for at, (_, mark) in enumerate(self._passages) if mark == passage), None)
        if at is None:
            return range(0)
        end = self._passages[at + 1][0] if at + 1 < len(self._passages) else None
        rows = rendered.rows[self._passages[at][0] : end]
        # Decoration belongs to no line, so it is neither searched nor selected.
        lines = [part.line for row in rows for part in row.parts if part.line != NO_LINE]
        return range(min(lines), max(lines) + 1) if lines else range(0)

    def reveal(self, passage: Passage) -> bool:
        path = list(passage.block.path()) if isinstance(passage.block, CardBlock) else []
        if path[-1:] != [self]:
            return False  # it has been moved into another block since
        before = self._changes
        # Restore blocks that the last match needed and this one does not; remember the state of the others.
        for left in [left for left in self._revealed if left not in path]:
            left._restore(self._revealed.pop(left))
        for block in path:
            self._revealed.setdefault(block, block._shown_state())
        # From the outermost card inwards: each unfolds, and shows the page with the one inside it.
        for inner, outer in reversed(list(pairwise(path))):
            outer.set_open(True)
            if outer.calls.show(inner):
                outer.changed()
        path[0].show_passage(passage.number)
        return self._changes != before

    def end_reveal(self, *, is_kept: bool) -> None:
        revealed, self._revealed = self._revealed, {}
        for block, state in revealed.items() if not is_kept else ():
            block._restore(state)

    def show_passage(self, number: int) -> None:
        """Unfold what hides a passage of its own text."""

    def _shown_state(self) -> _ShownState:
        pages = range(1) if self.body is None else self.body.pages_shown
        return _ShownState(self.is_open, self.calls.pages_shown, pages)

    def _restore(self, state: _ShownState) -> None:
        if state != self._shown_state():
            self.set_open(state.is_open)
            self.calls.pages_shown = state.calls
            if self.body is not None:
                self.body.pages_shown = state.pages
            self.changed()

    def turn_page(self, part: CardPart) -> ClickTarget | None:
        """Show the next or the previous page; return what it begins with."""
        block = self.calls.turn_page(1 if part == "more_calls" else -1)
        return None if block is None else ClickTarget(block, "header")

    @abstractmethod
    def draw_header(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Add the one row of the header."""

    @abstractmethod
    def draw_in_list(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Add the rows that it takes within another card."""

    def call_ended(self, call: CardBlock) -> None:
        """Called when a call within it has ended."""

    def changed(self) -> None:
        super().changed()
        if self.owner is not None:
            self.owner.changed()

    def set_open(self, is_open: bool) -> bool:
        """Fold or unfold; return whether that changed anything."""
        if (is_open and not self.can_unfold) or not self.fold.set(is_open):
            return False
        self.changed()
        return True

    def render(self, width: int, styles: TranscriptStyles) -> RenderedBlock:
        rendered = super().render(width, styles)
        self._targets = [(row, mark) for row, mark in rendered.marks if isinstance(mark, ClickTarget)]
        self._passages = [(row, mark) for row, mark in rendered.marks if isinstance(mark, Passage)]
        return rendered

    def toggle(self, row: int) -> bool:
        """Handle a click: on a header, fold or unfold; on a page row, turn the page.

        Clicks on unfolded text do nothing.
        """
        target = self._target_at(row)
        if target is None:
            return False
        block = target.block
        if target.part in (*_FORWARD, *_BACKWARD):
            self._clicked = block.turn_page(target.part)
            if self._clicked is not None:
                block.changed()
            return self._clicked is not None
        self._clicked = ClickTarget(block, "header")
        if target.part in ("text", "new_page") and block.is_open:
            return False
        return block.set_open(not block.is_open)

    def fold_at(self, row: int) -> bool:
        """Fold or unfold the innermost foldable block at `row`."""
        target = self._target_at(row)
        around = (self if target is None else target.block).path()
        block = next((block for block in around if block.can_unfold), None)
        if block is None:
            return False
        self._clicked = ClickTarget(block, "header")
        return block.set_open(not block.is_open)

    def page_at(self, row: int) -> int:
        target = self._target_at(row)
        return 0 if target is None else (target.part in _FORWARD) - (target.part in _BACKWARD)

    def toggle_back(self) -> bool:
        held = self._clicked
        if held is None or held.part != "header":  # a turned page stays turned
            return False
        return held.block.set_open(not held.block.is_open)

    def row_to_keep(self, row: int) -> int:
        return next((at for at, target in self._targets if target == self._clicked), row)

    def _target_at(self, row: int) -> ClickTarget | None:
        if not self._targets:
            return ClickTarget(self, "header")
        # A target extends to the next one: the last that begins at or above the row.
        return next((target for at, target in reversed(self._targets) if at <= row), None)


@dataclass(frozen=True, slots=True)
class _ShownState:
    """How much of a block shows."""

    is_open: bool
    calls: range
    pages: range


class CardList:
    """The cards in a card, between its header and its output."""

    def __init__(self, owner: CardBlock) -> None:
        self._owner = owner
        self._blocks: list[CardBlock] = []
        self.pages_shown = range(1)
        """The pages that show if the card is unfolded."""
        self._drawn: dict[CardBlock, tuple[object, RenderedBlock]] = {}
        """Their drawn rows, and what these depend on: an event redraws only the card that it changes."""
        self.count = 0
        """Number of calls; a group counts as many as it has."""

    @property
    def last(self) -> CardBlock | None:
        return self._blocks[-1] if self._blocks else None

    def append(self, block: CardBlock) -> None:
        block.owner = self._owner
        self._blocks.append(block)

    def replace_last(self, block: CardBlock) -> None:
        """Replace a call by the group that it begins."""
        block.owner = self._owner
        self._blocks[-1] = block

    def passages(self) -> Iterator[tuple[Passage, str]]:
        """Yield the passages of the cards, in order."""
        return (passage for block in self._blocks for passage in block.passages())

    def show(self, block: CardBlock) -> bool:
        """Show the page with that block, and those around it; return whether it was hidden."""
        page = self._blocks.index(block) // _PAGE
        if page in self.pages_shown:
            return False
        self.pages_shown = range(max(0, page - 1), page + 2)
        return True

    def without_links(self) -> Iterator[Linkable]:
        """Yield the parts of the cards on the pages shown that have not been looked through for paths."""
        first, end = self.pages_shown.start * _PAGE, self.pages_shown.stop * _PAGE
        return (part for block in self._blocks[first:end] for part in block.without_links())

    def turn_page(self, direction: int) -> CardBlock | None:
        """Show the next (1) or the previous (-1) page; return its first card, seen from the old ones."""
        turned = turn_page(self.pages_shown, direction, -(-len(self._blocks) // _PAGE))
        if turned is None:
            return None
        self.pages_shown = turned
        return self._blocks[(turned.stop - 1) * _PAGE if direction > 0 else (turned.start + 1) * _PAGE - 1]

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Add the rows of the cards, in order."""
        first, end = self.pages_shown.start * _PAGE, self.pages_shown.stop * _PAGE
        if first:
            canvas.mark(ClickTarget(self._owner, "earlier_calls"))
            canvas.decoration([(f"… {first:,} before (PageUp)", styles.accent)])
        before, self._drawn = self._drawn, {}
        rendered = canvas.rendered
        for block in self._blocks[first:end]:
            key = (block.revision, styles, canvas.position)
            known = before.get(block)
            if known is not None and known[0] == key:
                # Only changed cards are drawn; 300 cards would otherwise be drawn for every event of one of
                # them.
                rendered.extend(known[1])
                self._drawn[block] = known
            else:
                sizes = len(rendered.rows), len(rendered.lines), len(rendered.marks)
                block.draw_in_list(canvas, styles)
                self._drawn[block] = key, rendered.after(*sizes)
        if (more := len(self._blocks) - end) > 0:
            canvas.mark(ClickTarget(self._owner, "more_calls"))
            canvas.decoration([(f"… {more:,} more below (PageDown)", styles.accent)])

    def draw_latest(self, canvas: Canvas, styles: TranscriptStyles, most: int) -> None:
        """Add a row for each of the latest cards, `most` at most, and one for those before, unless it shows
        only one."""
        self._drawn.clear()
        if (more := len(self._blocks) - most) > 0 and most > 1:
            canvas.mark(ClickTarget(self._owner, "text"))
            canvas.decoration([(f"… {more:,} before ({fold_key()})", styles.muted)])
        for block in self._blocks[-most:]:
            block.draw_header(canvas, styles)
