"""The message that is being written: edited in the user's editor, or stashed for later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from forge_core.sanitize import safe_text
from forge_tui.pastes import folded_text
from forge_tui.widgets.composer import LONGEST

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen

FILE_NAME = "message.md"
NOTE_S = 8.0
"""How long the note about a paste that was too long shows."""
MOST_STASHED = 50
"""The oldest is dropped beyond that."""


class Drafting:
    """Acts on the composer's text, folded parts included."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self.stashed: list[str] = []
        """Texts as typed (see `folded_text`), the newest last."""

    def stash(self) -> None:
        """Put the composer's text on the stack; with an empty composer, take the newest text from it."""
        composer, note = self._screen.composer, self._screen.activity.note
        if composer.typed.strip():
            self.stashed = [*self.stashed, composer.take()][-MOST_STASHED:]
            note("Stashed; Ctrl+S in the empty composer brings it back")
        elif self.stashed:
            composer.replace_edited(self.stashed.pop())
        else:
            note("Nothing is stashed")
        self._changed()

    def restore(self, stashed: Iterable[str]) -> None:
        """Put the texts of a continued session below those of this one."""
        earlier = [safe_text(text, keep_invisible=True) for text in stashed]
        self.stashed = [*(text for text in earlier if text not in self.stashed), *self.stashed][
            -MOST_STASHED:
        ]
        self._show_count()

    def _changed(self) -> None:
        self._show_count()
        self._screen.unsent.save()
        self._screen.unsent.text_changed()

    def _show_count(self) -> None:
        count = len(self.stashed)
        self._screen.composer.border_subtitle = f"{count} stashed · Ctrl+S" if count else ""

    async def keep_paste(self, text: str) -> None:
        """Write a paste that is too long for a message to a file, and put the path into the message."""
        session, size = self._screen.session, f"{len(text):,} characters"
        path = None if session is None else await asyncio.to_thread(session.drafts.keep_paste, text)
        if path is None:
            note = f"Not pasted: {size}, at most {LONGEST:,}. Name a file instead."
        else:
            note = f"{size} are too many for a message: they are in the file that is named in it"
            self._screen.composer.restore_draft(str(path), len(str(path)))
        self._screen.activity.note(note, NOTE_S)

    def edit(self) -> None:
        """Open the composer's text in the user's editor, with the pastes in full. What the editor leaves
        replaces it; if the editor fails, the text stays."""
        from forge_tui.terminal.editor import EditorError, edit_text

        screen, composer = self._screen, self._screen.composer
        before = folded_text.plain_text(composer.typed)
        try:
            text = edit_text(screen.app, before, FILE_NAME, screen.sessions.folder)
        except EditorError as error:
            screen.complain(f"The message was not opened: {error}")
        except OSError as error:
            screen.complain(f"The message was not edited: {error.strerror or error}.")
        else:
            self._take_edited(before, text)

    def _take_edited(self, before: str, text: str) -> None:
        composer = self._screen.composer
        text = folded_text.without_marks(safe_text(text, keep_invisible=True)).removesuffix("\n")
        if len(text) > LONGEST:
            size = f"{len(text):,} characters, at most {LONGEST:,}"
            self._screen.complain(f"The edited message has {size}: the text is as before.")
        elif text != before.removesuffix("\n"):
            composer.replace_edited(folded_text.refolded(text, composer.typed) if text.strip() else "")
