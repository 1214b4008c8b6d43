"""The one line at the top of a card: what was done, to what, what came of it, how long it took."""

from __future__ import annotations

from dataclasses import dataclass

from rich.style import Style

from forge_core import durations
from forge_core.text_width import cell_len, clip, clip_middle
from forge_tui.widgets.blockview.rows import Canvas, StyledSpan
from forge_tui.widgets.blockview.styles import TranscriptStyles

_TIME_WIDTHS = (8, 12)
"""Cells at the end of the header where the time stands, below a minute and from there on: it can grow without
moving anything."""
_LEAST_RESULT = 4
"""Cells below which a result says nothing any more."""
WORTH_TELLING_S = 0.05


@dataclass(frozen=True, slots=True)
class CardHeader:
    """Safe words; the target is cut in its middle, the result at its end, the note not at all."""

    verb: str
    target: str
    result: str
    time: str
    note: str = ""
    """A quiet word behind the result."""
    is_target_kept: bool = False
    """Whether the result gives way to the target, not each to the other."""

    def draw(
        self, canvas: Canvas, styles: TranscriptStyles, *, verb: Style, target: Style, result: Style
    ) -> None:
        """Adds the row."""
        width = canvas.width
        time_width = next((cells for cells in _TIME_WIDTHS if len(self.time) < cells), len(self.time) + 1)
        verb_text = clip(self.verb, max(4, width - time_width - 5))
        room = max(0, width - cell_len(verb_text) - 1 - time_width)
        between = " · " if self.result else "  "
        note = between + self.note if self.note else ""
        if room < 3 * cell_len(note):  # there are more important words
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
    """The time of a running call in whole seconds; nothing in the first one."""
    return "" if elapsed_s < 1 else durations.time_so_far(elapsed_s)


def time_taken(duration_s: float) -> str:
    """The time of a call that has ended; nothing where it took hardly any."""
    return durations.time_taken(duration_s) if duration_s >= WORTH_TELLING_S else ""
