"""Changing to another session, new or saved, without leaving the app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from forge_core.errors import ForgeError
from forge_core.sanitize import safe_text
from forge_tui import workers
from forge_tui.pastes.folded_text import with_folded, with_paired_marks
from forge_tui.submitted_line import Command, SentLine, UserText, parse_line, sent_line

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.session.prompt_history import PromptHistory
    from forge_core.session.saved_sessions import SavedSessions, SessionSummary
    from forge_core.session.session import ForgeSession, SavedSession
    from forge_tui.screens.chat.queued.message_queue import MessageQueue
    from forge_tui.screens.chat.screen import ChatScreen

OpenSession: TypeAlias = "Callable[[str | None, ForgeSession | None], Awaitable[ForgeSession]]"
"""Opens the saved session of an id, or a new one in place of the one that it is given."""
_RECALLED_MESSAGES = 100
"""Messages of a continued session that Up brings back."""


class SessionChange:
    """Opens the other session first: the present one stays, with its queue, if that fails.

    Lines that are sent during the change wait for the other session.
    """

    def __init__(
        self, screen: ChatScreen, queue: MessageQueue, config: ForgeConfig, open_session: OpenSession
    ) -> None:
        self._screen = screen
        self._queue = queue
        self.config = config
        """The settings of the next session; `/config` changes them."""
        self._open_session = open_session
        self.is_running = False
        self._left: list[SentLine] = []
        """Lines that wait in the session that is being left."""

    @property
    def folder(self) -> Path:
        """The folder of the sessions."""
        return self.config.working_dir

    def saved(self) -> SavedSessions:
        """Return the saved sessions of all folders."""
        from forge_core.runtime import make_redactor
        from forge_core.session.saved_sessions import SavedSessions

        return SavedSessions(self.config.state_dir, make_redactor(self.config))

    def prompt_history(self) -> PromptHistory | None:
        """Return the messages of all sessions; None if the user keeps none."""
        if not self.config.history:
            return None
        from forge_core.runtime import make_redactor
        from forge_core.session.prompt_history import PromptHistory  # after the first frame

        return PromptHistory(self.config.state_dir, make_redactor(self.config))

    def last(self) -> SessionSummary | None:
        """Return the session last used in the folder, if that is known without reading much. Blocks."""
        return self.saved().last(self.folder)

    def prune(self) -> str:
        """Delete the sessions that the user no longer keeps; return a report, empty if there was none.
        Blocks."""
        keep_days = self.config.sessions_keep_days
        if keep_days is None:
            return ""
        from forge_core.session.retention import prune_daily  # after the first frame

        deleted = prune_daily(self.saved(), self.config.state_dir, keep_days)
        sessions = "1 session that was" if len(deleted) == 1 else f"{len(deleted)} sessions that were"
        return f"Deleted {sessions} not used for {keep_days} days (setting keep_days)." if deleted else ""

    def leave_queue(self) -> None:
        """Leave the queued lines to the conversation that is about to end."""
        self._left = self._queue.take_all()

    def start(self, session_id: str | None, *, is_fork: bool = False) -> None:
        """End the present session, and continue the one with this id, or begin a new one."""
        self._start(partial(self._id_of, session_id, is_fork=is_fork), is_new=session_id is None)

    def start_fork(self, session_id: str, records: int, draft: str) -> None:
        """End the present session, and continue a copy of the first `records` records of a session; the
        composer gets `draft`."""
        self._start(partial(self.saved().fork, session_id, records=records, draft=draft))

    def start_named(self, name: str) -> None:
        """End the present session, and continue the one with this id or title."""
        self._start(lambda: self.saved().id_of(name))

    def _start(self, find: Callable[[], str | None], *, is_new: bool = False) -> None:
        """Change to the session whose id `find` returns; it is called in a thread."""
        if self.is_running:
            self._screen.activity.note("Another session is being opened already")
            return
        if not is_new:  # a new one was announced by a command that has left the queue already
            self.leave_queue()
        self.is_running = True
        hold = ExitStack()
        hold.enter_context(self._queue.held())
        workers.start(self._screen, partial(self._run, find, hold), "change session")

    def _id_of(self, session_id: str | None, *, is_fork: bool) -> str | None:
        return self.saved().fork(session_id) if session_id is not None and is_fork else session_id

    async def _run(self, find: Callable[[], str | None], hold: ExitStack) -> None:
        screen, before = self._screen, self._screen.session
        session: ForgeSession | None = None
        with hold:
            await screen.end_turn()
            try:
                session_id = await asyncio.to_thread(find)
                if session_id is not None and session_id == screen.session_id:
                    screen.activity.note("This session is open already")
                else:
                    session = await self._open_session(session_id, before)
            except ForgeError as error:
                screen.complain(str(error))
            if session is not None and before is not None:
                before.save_input(queue=self._queue.as_typed(self._left))
                await before.aclose()
            self.is_running = False
        left, self._left = self._left, []
        if session is None:
            self._queue.put_back(left)
            screen.sending.start_next()
        else:
            screen.start_over()
            screen.session_ready(session)
            screen.refresh_todos()

    def show(self, saved: SavedSession) -> None:
        """Show the conversation of the session that has been opened, its draft and its queue."""
        screen = self._screen
        screen.refresh_todos()
        workers.start(screen, partial(self.show_earlier, saved), "earlier turns", is_replacing=True)
        for turn in saved.turns[-_RECALLED_MESSAGES:]:
            text = with_paired_marks(safe_text(with_folded(turn.text, turn.folded), keep_invisible=True))
            screen.composer.remember(sent_line(text, screen.sending.commands.table), has_paste=True)
        if draft := safe_text(saved.draft, keep_invisible=True):
            if screen.composer.is_blank and not len(self._queue):  # else the next message is being typed
                screen.composer.replace_edited(draft)
            elif screen.composer.typed != draft:
                screen.composer.remember(draft, has_paste=True)
        screen.drafting.restore(saved.stash)
        self._queue.put_back(
            line
            for text in saved.queue
            if isinstance(line := parse_line(text, screen.sending.commands.table), UserText | Command)
        )

    async def show_earlier(self, saved: SavedSession) -> None:
        """Show the conversation of a saved session."""
        from forge_core.session.replay import replayed_turns  # after the first frame

        await self._screen.transcript.show_earlier_turns(replayed_turns(saved))
