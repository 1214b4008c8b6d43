"""Changing to another session, new or saved, without leaving the app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from forge_core.errors import ForgeError
from forge_tui import workers

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.session.saved_sessions import SavedSessions
    from forge_core.session.session import ForgeSession, SavedSession
    from forge_tui.screens.chat.message_queue import MessageQueue
    from forge_tui.screens.chat.screen import ChatScreen

OpenSession: TypeAlias = "Callable[[str | None, ForgeSession | None], Awaitable[ForgeSession]]"
"""Opens the saved session of an id, or a new one in place of the one that it is given."""


class SessionChange:
    """Opens the other session first: the present one stays if that fails."""

    def __init__(
        self, screen: ChatScreen, queue: MessageQueue, config: ForgeConfig, open_session: OpenSession
    ) -> None:
        self._screen = screen
        self._queue = queue
        self._config = config
        self._open_session = open_session

    @property
    def folder(self) -> Path:
        """The folder of the sessions."""
        return self._config.working_dir

    def saved(self) -> SavedSessions:
        """Return the saved sessions of all folders."""
        from forge_core.runtime import make_redactor
        from forge_core.session.saved_sessions import SavedSessions

        return SavedSessions(self._config.state_dir, make_redactor(self._config))

    def start(self, session_id: str | None, *, is_fork: bool = False) -> None:
        """End the present session, and continue the one with this id, or begin a new one."""
        screen = self._screen
        if session_id is not None and not is_fork and session_id == screen.session_id:
            screen.activity.note("This session is open already")
        else:
            fork = partial(self.saved().fork, session_id) if session_id is not None and is_fork else None
            work = partial(self._run, session_id, fork=fork)
            workers.start(screen, work, "change session", is_replacing=True)

    def start_fork(self, session_id: str, records: int, draft: str) -> None:
        """End the present session, and continue a copy of the first `records` records of a session; the
        composer gets `draft`."""
        fork = partial(self.saved().fork, session_id, records=records, draft=draft)
        work = partial(self._run, session_id, fork=fork)
        workers.start(self._screen, work, "change session", is_replacing=True)

    async def _run(self, session_id: str | None, *, fork: Callable[[], str] | None = None) -> None:
        screen = self._screen
        before = screen.session
        with self._queue.held():
            await screen.end_turn()
            try:
                if fork is not None:
                    session_id = await asyncio.to_thread(fork)
                session = await self._open_session(session_id, before)
            except ForgeError as error:
                screen.complain(str(error))
                return
            if before is not None:
                screen.save_input(screen.composer.text)
                await before.aclose()
            self._queue.clear()
            screen.start_over()
        screen.session_ready(session)
        screen.refresh_todos()

    async def show_earlier(self, saved: SavedSession) -> None:
        """Show the conversation of a saved session."""
        from forge_core.session.replay import replayed_turns  # after the first frame

        await self._screen.transcript.show_earlier_turns(replayed_turns(saved))
