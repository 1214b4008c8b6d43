"""The mouse in a view: the wheel, clicks that fold, and selecting, also beyond the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.timer import Timer

from forge_tui.widgets.blockview import selection as selecting
from forge_tui.widgets.blockview.block_layout import TextPosition
from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.selection import TextSelection

if TYPE_CHECKING:
    from forge_tui.widgets.blockview.block_view import BlockView

WHEEL_ROWS = 3
_EDGE_S = 0.05
"""Between two steps of scrolling while the pointer is beyond an edge."""
_FASTEST_ROWS = 8


class Mouse:
    """Handles the mouse events of a view, which passes them on."""

    def __init__(self, view: BlockView) -> None:
        self.pointer: tuple[int, int] | None = None
        """The cell under the pointer, also outside the view during a drag."""
        self.edge_timer: Timer | None = None
        """Runs while the pointer is beyond an edge."""
        self._view = view
        self._pressed: TextPosition | None = None
        """The character under the button when it was pressed; None while it is up."""
        self._pressed_behind: TextPosition | None = None
        """The character after that one."""
        self._has_dragged = False
        """Whether the pointer has moved since the last press."""
        self._had_selection = False
        """Whether anything was selected at the last press."""
        self._clicked: tuple[TextPosition, Block | None] | None = None
        """The character under the last single click, and the block that the click folded."""
        self._edge_steps = 0
        self._has_left_first_row = False

    def reset(self) -> None:
        """Forget the text that was pressed and clicked: the view has been emptied."""
        if self._pressed is not None:
            self._view.release_mouse()
        self.stop_selecting()
        self._clicked = None

    def place_at(self, y: int) -> tuple[int, int] | None:
        """Return the block and its row that row `y` of the view shows."""
        places = self._view.frame.places
        return places[y] if 0 <= y < len(places) else None

    def wheel(self, event: events.MouseEvent, direction: int) -> None:
        """Scroll up (-1) or down (1), and extend the selection where the button is down."""
        event.stop()
        event.prevent_default()
        self._view.scroll_rows(direction * WHEEL_ROWS)
        if self._pressed is not None:
            self._extend(event.x, event.y)

    # Selecting

    def press(self, event: events.MouseDown) -> None:
        """Begin a selection; with Shift, extend the one there is."""
        if event.button != 1:
            return
        view = self._view
        view.capture_mouse()
        self.pointer = (event.x, event.y)
        self._has_dragged, self._had_selection = False, view.selected is not None
        self._has_left_first_row = event.y > 0
        if event.shift and view.selected is not None:
            self._pressed = self._pressed_behind = view.selected.anchor
            self._extend(event.x, event.y)
            return
        self._pressed = view.model.track(self._position_at(event.x, event.y))
        self._pressed_behind = view.model.track(self._position_at(event.x, event.y, behind=True))

    def move(self, event: events.MouseMove) -> None:
        before, self.pointer = self.pointer, (event.x, event.y)
        if self._pressed is not None and self.pointer != before:
            self._has_left_first_row |= event.y > 0
            self._extend(event.x, event.y)
            self._scroll_past_edge()

    def release(self, event: events.MouseUp) -> None:
        """End the selection; a press and release at one place clears the one there was."""
        if self._pressed is None:
            return
        if self.pointer != (event.x, event.y):  # moves may be missing: not every terminal reports them
            self._extend(event.x, event.y)
        self._view.release_mouse()
        if self._has_dragged:
            self._view.announce_selection()
        elif self._had_selection:
            self._view.select(None)

    def leave(self) -> None:
        if self._pressed is None:
            self.pointer = None

    def stop_selecting(self) -> None:
        self._pressed = self._pressed_behind = None
        self._stop_edge_timer()

    def _extend(self, x: int, y: int) -> None:
        """Select from where the button went down to this cell, both cells included."""
        if self._pressed is None or self._pressed_behind is None or not self._view.model.blocks:
            return
        # Both end cells are included: backwards, the selection begins after the pressed character.
        head = self._position_at(x, y)
        if head.order >= self._pressed.order:
            chosen = TextSelection(
                self._pressed, self._view.model.track(self._position_at(x, y, behind=True))
            )
        else:
            chosen = TextSelection(self._pressed_behind, self._view.model.track(head))
        self._has_dragged = True
        self._view.select(chosen)

    def _position_at(self, x: int, y: int, *, behind: bool = False) -> TextPosition:
        """Return the character at a cell; outside of the rows, the nearest one."""
        self._view.show()
        places = self._view.frame.places
        if not places:
            return TextPosition(0, 0, 0)
        if y >= len(places):
            block, number = places[-1]
            x = self._view.size.width
        else:
            block, number = places[max(0, y)]
            x = 0 if y < 0 else x
        return selecting.position_at(self._view.model, block, number, max(0, x), behind=behind)

    # Beyond the edges

    def _scroll_past_edge(self) -> None:
        """Scroll as long as the pointer is held at or above the first row, or below the last one."""
        if not self._edge_rows():
            self._stop_edge_timer()
        elif self.edge_timer is None:
            self._edge_steps = 0
            self.edge_timer = self._view.set_interval(_EDGE_S, self._step_past_edge)

    def _edge_rows(self) -> int:
        """Return the rows to scroll by: the longer the pointer has been there, the more."""
        assert self.pointer is not None
        y = self.pointer[1]
        speed = min(_FASTEST_ROWS, 1 + self._edge_steps // 20)
        if y >= self._view.size.height:
            return speed
        # Where the view is at the top of the screen, the pointer cannot go above its first row.
        is_at_edge = y == 0 and self._view.region.y == 0 and self._has_left_first_row
        return -speed if y < 0 or is_at_edge else 0

    def _step_past_edge(self) -> None:
        if self._pressed is None or self.pointer is None or not (rows := self._edge_rows()):
            self._stop_edge_timer()
            return
        self._edge_steps += 1
        self._view.scroll_rows(rows)
        self._extend(*self.pointer)

    def _stop_edge_timer(self) -> None:
        if self.edge_timer is not None:
            self.edge_timer.stop()
            self.edge_timer = None

    # Clicks

    def click(self, event: events.Click) -> None:
        """Fold, copy or open what is clicked, or end a selection; select a word by two clicks, a paragraph
        by three."""
        event.prevent_default()
        view = self._view
        view.show()
        place = self.place_at(event.y)
        if event.chain == 1:
            self._clicked = None
            if place is not None and not self._has_dragged and not self._had_selection:
                position = view.model.track(self._position_at(event.x, event.y))
                block = view.model.blocks[place[0]]
                self._clicked = position, None
                if text := block.copied_at(place[1], event.x):
                    view.request_copy(text)
                    return
                if event.ctrl and view.follow_link(event.x, event.y):
                    return
                if view.toggle_at(event.y, lambda: block.toggle(place[1])):
                    self._clicked = position, block
                else:
                    view.follow_link(event.x, event.y)
            return
        if self._clicked is None:
            return
        position, folded = self._clicked
        if folded is not None:  # the first of two clicks was not meant to fold: undo it
            # Folding may have left fewer rows than there were.
            view.toggle_at(min(event.y, len(view.frame.places) - 1), folded.toggle_back)
            self._clicked = position, None
        choose = {2: selecting.word_at, 3: selecting.line_at}.get(event.chain)
        view.select(None if choose is None else choose(view.model, position))
        if view.selected is not None:
            view.announce_selection()
