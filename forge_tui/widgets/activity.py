"""The line above the composer: a spinner while Forge works, hints while it does not. One row, always."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from forge_tui.widgets.cells import clip

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.25
"""Four a second: enough to see that it lives, and next to nothing for the processor."""
NOTE_S = 2.0
WORKING = "Working"
VERB_CELLS = 48
IDLE_HINTS = "Enter send · Ctrl+J new line · / commands · F1 help"


@dataclass(frozen=True, slots=True)
class Working:
    """A turn that runs."""

    since: float
    """By the line's clock."""
    verb: str = WORKING
    hint: str = "Esc to interrupt"


class ActivityLine(Widget):
    """Draws itself into one row of fixed size; its ticking never causes a layout."""

    DEFAULT_CSS = """
    ActivityLine {
        height: 1;
        padding: 0 2;
        color: $forge-muted;
        & > .activity--spinner { color: $accent; }
        & > .activity--note { color: $foreground; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"activity--spinner", "activity--note"}

    def __init__(
        self,
        clock: Callable[[], float],
        on_tick: Callable[[], None] | None = None,
        progress: Callable[[], str] = lambda: "",
    ) -> None:
        """`progress` gives what the work comes to so far, in place of "Working"; read when it is drawn."""
        super().__init__()
        self._clock = clock
        self._progress = progress
        self._on_tick = on_tick
        self._working: Working | None = None
        self._note = ""
        self._queue_text = ""
        self._doing = ""
        self._timer: Timer | None = None
        self._note_timer: Timer | None = None

    def on_mount(self) -> None:
        self._timer = self.set_interval(FRAME_S, self._tick, pause=self._working is None)

    @property
    def working(self) -> Working | None:
        return self._working

    @working.setter
    def working(self, working: Working | None) -> None:
        self._working = working
        if self._timer is not None:
            (self._timer.pause if working is None else self._timer.resume)()
        self.refresh()

    @property
    def text(self) -> str:
        """What the left side says."""
        if self._note:
            return self._note
        if self._working is None:
            return IDLE_HINTS
        elapsed = max(int(self._clock() - self._working.since), 0)
        verb = self._working.verb
        if verb == WORKING:
            verb = self._progress() or self._doing or verb
        return f"{self._frame()} {clip(verb, VERB_CELLS)} · {elapsed_text(elapsed)} · {self._working.hint}"

    def note(self, text: str, seconds: float = NOTE_S) -> None:
        """Say something for a moment."""
        if self._note_timer is not None:
            self._note_timer.stop()
        self._note = text
        self._note_timer = self.set_timer(seconds, self._forget_note)
        self.refresh()

    def show_doing(self, text: str) -> None:
        """Say what is being done, in place of "Working"; empty: nothing in particular."""
        if text != self._doing:
            self._doing = text
            self.refresh()

    def show_queue(self, text: str) -> None:
        """Say on the right what waits."""
        if text != self._queue_text:
            self._queue_text = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        spinner = base + self.get_component_rich_style("activity--spinner", partial=True)
        note = base + self.get_component_rich_style("activity--note", partial=True)
        queue = clip(self._queue_text, width)
        text = clip(self.text, max(width - cell_len(queue) - 2, 0))
        if self._note:
            segments = [Segment(text, note)]
        elif self._working is not None:
            segments = [Segment(text[:1], spinner), Segment(text[1:], base)]
        else:
            segments = [Segment(text, base)]
        gap = max(width - cell_len(text) - cell_len(queue), 0)
        return Strip([*segments, Segment(" " * gap, base), Segment(queue, spinner)]).adjust_cell_length(
            width, base
        )

    def _frame(self) -> str:
        assert self._working is not None
        return FRAMES[int((self._clock() - self._working.since) / FRAME_S) % len(FRAMES)]

    def _tick(self) -> None:
        self.refresh()
        if self._on_tick is not None:
            self._on_tick()

    def _forget_note(self) -> None:
        self._note, self._note_timer = "", None
        self.refresh()


def elapsed_text(seconds: int) -> str:
    """ "8 s", "2 min 05 s", "1 h 02 min"."""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"
