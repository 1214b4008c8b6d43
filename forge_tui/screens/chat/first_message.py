"""The message from the command line, as in `forge "fix the failing test"`: shown at once, sent once it can
be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.sanitize import safe_text
from forge_tui.pastes.folded_text import BEGIN, folded, is_big, with_labels, without_marks

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
        """`text` comes from `safe_message`, with piped text as a folded part; `skips` is how many sessions
        are opened before the one that it is meant for."""
        self._screen = screen
        self._text = text
        self._shown = with_labels(text)
        self._typed = folded(text) if BEGIN not in text and is_big(text) else text
        self._skips = skips

    def show(self, text: str) -> None:
        """Put `text` into the composer before that is mounted: the message, with piped text as its label, and
        what was typed after it."""
        text = without_marks(text)
        is_unchanged = bool(self._text) and text == self._shown
        if is_unchanged or (BEGIN in self._text and text.startswith(self._shown)):
            text = self._typed + text[len(self._shown) :]
        self._screen.composer.first_text = text
        if is_unchanged:
            self._screen.popup.close(self._typed)  # its completions would cover the frame

    def session_opened(self) -> None:
        """Send the message if it is still as it was given; piped text alone waits for a request."""
        if not self._text:
            return
        if self._skips:
            self._skips -= 1
            return
        composer, is_request = self._screen.composer, not self._text.startswith(BEGIN)
        self._text = ""
        if is_request and composer.typed == self._typed:
            # As pasted: nothing of it runs in the user's shell before Enter.
            self._screen.sending.submit(composer.Submitted(composer.take(), has_paste=True))
