"""The header of a card: what was done, to what, with what result, and how long it took."""

from __future__ import annotations

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


def draw_header(
    canvas: Canvas,
    styles: TranscriptStyles,
    verb: StyledSpan,
    target: StyledSpan,
    result: StyledSpan,
    time: str,
    note: str = "",
    *,
    name: StyledSpan | None = None,
    is_target_kept: bool = False,
) -> None:
    """Add the row of a header. Its texts must be safe to show.

    The target is clipped in the middle, the result at the end, the muted `note` after it not at all. `name`
    is the beginning of the target, in another style. With `is_target_kept`, the result is clipped before the
    target is.
    """
    width = canvas.width
    time_width = next((cells for cells in _TIME_WIDTHS if len(time) < cells), len(time) + 1)
    shown_verb = clip(verb[0], max(4, width - time_width - 5))
    room = max(0, width - cell_len(shown_verb) - 1 - time_width)
    shown_note = (" · " if result[0] else "  ") + note if note else ""
    if room < 3 * cell_len(shown_note):  # the other parts are more important
        shown_note = ""
    room -= cell_len(shown_note)
    left = room - min(cell_len(target[0]), room if is_target_kept else room // 2) - 2
    outcome = clip(result[0], left) if result[0] and left >= _LEAST_RESULT else ""
    left = room - (cell_len(outcome) + 2 if outcome else 0)
    spans: list[StyledSpan] = [(shown_verb, verb[1]), (" ", styles.text)]
    shown_target = clip_middle(target[0], max(0, left))
    if name is not None and shown_target.startswith(name[0]):
        spans.append(name)
        shown_target = shown_target.removeprefix(name[0])
    spans.append((shown_target, target[1]))
    if outcome:
        spans += [("  " if target[0] else " ", styles.text), (outcome, result[1])]
    if shown_note:
        spans.append((shown_note, styles.muted))
    used = sum(cell_len(text) for text, _ in spans)
    spans.append((" " * max(0, width - used - time_width), styles.text))
    spans.append((time.rjust(time_width), styles.muted))
    words = [f"{verb[0]} {target[0]}".rstrip(), result[0], note, time]
    canvas.text(spans, original="  ".join(word for word in words if word))


def time_so_far(elapsed_s: float) -> str:
    """Return the time of a running call in whole seconds; "" in the first one."""
    return "" if elapsed_s < 1 else durations.time_so_far(elapsed_s)


def time_taken(duration_s: float) -> str:
    """Return the time of a call that has ended; "" if it took hardly any."""
    return durations.time_taken(duration_s) if duration_s >= WORTH_TELLING_S else ""
