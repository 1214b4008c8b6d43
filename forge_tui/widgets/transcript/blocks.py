"""The kinds of blocks a transcript is made of. A block draws itself; it knows nothing of the screen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from rich.segment import Segment
from rich.style import Style

from forge_core.sanitize import safe_line, safe_text
from forge_tui.widgets.transcript.rows import Canvas, Rendered
from forge_tui.widgets.transcript.styles import TranscriptStyles

MARGIN = " "
TEXT_INDENT = 3
"""Cells before text: the margin, a column for bars and signs, a blank."""
GUTTER = [Segment(" " * TEXT_INDENT)]

Level = Literal["info", "warning", "error"]


class Block(ABC):
    """One thing in the transcript."""

    def __init__(self) -> None:
        self.revision = 0
        """Grows with every change that shows."""
        self.gap = 1
        """Empty rows before it."""

    def changed(self) -> None:
        self.revision += 1

    def render(self, width: int, styles: TranscriptStyles) -> Rendered:
        """The block's rows at `width` cells."""
        canvas = Canvas(width - 1)
        canvas.gap(self.gap)
        self.draw(canvas, styles)
        return canvas.rendered

    @abstractmethod
    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Adds the rows to `canvas`."""

    @abstractmethod
    def estimate(self, width: int) -> int:
        """About how many rows it takes, without drawing it."""

    def toggle(self, row: int) -> bool:
        """Folds or unfolds, after a click on `row`; whether anything changed."""
        return False


class TextBlock(Block):
    """Plain text as it is, under a title where there is one: the output of a command."""

    def __init__(self, text: str, title: str = "") -> None:
        super().__init__()
        self._lines = safe_text(text).rstrip("\n").split("\n")
        self._title = safe_line(title)

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented(GUTTER):
            if self._title:
                canvas.text([(self._title, styles.heading)])
            for line in self._lines:
                canvas.text([(line.expandtabs(8), styles.text)], original=line)

    def estimate(self, width: int) -> int:
        return self.gap + bool(self._title) + estimate_rows(self._lines, width)


class UserBlock(Block):
    """What the person sent: an accent bar on a quiet ground."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._lines = safe_text(text).rstrip().split("\n")

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        bar = [Segment(MARGIN), Segment("▎", styles.user_bar), Segment(" ", styles.user)]
        with canvas.indented(bar):
            for line in self._lines:
                canvas.text([(line.expandtabs(4), styles.user)], fill=styles.user, original=line)

    def estimate(self, width: int) -> int:
        return self.gap + estimate_rows(self._lines, width)


class NoticeBlock(Block):
    """A line from Forge itself: a retry's wait, a limit near, a failed turn."""

    def __init__(self, text: str, level: Level, is_final: bool = False) -> None:
        super().__init__()
        self._lines = safe_text(text).rstrip("\n").split("\n")
        self.level: Level = level
        self._is_final = is_final
        """Whether the turn ended by it; only then an error stands out."""

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        sign, colour = {
            "info": ("·", styles.muted),
            "warning": ("!", styles.warning),
            "error": ("✗", styles.error),
        }[self.level]
        first = [Segment(MARGIN), Segment(sign, colour + Style(bold=True)), Segment(" ")]
        text = colour if self.level == "info" or self._is_final else styles.text
        with canvas.indented(GUTTER, first):
            for line in self._lines:
                canvas.text([(line.expandtabs(4), text)])

    def estimate(self, width: int) -> int:
        return self.gap + estimate_rows(self._lines, width)


class ReasoningBlock(Block):
    """The model's reasoning: a live tail while it comes, one line when it has ended, all of it on a click."""

    _TAIL_ROWS = 4

    def __init__(self, started: float) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._started = started
        self._duration_s: float | None = None
        self._is_open = False

    @property
    def is_running(self) -> bool:
        return self._duration_s is None

    def feed(self, text: str) -> None:
        """Adds sanitised text."""
        self._parts.append(text)
        self.changed()

    def finish(self, now: float) -> None:
        if self.is_running:
            self._duration_s = max(0.0, now - self._started)
            self.changed()

    def toggle(self, row: int) -> bool:
        if self.is_running:
            return False
        self._is_open = not self._is_open
        self.changed()
        return True

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        text = "".join(self._parts)
        quiet = styles.muted + Style(italic=True)
        arrow = "▾" if self._is_open or self.is_running else "▸"
        with canvas.indented(GUTTER, [Segment(MARGIN), Segment(arrow, styles.faint), Segment(" ")]):
            canvas.text([(self._headline(text), quiet)])
            if self.is_running:
                self._draw_tail(text, canvas, quiet)
            elif self._is_open:
                for line in text.strip().split("\n"):
                    canvas.text([(line.expandtabs(4), quiet)])

    def _headline(self, text: str) -> str:
        if self._duration_s is None:
            return "Thinking…"
        tokens = max(1, len(text) // 4)
        count = f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
        return f"Thought for {seconds(self._duration_s)} (~{count} tokens)"

    def _draw_tail(self, text: str, canvas: Canvas, style: Style) -> None:
        # Only what can show is wrapped: the cost of a frame stays flat however long the model thinks.
        tail = text.rstrip()[-canvas.width * (self._TAIL_ROWS + 1) :]
        below = Canvas(canvas.width)
        for line in tail.split("\n"):
            below.text([(line.expandtabs(4), style)])
        for row in below.rendered.rows[-self._TAIL_ROWS :]:
            canvas.decoration([(segment.text, segment.style or style) for segment in row.segments])

    def estimate(self, width: int) -> int:
        return self.gap + (estimate_rows(["".join(self._parts)], width) if self._is_open else 1)


def estimate_rows(lines: list[str], width: int) -> int:
    """About the rows that `lines` take in `width` cells."""
    room = max(8, width - TEXT_INDENT - 1)
    return sum(1 + len(line) // room for line in lines)


def seconds(duration_s: float) -> str:
    """A time for people: "0.4s", "12s", "3m 05s", "1h 02m"."""
    if duration_s < 9.95:
        return f"{duration_s:.1f}s"
    whole = round(duration_s)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
