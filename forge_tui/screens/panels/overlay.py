"""Base classes of the overlays over the conversation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from forge_core.text_width import clip_parts
from forge_tui.keys.grace import NO_KEY, Grace
from forge_tui.terminal.compositor import SteadyScreen
from forge_tui.widgets.activity import ActivityLine
from forge_tui.widgets.edges import BORDER, FRAMED_TEXT

Result = TypeVar("Result")
PANEL_CELLS = 100
"""The most cells of a panel: all have one width, so that nothing jumps from one to the next."""
LIST_FRAME_CELLS = 2 * BORDER + 1
"""Cells of a row of a list for the panel's border and padding."""
FRAME_CELLS = LIST_FRAME_CELLS + FRAMED_TEXT
"""The same for a row of text."""
_BORDER_TEXT_CELLS = 6
"""Cells beside a text in the border."""
_HARMLESS_KEYS = frozenset({"escape", "ctrl+c", "up", "down"})
_TALL = 20
"""Rows of a screen that has some around the panel."""
_AROUND_ROWS = 5
"""A blank row above the panel, composer and status bar below it."""
_FEWEST_ROWS = 3
"""Rows of a list in any screen."""


class Overlay(SteadyScreen[Result], ModalScreen[Result]):
    """An overlay, which Esc and Ctrl+C close."""

    DEFAULT_CSS = f"""
    Overlay {{
        align: center top;
        background: transparent;
        & > .panel {{
            width: {PANEL_CELLS};
            max-width: 100%;
            height: auto;
            max-height: 100%;
            padding: 0 1 0 0;
            background: $surface;
            border: round $forge-muted;
            scrollbar-size-vertical: 1;
            border-title-color: $foreground;
            border-subtitle-color: $forge-muted;
        }}
        & > .panel > * {{ padding-left: {FRAMED_TEXT}; }}
        & > .panel > ChoiceList {{ padding-left: 0; }}  /* its marks begin at the border */
        /* One blank row above, and the composer stays whole below. A low screen has no rows for that. */
        &.-tall > .panel {{ margin: 1 0 {_AROUND_ROWS - 1} 0; }}
    }}
    """
    VERTICAL_BREAKPOINTS = [(0, "-short"), (_TALL, "-tall")]  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Close", show=False),
        Binding("tab,shift+tab", "nothing", show=False),
        Binding("f9", "app.toggle_mouse", show=False),
    ]
    AUTO_FOCUS = None
    _keys_text = ""
    _grace: Grace | None = None

    def list_rows(self, most: int, others: int) -> int:
        """Return the most rows of the panel's list, beside `others` with the border and the list's count."""
        height = self.app.size.height
        room = height - _AROUND_ROWS if height >= _TALL else height
        return max(min(most, room - others), _FEWEST_ROWS)

    def on_resize(self) -> None:
        self._fit_keys()

    def show_keys(self, keys: str) -> None:
        """Show what the keys do in the panel's border: parts as in `clip_parts`, the last ones only if they
        fit."""
        self._keys_text = keys
        self._fit_keys()

    def _fit_keys(self) -> None:
        room = min(self.app.size.width, PANEL_CELLS) - _BORDER_TEXT_CELLS
        for panel in self.query(".panel") if self._keys_text else ():
            panel.border_subtitle = clip_parts(self._keys_text, room)

    def guard(self, clock: Callable[[], float], last_key: tuple[str, float] = NO_KEY) -> None:
        """Take no key or click that was meant for something else, by the rules of prompts: see `Grace`.
        `last_key` may still be held down."""
        self._grace = Grace(clock)
        self._grace.prompt_appeared(last_key)

    def refuses(self, event: events.Key) -> bool:
        """Return whether a key came too early to be meant for this overlay. Keys that select or close are
        taken, and text in an input."""
        if self._grace is None or event.key in _HARMLESS_KEYS:
            return False
        is_admitted = self._grace.admits_key(self._grace.time_of(event.time), event.key)
        return not is_admitted and not (event.is_printable and isinstance(self.focused, Input))

    def refuses_click(self) -> bool:
        """Return whether a click came too early to be meant for this overlay."""
        return self._grace is not None and not self._grace.admits_click()

    def action_leave(self) -> None:
        """Close, or go back a step where the overlay has several."""
        self.withdraw()

    def withdraw(self) -> None:
        """Close without a result, at whatever step: Forge asks something."""
        self.dismiss(None)

    @property
    def activity(self) -> ActivityLine | None:
        """The activity line of the conversation, which this overlay may cover."""
        return next(iter(self.app.screen_stack[0].query(ActivityLine)), None)

    def action_nothing(self) -> None:
        """Do nothing: Tab must not move the focus."""


class PanelInput(Input):
    """The line of a panel that is typed into, without a border or a blinking cursor."""

    DEFAULT_CSS = f"""
    PanelInput, PanelInput:focus {{
        border: none;
        padding: 0 0 0 {FRAMED_TEXT};
        height: 1;
        background: $surface;
        margin-bottom: 1;
    }}
    """

    def __init__(self, placeholder: str = "", *, classes: str | None = None, password: bool = False) -> None:
        super().__init__(placeholder=placeholder, classes=classes, password=password, select_on_focus=False)
        self.cursor_blink = False


class ScrollingOverlay(Overlay[None]):
    """An overlay of one widget that scrolls by line and page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "scroll(1)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    @property
    @abstractmethod
    def page(self) -> Widget:
        """The widget that scrolls."""

    def action_scroll(self, by: int) -> None:
        self.page.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        self.action_scroll(by * max(self.page.size.height - 2, 1))
