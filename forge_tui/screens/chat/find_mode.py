"""Finding in the conversation: the bar that takes the place of the activity line while it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.widgets.find_bar import FindBar


class FindMode:
    """Opens and closes the bar, made at its first use, and searches the transcript for its text."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._bar: FindBar | None = None

    @property
    def is_open(self) -> bool:
        return self._bar is not None and self._bar.display

    async def open(self) -> None:
        """Open the bar, or select its text if it is open."""
        from forge_tui.widgets.find_bar import FindBar

        screen, transcript = self._screen, self._screen.transcript
        if self._bar is None:
            self._bar = FindBar()
            self._bar.display = False
            await screen.mount(self._bar, before=screen.activity)
            screen.watch(transcript, "find_status", self._bar.status.show)
            screen.watch(screen.activity, "note_text", self._bar.status.show_note)
            screen.watch(screen.activity, "is_mouse_released", self._bar.status.show_mouse_released)
        if not self._bar.display:
            transcript.finder.begin()
            self._bar.display, self._screen.activity.display = True, False
            transcript.finder.find(self._bar.line.value)
        self._bar.begin()

    def close(self, *, is_kept: bool) -> None:
        """Close the bar, if it is open; the view stays at the match, or goes back.

        The composer gets the focus, unless a prompt is open or about to open: that takes it itself.
        """
        if self._bar is None or not self._bar.display:
            return
        self._bar.display, self._screen.activity.display = False, True
        self._screen.transcript.finder.end(is_kept=is_kept)
        if not self._screen.prompts.is_taken:
            self._screen.set_focus(self._screen.composer)

    def search(self) -> None:
        """Search for the text of the bar."""
        if self._bar is not None and self._bar.display:
            self._screen.transcript.finder.find(self._bar.line.value)

    def step(self, direction: int) -> None:
        """Show the match before (-1) or after (1) the current one."""
        self.search()  # the key may come before the message that the text has changed
        self._screen.transcript.finder.step(direction)
