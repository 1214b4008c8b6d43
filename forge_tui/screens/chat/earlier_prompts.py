"""Messages over sessions: those sent here are kept, and Up brings back earlier ones of the folder."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from forge_core.sanitize import safe_text
from forge_tui import workers
from forge_tui.pastes.folded_text import with_paired_marks

if TYPE_CHECKING:
    from forge_core.session.prompt_history import PromptHistory, SentPrompt
    from forge_tui.screens.chat.screen import ChatScreen


class EarlierPrompts:
    """Reads and writes the history in threads; does neither if the user keeps none."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._unwritten: list[str] = []
        self._is_writing = False

    async def load(self) -> None:
        """Give the composer the messages of earlier sessions of the folder."""
        folder = str(self._screen.sessions.folder)
        sent = await self.read()
        self._screen.composer.recall.set_earlier(one.text for one in sent if one.folder == folder)

    async def read(self) -> list[SentPrompt]:
        """Return the messages of all folders, the oldest first; their texts may be put into the composer."""
        history = self._screen.sessions.prompt_history()
        return [] if history is None else await asyncio.to_thread(_read, history)

    def search(self) -> None:
        """Open the search; what is chosen replaces the composer's text, and is not sent."""
        from forge_tui.screens.panels.history_search import HistorySearch

        composer, folder = self._screen.composer, self._screen.sessions.folder
        if self._screen.sessions.prompt_history() is None:
            self._screen.activity.note("No history is kept (setting history)")
            return

        def use(text: str | None) -> None:
            if text is not None:
                composer.replace_text(text)

        self._screen.app.push_screen(HistorySearch(self.read, folder), use)

    def add(self, text: str) -> None:
        """Keep a text that was sent."""
        self._unwritten.append(text)
        if not self._is_writing:
            self._is_writing = True
            workers.start(self._screen, self._write, "history")

    async def _write(self) -> None:
        history, folder = self._screen.sessions.prompt_history(), self._screen.sessions.folder
        try:
            while self._unwritten:
                text = self._unwritten.pop(0)
                if history is not None:
                    await asyncio.to_thread(history.add, text, folder)
        finally:
            self._is_writing = False


def _read(history: PromptHistory) -> list[SentPrompt]:
    return [
        replace(one, text=with_paired_marks(safe_text(one.text, keep_invisible=True)))
        for one in history.read()
    ]
