"""Finding in the conversation: the bar that takes the place of the activity line while it is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.screen import Screen

    from forge_tui.widgets.activity import ActivityLine
    from forge_tui.widgets.find_bar import FindBar
    from forge_tui.widgets.transcript import Transcript


class FindMode:
    """Opens and closes the bar, made at its first use, and searches the transcript for its text."""

    def __init__(
        self, screen: Screen[Any], activity: ActivityLine, transcript: Callable[[], Transcript]
    ) -> None:
        self._screen = screen
        self._activity = activity
        self._transcript = transcript
        self._bar: FindBar | None = None

    @property
    def is_open(self) -> bool:
        return self._bar is not None and self._bar.display

    async def open(self) -> None:
        """Open the bar, or select its text if it is open."""
        from forge_tui.widgets.find_bar import FindBar

        transcript = self._transcript()
        if self._bar is None:
            self._bar = FindBar()
            self._bar.display = False
            await self._screen.mount(self._bar, before=self._activity)
            self._screen.watch(transcript, "find_status", self._bar.status.show)
            self._screen.watch(self._activity, "note_text", self._bar.status.show_note)
            self._screen.watch(self._activity, "is_mouse_released", self._bar.status.show_mouse_released)
        if not self._bar.display:
            transcript.finder.begin()
            self._bar.display, self._activity.display = True, False
            transcript.finder.find(self._bar.line.value)
        self._bar.begin()

    def close(self, *, is_kept: bool) -> bool:
        """Close the bar; the view stays at the match, or goes back. Return False if it was not open."""
        if self._bar is None or not self._bar.display:
            return False
        self._bar.display, self._activity.display = False, True
        self._transcript().finder.end(is_kept=is_kept)
        return True

    def search(self) -> None:
        """Search for the text of the bar."""
        if self._bar is not None and self._bar.display:
            self._transcript().finder.find(self._bar.line.value)

    def step(self, direction: int) -> None:
        """Show the match before (-1) or after (1) the current one."""
        self.search()  # the key may come before the message that the text has changed
        finder = self._transcript().finder
        finder.step(direction)
