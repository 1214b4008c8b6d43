"""The message from the command line, as in `forge "fix the failing test"`: shown at once, sent once it can
be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.sanitize import safe_text
from forge_tui.pastes.folded_text import folded, is_big, without_marks

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen


def safe_message(text: str) -> str:
    """Return the text of a message from the command line as the composer holds it, without folded parts."""
    return without_marks(safe_text(text.strip(), keep_invisible=True))


class FirstMessage:
    """Waits in the composer until there is a session, which it is sent to, unless the user has changed it.

    While a session is to be chosen, it waits for that one.
    """

    def __init__(self, screen: ChatScreen, text: str = "", *, skips: int = 0) -> None:
        """`text` comes from `safe_message`; `skips` is how many sessions are opened before the one that it
        is meant for."""
        self._screen = screen
        self._text = text
        self._typed = folded(text) if is_big(text) else text
        self._skips = skips

    def show(self, text: str) -> None:
        """Put `text` into the composer before that is mounted: the message, with what was typed after it."""
        text = without_marks(text)
        is_unchanged = bool(self._text) and text == self._text
        self._screen.composer.first_text = self._typed if is_unchanged else text
        if is_unchanged:
            self._screen.popup.close(self._typed)  # its completions would cover the frame

    def session_opened(self) -> None:
        """Send the message if it is still as it was given."""
        if not self._text:
            return
        if self._skips:
            self._skips -= 1
            return
        composer = self._screen.composer
        self._text = ""
        if composer.typed == self._typed:
            # As pasted: nothing of it runs in the user's shell before Enter.
            self._screen.sending.submit(composer.Submitted(composer.take(), has_paste=True))
