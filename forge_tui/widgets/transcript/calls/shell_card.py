"""The cards of lines that the user runs in their own shell: beside the turn, and not part of it."""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style

from forge_core.approval import ToolKind
from forge_core.events import AgentEvent, ToolEnd, ToolProgress, ToolStart
from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.folding import Fold
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.calls.call_tracker import CallTracker
from forge_tui.widgets.transcript.calls.tool_card import ToolCard


class ShellCard(ToolCard):
    """A line in the user's shell; its `!` has the colour of the composer while such a line is typed."""

    def _colours(self, styles: TranscriptStyles) -> tuple[Style, Style, Style, Style]:
        sign, _, target, result = super()._colours(styles)
        return sign, styles.warning + styles.strong, target, result


class ShellCards:
    """Adds the cards; neither the end of a turn nor an answer that is streamed meanwhile ends them."""

    def __init__(self, calls: CallTracker, add: Callable[[Block], None]) -> None:
        self._calls = calls
        self._add = add
        self._running: dict[str, ShellCard] = {}

    @property
    def is_any_running(self) -> bool:
        return bool(self._running)

    def apply(self, event: AgentEvent) -> bool:
        """Apply an event of such a line; return whether it was one."""
        match event:
            case ToolStart(kind=ToolKind.USER):
                card = self._running[event.call_id] = ShellCard(event, Fold(self._calls.folding))
                self._add(card)
            case ToolProgress(call_id=call_id, text=text) if call_id in self._running:
                self._running[call_id].progress(text)
            case ToolEnd(call_id=call_id) if call_id in self._running:
                self._running.pop(call_id).finish(event)
            case _:
                return False
        return True

    def tick(self, now: float) -> bool:
        """Update the times of the running cards; return whether any text changed."""
        return sum(card.tick(now) for card in self._running.values()) > 0

    def clear(self) -> None:
        self._running.clear()
