"""The line above the composer: a spinner while Forge works, otherwise hints. Always one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from forge_core.durations import time_so_far
from forge_core.sanitize import safe_line
from forge_core.text_width import SEPARATOR, cell_len, clip, clip_parts
from forge_tui.keys.effective import effective_keys
from forge_tui.widgets.edges import MARK_COLUMN, RIGHT_MARGIN, TEXT_INSET
from forge_tui.widgets.role_strip import role_strip

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
STILL_FRAME = "●"
"""In place of the spinner, where nothing is to move."""
STILL_FRAME_S = 1.0
FRAME_S = 0.25
"""Four a second show that Forge works, at next to no CPU time."""
NOTE_S = 2.0
WORKING = "Working"
INDENT = " " * TEXT_INSET
"""Before text without a spinner, so that all text begins in the same column."""
VERB_CELLS = 48


def idle_hints() -> str:
    """Return the first keys to know: `IDLE_HINTS`, unless they are changed."""
    keys = effective_keys()
    return (
        f"{keys.hint('Enter', 'composer.submit')} send · {keys.hint('Ctrl+J', 'composer.newline')} new line"
        f" · / commands · {keys.hint('F1', 'chat.help')} help"
    )


def new_below() -> tuple[str, str]:
    """Return the note about something new below the view, in full and for little room."""
    key = effective_keys().hint("Ctrl+End", "chat.scroll_bottom")
    return f"↓ new below · {key}", f"↓ {key}"


def mouse_released() -> tuple[str, str]:
    """Return the note about the mouse, in full and for little room."""
    key = effective_keys().hint("F9", "chat.toggle_mouse")
    return f"mouse released · {key}", f"{key}: mouse"


@dataclass(frozen=True, slots=True)
class Working:
    """A running turn."""

    since: float
    """By the clock of the line."""
    verb: str = WORKING
    hint: str = "Esc to interrupt"
    asked_at: float | None = None
    """When the turn began to wait for the user, whose time is shown instead; None if it does not wait."""

    @property
    def counted_from(self) -> float:
        return self.since if self.asked_at is None else self.asked_at


class ActivityLine(Widget):
    """One row of fixed size; its updates never cause a layout."""

    DEFAULT_CSS = f"""
    ActivityLine {{
        padding: 0 {RIGHT_MARGIN} 0 {MARK_COLUMN};
        height: 1;
        color: $forge-muted;
        & > .activity--spinner {{ color: $accent; }}
        & > .activity--note {{ color: $foreground; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"activity--spinner", "activity--note"}

    note_text: reactive[str] = reactive("")
    """A note shown for a moment, also by the find bar in place of this line."""
    is_mouse_released: reactive[bool] = reactive(False)
    """Whether the terminal has the mouse, which the right side shows."""

    _doing: reactive[str] = reactive("")
    _queue_text: reactive[str] = reactive("")
    _has_new_below: reactive[bool] = reactive(False)

    class NewBelowClicked(Message):
        """The user wants to see what is new."""

    def __init__(
        self,
        clock: Callable[[], float],
        on_tick: Callable[[], None],
        progress: Callable[[], str],
        *,
        is_still: bool = False,
    ) -> None:
        """`progress` returns what replaces "Working"; it is called at each update. If `is_still`, a fixed
        mark replaces the spinner."""
        super().__init__()
        self._clock = clock
        self._is_still = is_still
        self._progress = progress
        self._on_tick = on_tick
        self._working: Working | None = None
        self._timer: Timer | None = None
        self._note_timer: Timer | None = None
        self.idle_hints: Callable[[], str] = idle_hints
        """Returns what is shown while nothing else is."""

    def on_mount(self) -> None:
        self._start_timer()

    def _start_timer(self) -> None:
        self._timer = self.set_interval(
            STILL_FRAME_S if self._is_still else FRAME_S, self._tick, pause=self._working is None
        )

    @property
    def is_still(self) -> bool:
        """Whether a fixed mark replaces the spinner."""
        return self._is_still

    @is_still.setter
    def is_still(self, is_still: bool) -> None:
        self._is_still = is_still
        if self._timer is not None:
            self._timer.stop()
            self._start_timer()
            self.refresh()

    @property
    def working(self) -> Working | None:
        return self._working

    @working.setter
    def working(self, working: Working | None) -> None:
        if self._working is None:
            self._doing = ""  # nothing is known of the new work yet
        self._working = working
        if self._timer is not None:
            (self._timer.pause if working is None else self._timer.resume)()
        self.refresh()

    @property
    def text(self) -> str:
        """The text of the left side."""
        if self.note_text:
            return self.note_text
        if self._working is None:
            return self.idle_hints()
        elapsed = time_so_far(self._clock() - self._working.counted_from)
        verb = self._working.verb
        if verb == WORKING:
            verb = self._progress() or self._doing or verb
        return f"{self._frame()} {clip(verb, VERB_CELLS)} · {elapsed} · {self._working.hint}"

    def note(self, text: str, seconds: float = NOTE_S) -> None:
        """Show a note for a moment."""
        if self._note_timer is not None:
            self._note_timer.stop()
        self.note_text = safe_line(text)
        self._note_timer = self.set_timer(seconds, self._forget_note)

    def end_note(self, text: str) -> None:
        """Remove the note, if it is this one."""
        if self.note_text == safe_line(text) and self._note_timer is not None:
            self._note_timer.stop()
            self._forget_note()

    def show_doing(self, text: str) -> None:
        """Show what is being done, in place of "Working"; "" for nothing in particular."""
        self._doing = safe_line(text)

    def show_queue(self, text: str) -> None:
        """Show on the right what is queued."""
        self._queue_text = safe_line(text)

    def show_new_below(self, is_there: bool) -> None:
        """Show on the right whether there is something new below the view."""
        self._has_new_below = is_there

    @property
    def right_text(self) -> str:
        """The text of the right side: in full if the left side has room, too."""
        full, short = self._right(0), self._right(1)
        fits = cell_len(INDENT + self.text) + 2 + cell_len(full) <= self.content_size.width
        return full if fits else short

    def _right(self, form: int) -> str:
        parts = (
            mouse_released()[form] if self.is_mouse_released else "",
            self._queue_text,
            new_below()[form] if self._has_new_below else "",
        )
        return SEPARATOR.join(part for part in parts if part)

    def on_click(self, event: events.Click) -> None:
        shown = next((form for form in new_below() if self.right_text.endswith(form)), "")
        if shown and event.x >= self.content_region.right - self.region.x - len(shown):
            self.post_message(self.NewBelowClicked())

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        indent = "" if self._working is not None and not self.note_text else INDENT
        queue = clip(self.right_text, width)
        room = max(width - cell_len(indent) - cell_len(queue) - 2, 0)
        text = clip(self.text, room) if self.note_text else clip_parts(self.text, room)
        if self.note_text:
            left = [("plain", indent), ("note", text)]
        elif self._working is not None:
            left = [("spinner", text[:1]), ("plain", text[1:])]
        else:
            left = [("plain", indent + text)]
        gap = max(width - cell_len(indent + text) - cell_len(queue), 0)
        return role_strip(self, "activity", [*left, ("plain", " " * gap), ("spinner", queue)])

    def _frame(self) -> str:
        assert self._working is not None
        if self._is_still:
            return STILL_FRAME
        return FRAMES[int((self._clock() - self._working.since) / FRAME_S) % len(FRAMES)]

    def _tick(self) -> None:
        self.refresh()
        self._on_tick()

    def _forget_note(self) -> None:
        self.note_text, self._note_timer = "", None
