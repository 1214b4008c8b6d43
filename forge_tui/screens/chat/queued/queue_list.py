"""The list of queued messages: they are edited, deleted, reordered, or given to the running turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from forge_core.sanitize import safe_text
from forge_tui.keymap import KeyContext, bindings
from forge_tui.pastes.folded_text import with_labels
from forge_tui.screens.chat.queued.message_queue import MessageQueue, QueuedLine
from forge_tui.screens.chat.queued.queue_rows import ENTERS, label_of
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.submitted_line import Command, ShellLine
from forge_tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from forge_tui.screens.chat.sending import Sending

_PREVIEW_LINES = 5
_PREVIEW_CHARACTERS = 2_000


class QueueList(Overlay[str | None]):
    """Returns the text of the line to edit, which has left the queue; None without one."""

    DEFAULT_CSS = """
    QueueList .preview { color: $forge-muted; height: 5; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.QUEUE)]

    def __init__(self, sending: Sending) -> None:
        super().__init__()
        self._sending = sending
        self._shown: tuple[QueuedLine, ...] = ()
        self._is_open = False

    @property
    def _queue(self) -> MessageQueue:
        return self._sending.queue

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            self.show_keys("Enter edit · D delete · Alt+↑↓ move · S send now · Esc close")
            yield ChoiceList([], max_rows=8, label_share=None)
            yield Static("", classes="preview", markup=False)

    def on_mount(self) -> None:
        self._is_open = True
        self.refresh_rows()

    def refresh_rows(self) -> None:
        """Show what is queued now, with the same line selected; close when nothing is."""
        if not self._is_open:
            return
        selected, at = self._selected(), self.query_one(ChoiceList).chosen
        self._shown = self._queue.entries
        if not self._shown:
            self.withdraw()
            return
        at = self._shown.index(selected) if selected in self._shown else min(at, len(self._shown) - 1)
        self.query_one(".panel").border_title = f"{len(self._shown)} queued"
        self.query_one(ChoiceList).show([*map(_row, self._shown)], max(at, 0))
        self._show_preview()

    def _selected(self) -> QueuedLine | None:
        at = self.query_one(ChoiceList).chosen
        return self._shown[at] if 0 <= at < len(self._shown) else None

    def _show_preview(self) -> None:
        entry = self._selected()
        line = None if entry is None else entry.line
        text = (
            ""
            if line is None
            else line.line
            if isinstance(line, Command | ShellLine)
            else line.typed or line.text
        )
        lines = safe_text(with_labels(text)[:_PREVIEW_CHARACTERS]).expandtabs(4).split("\n")
        if len(lines) > _PREVIEW_LINES:
            lines = [*lines[: _PREVIEW_LINES - 1], f"… {len(lines) - _PREVIEW_LINES + 1} more lines"]
        self.query_one(".preview", Static).update("\n".join(lines) if len(lines) > 1 else "")

    def withdraw(self) -> None:
        self._close(None)

    def _close(self, text: str | None) -> None:
        if self._is_open:  # the last message may leave the queue at the same time
            self._is_open = False
            self.dismiss(text)

    # Keys

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.choices.choose(event.index)
        self._show_preview()

    def action_move(self, by: int) -> None:
        self.query_one(ChoiceList).move(by)
        self._show_preview()

    def action_edit(self) -> None:
        if (entry := self._selected()) is not None and (text := self._queue.remove(entry)) is not None:
            self._close(text)
            self._sending.show_queue()

    def action_delete(self) -> None:
        if (entry := self._selected()) is not None:
            self._sending.delete(entry)

    def action_shift(self, by: int) -> None:
        if (entry := self._selected()) is not None:
            self._queue.move(entry, by)
            self._sending.show_queue()

    def action_steer(self) -> None:
        if (entry := self._selected()) is not None:
            self._sending.steer(entry)


def _row(entry: QueuedLine) -> Choice:
    return Choice(label_of(entry), detail=ENTERS if entry.given is not None else "")
