"""The mouse over a transcript: wheel, clicks that fold, and selecting, also past the edges."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.message import Message
from textual.scrollbar import ScrollTo
from textual.timer import Timer

from forge_tui.widgets.blockview import selection as selecting
from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.selection import Selected
from forge_tui.widgets.blockview.spots import Spot
from forge_tui.widgets.blockview.window import Window

WHEEL_ROWS = 3
_EDGE_S = 0.05
"""Between two steps of scrolling while the pointer is held past an edge."""
_FASTEST_ROWS = 8


class Pointing(Window):
    """A window that answers to the mouse."""

    class SelectionMade(Message):
        """The button went up over a new selection."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._pressed: Spot | None = None
        """Where the button went down; None while it is up."""
        self._pressed_behind: Spot | None = None
        self._has_dragged = False
        self._had_selection = False
        """Since the last press, and when it came."""
        self._clicked: tuple[Spot, Block | None] | None = None
        """What was under the last single click, and the block that it folded."""
        self._pointer: tuple[int, int] | None = None
        """Cell under the pointer, also outside of the window while something is dragged."""
        self._edge_timer: Timer | None = None
        self._edge_steps = 0
        self._has_left_first_row = False

    def start_over(self) -> None:
        """Empties the window: of what the mouse is about nothing is there any more."""
        if self._pressed is not None:
            self.release_mouse()
        self._stop_selecting()
        self._clicked = None
        self.select(None)
        self.model.clear()

    @property
    def pointed_block(self) -> int | None:
        """The block under the pointer, or None."""
        if self._pointer is None or not self.is_mouse_over:
            return None
        self.show()  # what came since the last frame may have put other blocks there
        place = self._place_at(self._pointer[1])
        return None if place is None else place[0]

    def _place_at(self, y: int) -> tuple[int, int] | None:
        return self._frame.places[y] if 0 <= y < len(self._frame.places) else None

    # Wheel

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn_wheel(event, -WHEEL_ROWS)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn_wheel(event, WHEEL_ROWS)

    def _turn_wheel(self, event: events.MouseEvent, delta: int) -> None:
        event.stop()
        event.prevent_default()
        self.scroll_rows(delta)
        if self._pressed is not None:
            self._extend(event.x, event.y)

    def _on_scroll_to(self, message: ScrollTo) -> None:
        """The bar is dragged. Its ends are the ends, though its thumb takes more than its share of rows."""
        if not self.vertical_scrollbar.grabbed:
            return
        y = self.app.mouse_position.y - self.region.y
        if 0 < y < self.size.height - 1:
            return
        message.stop()
        message.prevent_default()
        (self.scroll_to_start if y <= 0 else self.scroll_to_end)()

    # Selecting

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self.capture_mouse()
        self._pointer = (event.x, event.y)
        self._has_dragged, self._had_selection = False, self.selected is not None
        self._has_left_first_row = event.y > 0
        if event.shift and self.selected is not None:
            self._pressed = self._pressed_behind = self.selected.anchor
            self._extend(event.x, event.y)
            return
        self._pressed = self.model.keep(self._spot(event.x, event.y))
        self._pressed_behind = self.model.keep(self._spot(event.x, event.y, behind=True))

    def _on_mouse_move(self, event: events.MouseMove) -> None:
        before, self._pointer = self._pointer, (event.x, event.y)
        if self._pressed is not None and self._pointer != before:
            self._has_left_first_row |= event.y > 0
            self._extend(event.x, event.y)
            self._scroll_past_edge()

    async def _on_mouse_up(self, event: events.MouseUp) -> None:
        if self._pressed is not None:
            if self._pointer != (event.x, event.y):  # the way there was not told, or not to us
                self._extend(event.x, event.y)
            self.release_mouse()
            if self._has_dragged:
                self.post_message(self.SelectionMade())
            elif self._had_selection:
                self.select(None)

    def _on_mouse_release(self, event: events.MouseRelease) -> None:
        self._stop_selecting()

    def _on_leave(self, event: events.Leave) -> None:
        if event.node is self and self._pressed is None:
            self._pointer = None

    def _stop_selecting(self) -> None:
        self._pressed = self._pressed_behind = None
        self._stop_edge_timer()

    def _extend(self, x: int, y: int) -> None:
        """Selects from where the button went down to this cell, both cells included."""
        if self._pressed is None or self._pressed_behind is None or not self.model.blocks:
            return
        head = self._spot(x, y)
        if head.order >= self._pressed.order:
            chosen = Selected(self._pressed, self.model.keep(self._spot(x, y, behind=True)))
        else:
            chosen = Selected(self._pressed_behind, self.model.keep(head))
        self._has_dragged = True
        self.select(chosen)

    def _spot(self, x: int, y: int, *, behind: bool = False) -> Spot:
        """The character at a cell, the nearest one where the cell is outside of the rows."""
        self.show()
        places = self._frame.places
        if not places:
            return Spot(0, 0, 0)
        if y >= len(places):
            block, number = places[-1]
            x = self.size.width
        else:
            block, number = places[max(0, y)]
            x = 0 if y < 0 else x
        return selecting.spot_at(self.model, block, number, max(0, x), behind=behind)

    # Past the edges

    def _scroll_past_edge(self) -> None:
        """Scrolls on while the pointer is held at the first row or above, or below the last one."""
        if not self._edge_rows():
            self._stop_edge_timer()
        elif self._edge_timer is None:
            self._edge_steps = 0
            self._edge_timer = self.set_interval(_EDGE_S, self._step_past_edge)

    def _edge_rows(self) -> int:
        """Rows to scroll by for where the pointer is: more, the longer it has been there."""
        assert self._pointer is not None
        y = self._pointer[1]
        speed = min(_FASTEST_ROWS, 1 + self._edge_steps // 20)
        if y >= self.size.height:
            return speed
        # There may be no row above the first one to drag to.
        is_at_edge = y == 0 and self.region.y == 0 and self._has_left_first_row
        return -speed if y < 0 or is_at_edge else 0

    def _step_past_edge(self) -> None:
        if self._pressed is None or self._pointer is None or not (rows := self._edge_rows()):
            self._stop_edge_timer()
            return
        self._edge_steps += 1
        self.scroll_rows(rows)
        self._extend(*self._pointer)

    def _stop_edge_timer(self) -> None:
        if self._edge_timer is not None:
            self._edge_timer.stop()
            self._edge_timer = None

    # Clicks

    async def _on_click(self, event: events.Click) -> None:
        """One click folds what folds, or ends a selection; two take a word, three a paragraph."""
        event.prevent_default()
        self.show()
        place = self._place_at(event.y)
        if event.chain == 1:
            self._clicked = None
            if place is not None and not self._has_dragged and not self._had_selection:
                spot = self.model.keep(self._spot(event.x, event.y))
                block = self.model.blocks[place[0]]
                has_folded = self._toggle(event.y, lambda: block.toggle(place[1]))
                self._clicked = spot, block if has_folded else None
            return
        if self._clicked is None:
            return
        spot, folded = self._clicked
        if folded is not None:  # the first of two clicks was no wish to fold
            # Folded, it may have left fewer rows than there were.
            self._toggle(min(event.y, len(self._frame.places) - 1), folded.toggle_back)
            self._clicked = spot, None
        self.select(selecting.line_at(self.model, spot) if event.chain == 3 else None)
        if event.chain == 2:
            self.select(selecting.word_at(self.model, spot))
        if self.selected is not None:
            self.post_message(self.SelectionMade())

    def fold_pointed(self) -> bool:
        """Folds or unfolds what is under the pointer; whether anything there can be."""
        if self._pointer is None or self.pointed_block is None:
            return False
        block, number = self._frame.places[self._pointer[1]]
        return self._toggle(self._pointer[1], lambda: self.model.blocks[block].fold_at(number))

    # Pages of long outputs, by keys

    def page_up(self) -> None:
        if (y := self._turn_page(-1)) is None:
            super().page_up()
        else:
            self.scroll_rows(min(-1, y + 2 - self.size.height))

    def page_down(self) -> None:
        if (y := self._turn_page(1)) is None:
            super().page_down()
        else:
            self.scroll_rows(max(1, y - 1))

    def _turn_page(self, direction: int) -> int | None:
        """Shows the page that a row in view stands for; the row, or None where there is none such."""
        if not self._is_ready():
            return None
        self.show()
        places = [(y, *place) for y, place in enumerate(self._frame.places)]
        marked = (
            place
            for place in places[::direction]
            if self.model.blocks[place[1]].page_at(place[2]) == direction
        )
        y, block, number = next(marked, (None, 0, 0))
        if y is not None:
            self._toggle(y, lambda: self.model.blocks[block].toggle(number))
        return y

    def _toggle(self, y: int, act: Callable[[], bool]) -> bool:
        """Folds or unfolds something at row `y`, where its beginning then stands; whether it does fold."""
        block, number = self._frame.places[y]
        self.model.stay()
        has_changed = act()
        if has_changed:
            self.model.rendered(block)  # only then it knows which row that is
            self.model.put(block, self.model.blocks[block].kept_row(number), y)
        self.model.settle()
        self.show()
        return has_changed
