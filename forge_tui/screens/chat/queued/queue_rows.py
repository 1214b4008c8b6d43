"""The rows above the composer that show what is queued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip
from forge_tui.keys.effective import effective_keys
from forge_tui.pastes.folded_text import with_labels
from forge_tui.screens.chat.queued.message_queue import QueuedLine
from forge_tui.submitted_line import Command, ShellLine
from forge_tui.widgets.edges import MARK_COLUMN, RIGHT_MARGIN
from forge_tui.widgets.role_strip import role_strip

MOST_ROWS = 3
ENTERS = "goes in at the next step"
_LABEL_CHARACTERS = 400
WAITING, GIVEN = "↳ ", "→ "


def label_of(entry: QueuedLine) -> str:
    """Return a queued line in one safe line, pastes as labels."""
    line = entry.line
    text = (
        line.line if isinstance(line, Command | ShellLine) else with_labels(line.typed or line.text).strip()
    )
    first, _, rest = text.partition("\n")
    lines = rest.count("\n") + 1 if rest else 0
    more = f" +{lines} line{'s'[: lines != 1]}" if lines else ""
    return safe_line(first[:_LABEL_CHARACTERS]) + more


class QueueRows(Widget):
    """The oldest queued lines, and how many more there are; hidden while there are none."""

    DEFAULT_CSS = f"""
    QueueRows {{
        padding: 0 {RIGHT_MARGIN} 0 {MARK_COLUMN};
        height: auto;
        color: $forge-muted;
        display: none;
        &.-shown {{ display: block; }}
        & > .queue--mark {{ color: $forge-muted; }}
        & > .queue--given {{ color: $accent; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue--mark", "queue--given"}

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[tuple[bool, str], ...] = ()
        """For each queued line whether the running turn has been given it, and its label."""

    def show(self, entries: Sequence[QueuedLine]) -> None:
        """Show these lines; cause a layout only if the number of rows changes."""
        rows = tuple((entry.given is not None, label_of(entry)) for entry in entries)
        if rows == self._rows:
            return
        before, self._rows = self._row_count(), rows
        self.set_class(bool(rows), "-shown")
        self.refresh(layout=before != self._row_count())

    def _row_count(self) -> int:
        return min(len(self._rows), MOST_ROWS)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._row_count()

    def render_line(self, y: int) -> Strip:
        count, width = min(self._row_count(), self.size.height), self.size.width
        if y >= count:
            return Strip.blank(width, self.rich_style)
        is_given, label = self._rows[y]
        note = f" · {ENTERS}" if is_given else ""
        if y == count - 1 and (more := len(self._rows) - count):
            note += f" · +{more} more · {effective_keys().hint('Alt+Q', 'chat.queue')}"
        text = clip(label, max(width - cell_len(WAITING) - cell_len(note), 0))
        mark = ("given", GIVEN) if is_given else ("mark", WAITING)
        return role_strip(self, "queue", [mark, ("plain", text), ("mark", clip(note, width))])
