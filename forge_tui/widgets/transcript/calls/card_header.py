"""The header of a card: what was done, to what, with what result, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass

from rich.style import Style

from forge_core import durations
from forge_core.text_width import cell_len, clip, clip_middle
from forge_tui.widgets.blockview.rows import Canvas, StyledSpan
from forge_tui.widgets.blockview.styles import TranscriptStyles

_TIME_WIDTHS = (8, 12)
"""Cells for the time at the end of the header, below a minute and from there on. They are reserved, so that a
growing time moves nothing."""
_LEAST_RESULT = 4
"""Cells below which a clipped result is not worth showing."""
WORTH_TELLING_S = 0.05
"""Shorter durations would be rounded to zero."""


@dataclass(frozen=True, slots=True)
class CardHeader:
    """Texts of a header, safe to show. The target is clipped in the middle, the result at the end, the note
    not at all."""

    verb: str
    target: str
    result: str
    time: str
    note: str = ""
    """Muted text after the result."""
    is_target_kept: bool = False
    """Whether the result is clipped before the target is."""

    def draw(
        self, canvas: Canvas, styles: TranscriptStyles, *, verb: Style, target: Style, result: Style
    ) -> None:
        """Add the row."""
        width = canvas.width
        time_width = next((cells for cells in _TIME_WIDTHS if len(self.time) < cells), len(self.time) + 1)
        verb_text = clip(self.verb, max(4, width - time_width - 5))
        room = max(0, width - cell_len(verb_text) - 1 - time_width)
        between = " · " if self.result else "  "
        note = between + self.note if self.note else ""
        if room < 3 * cell_len(note):  # the other parts are more important
            note = ""
        room -= cell_len(note)
        wanted = cell_len(self.target)
        least = min(wanted, room if self.is_target_kept else room // 2)
        left = room - least - 2
        outcome = clip(self.result, left) if self.result and left >= _LEAST_RESULT else ""
        left = room - (cell_len(outcome) + 2 if outcome else 0)
        spans: list[StyledSpan] = [
            (verb_text, verb),
            (" ", styles.text),
            (clip_middle(self.target, max(0, left)), target),
        ]
        if outcome:
            spans.append(("  " if self.target else " ", styles.text))
            spans.append((outcome, result))
        if note:
            spans.append((note, styles.muted))
        used = sum(cell_len(text) for text, _ in spans)
        time = self.time.rjust(time_width)
        spans.append((" " * max(0, width - used - time_width), styles.text))
        spans.append((time, styles.muted))
        words = [f"{self.verb} {self.target}".rstrip(), self.result, self.note, self.time]
        canvas.text(spans, original="  ".join(word for word in words if word))


def time_so_far(elapsed_s: float) -> str:
    """Return the time of a running call in whole seconds; "" in the first one."""
    return "" if elapsed_s < 1 else durations.time_so_far(elapsed_s)


def time_taken(duration_s: float) -> str:
    """Return the time of a call that has ended; "" if it took hardly any."""
    return durations.time_taken(duration_s) if duration_s >= WORTH_TELLING_S else ""
