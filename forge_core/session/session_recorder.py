"""Records a session in its journal: its beginning, settings and state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ForgeError
from forge_core.events import LLMEnd
from forge_core.llm.models import TokenUsage
from forge_core.session.model_selection import DEFAULT_EFFORT, ModelSelection
from forge_core.session.saved_state import StateRecorder, folder_record, model_record
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.store.journal import Journal
from forge_core.store.saved_session import SavedSession, load_session, title_of


class SessionRecorder:
    """What of a session is recorded beside its turns."""

    def __init__(
        self,
        session_id: str,
        journal: Journal,
        environment: ToolEnvironment,
        config: Callable[[], ForgeConfig],
        models: Callable[[], ModelSelection],
    ) -> None:
        self.state = StateRecorder(journal, environment)
        self.has_begun = False
        """Whether the journal has the session's first record."""
        self._session_id, self._journal, self._environment = session_id, journal, environment
        self._config, self._models = config, models

    def begin(self) -> None:
        """Write the first record, if it is not written yet."""
        if not self.has_begun:
            self.has_begun = True
            self._record_start("session", id=self._session_id)

    def assume(self, saved: SavedSession) -> None:
        """Take the state of a saved session for recorded: it has been restored."""
        self.state.assume_recorded()
        self.state.assume_recorded(
            draft=saved.draft, queue=saved.queue, model=saved.model, mode=saved.mode, stash=saved.stash
        )
        self.state.assume_recorded(effort=saved.effort or DEFAULT_EFFORT)

    def resume(self, saved: SavedSession) -> None:
        """Record that a saved session is continued, with its draft as it is now."""
        self.has_begun = True
        self._record_start("resume")
        self.state.record(draft=saved.draft, stash=saved.stash)

    def settings(self) -> None:
        """Record the model and the mode, and what else of the state has changed."""
        if self.has_begun:
            models, mode = self._models(), str(self._environment.policy.mode)
            used = model_record(self._config(), models.current)
            self.state.record(effort=models.effort or DEFAULT_EFFORT, mode=mode, **used)

    def input(self, *, draft: str, queue: Sequence[str], stash: Sequence[str]) -> None:
        """Record the text in the composer, the messages that wait, and stashed ones."""
        if self.has_begun:
            self.state.record(draft=draft, queue=[*queue], stash=[*stash])

    def record(self, kind: str, data: dict[str, Any]) -> None:
        """Write a record of a session that has begun; nothing before."""
        if self.has_begun:
            self._journal.record(kind, data)

    def bill(self, cut: LLMEnd, usage: TokenUsage) -> None:
        """Record the usage of a call that was cut, which arrived later."""
        self._journal.record("bill", {"of": cut.timestamp, "usage": usage.as_dict(), "model": cut.model})

    def title(self, text: str) -> str:
        """Record a title of the user's own; return it as it will be shown."""
        shown = title_of(text)
        self.begin()
        self._journal.record("title", {"title": shown})
        return shown

    async def saved(self) -> SavedSession:
        """Return the session as its journal holds it.

        Raises:
            ForgeError: nothing is recorded yet, or the journal cannot be written or read.
        """
        if not self.has_begun:
            raise ForgeError("There is nothing to export yet: this session has no message.")
        await asyncio.to_thread(self._journal.flush)
        return await asyncio.to_thread(load_session, self._journal.path)

    def _record_start(self, kind: str, **about: str) -> None:
        config = self._config()
        used = model_record(config, self._models().current)
        where = folder_record(config.working_dir, config.state_dir)
        self._journal.record(kind, {**about, **where, **used})
        self.state.assume_recorded(**used)
