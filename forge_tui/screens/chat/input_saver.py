"""Saves what has not been sent: the text in the composer while it is typed, and the lines that wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from forge_tui import workers
from forge_tui.submitted_line import ShellLine, UserText, parse_line

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.queued.message_queue import MessageQueue
    from forge_tui.screens.chat.screen import ChatScreen

DELAY_S = 0.8
"""From a change of the text to its saving: what a kill may cost."""
_COST_FACTOR = 20
"""A long text is saved less often: at most a twentieth of the time goes into it."""


class InputSaver:
    """Saves a changed text once after a delay, in a thread, however many keys come meanwhile.

    A command is no draft: it may open another session, which must not find it in its composer.
    """

    def __init__(self, screen: ChatScreen, queue: MessageQueue) -> None:
        self._screen = screen
        self._queue = queue
        self._delay_s = DELAY_S
        self._is_due = False
        self._held = ""

    @contextmanager
    def holding(self, line: str) -> Iterator[None]:
        """Save a line that has left the composer, as long as a prompt asks where it goes and the composer is
        empty."""
        self._held = line
        self.text_changed()
        try:
            yield
        finally:
            self._held = ""
            self.text_changed()

    def save(self) -> None:
        """Record the queue and the text in the composer, in case the session is continued."""
        if (session := self._session()) is not None:
            session.save_input(
                queue=self._queue.typed,
                draft=self._screen.composer.typed or self._held,
                stash=self._screen.drafting.stashed,
            )

    def text_changed(self) -> None:
        """Take note of a change of the text in the composer."""
        if not self._is_due:
            self._is_due = True
            self._screen.set_timer(self._delay_s, self._start)

    def _session(self) -> ForgeSession | None:
        """Return the session to which the input belongs; None before there is one, and during a change."""
        return None if self._screen.sessions.is_running else self._screen.session

    def _start(self) -> None:
        workers.start(self._screen, self._save_text, "draft")

    async def _save_text(self) -> None:
        session, text, held = self._session(), self._screen.composer.typed, self._held
        line = parse_line(text, self._screen.sending.commands.table)
        stash = self._screen.drafting.stashed
        try:
            if session is not None:
                started = time.monotonic()
                session.drafts.set(text if isinstance(line, UserText | ShellLine) else held, stash)
                await asyncio.to_thread(session.drafts.write)
                self._delay_s = max(DELAY_S, _COST_FACTOR * (time.monotonic() - started))
        finally:
            self._is_due = False
        is_changed = self._screen.composer.typed != text or self._held != held
        if is_changed if session is not None else self._screen.composer.typed or self._held:
            self.text_changed()
