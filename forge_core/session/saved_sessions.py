"""The user's saved sessions: listed, found, renamed, copied and deleted."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from forge_core.errors import JournalError
from forge_core.redact import Redactor
from forge_core.session.draft_keeper import use_newest
from forge_core.store.forking import fork_session
from forge_core.store.journal import Journal, is_session_id, journal_path, new_session_id
from forge_core.store.saved_session import SavedSession, begins_as_session, load_session, title_of
from forge_core.store.session_index import SessionSummary as SessionSummary
from forge_core.store.session_index import last_session, list_sessions
from forge_core.store.usage.usage_index import UsageIndex


class SavedSessions:
    """The sessions below a state directory. All methods block: they read and write files."""

    def __init__(self, state_dir: Path, redact: Redactor) -> None:
        self._state_dir = state_dir
        self._redact = redact

    def list(self, working_dir: Path | None = None, *, with_agents: bool = False) -> list[SessionSummary]:
        """Return the sessions, the last used one first; with `working_dir`, only those of that folder.

        `with_agents`: those of sub-agents too, each after the session that it belongs to.
        """
        found = [
            one
            for one in list_sessions(self._state_dir)
            if working_dir is None or one.working_dir == str(working_dir)
        ]
        own = [one for one in found if not one.agent]
        return own if not with_agents else _nested(own, [one for one in found if one.agent])

    def latest(self, working_dir: Path) -> SessionSummary:
        """Return the session last used in a folder.

        Raises:
            JournalError: there is none.
        """
        found = self.list(working_dir)
        if not found:
            raise JournalError(
                f"There is no saved session of {str(working_dir)!r} to continue. Start without --continue; "
                "forge sessions list shows those of all folders."
            )
        return found[0]

    def last(self, working_dir: Path) -> SessionSummary | None:
        """Return the session last used in a folder as `latest`, but with bounded work: None also if that
        would take long."""
        return last_session(self._state_dir, working_dir)

    def find(self, name: str) -> SessionSummary:
        """Return the session with this id, beginning of an id, or title.

        Raises:
            JournalError: there is none, or more than one.
        """
        wanted = name.strip()
        sessions = self.list(with_agents=True)
        found = [one for one in sessions if one.id == wanted]
        found = found or [one for one in sessions if one.title.casefold() == wanted.casefold()]
        found = found or [one for one in sessions if wanted and one.id.startswith(wanted)]
        if not found and is_session_id(wanted) and self._path(wanted).exists():
            self.load(wanted)  # says why it is not listed
        if not found:
            raise JournalError(f"There is no session {name!r}. forge sessions list shows all of them.")
        if len(found) > 1:
            ids = ", ".join(one.id for one in found[:5])
            raise JournalError(f"{name!r} names {len(found)} sessions: {ids}. Give a whole id.")
        return found[0]

    def id_of(self, name: str) -> str:
        """Return the id of the session with this id or title; for a whole id, only the first line
        of its journal is read.

        Raises:
            JournalError: there is no such session, or more than one.
        """
        wanted = name.strip()
        is_known = is_session_id(wanted) and begins_as_session(self._path(wanted))
        return wanted if is_known else self.find(name).id

    def load(self, session_id: str) -> SavedSession:
        """Return what a session's journal holds.

        Raises:
            JournalError: there is no such session, or it cannot be read.
        """
        return load_session(self._path(session_id))

    def rename(self, session_id: str, title: str) -> str:
        """Give a session a title; return it as it will be shown.

        Raises:
            SessionInUseError: another process has it open.
            JournalError: the title is empty, or the session does not exist or cannot be written.
        """
        shown = title_of(title)
        if not shown:
            raise JournalError("A title needs at least one character that is visible.")
        trouble: list[str] = []
        journal = Journal(self._path(session_id), self._redact, trouble.append)
        journal.claim()
        journal.record("title", {"title": shown})
        journal.close()
        if trouble:
            raise JournalError(trouble[0])
        return shown

    def fork(self, session_id: str, *, records: int | None = None, draft: str | None = None) -> str:
        """Copy a session, or its first `records` records, and return the id of the copy, whose input holds
        `draft`.

        Raises:
            JournalError: there is no such session, or it cannot be read or copied.
        """
        copy = new_session_id()
        path, saved = journal_path(self._state_dir, copy), self.load(session_id)
        use_newest(saved)
        fork_session(saved, path, self._redact, records=records, draft=draft)
        return copy

    def delete(self, session_id: str) -> None:
        """Delete a session with its outputs, undo data and the sessions of its sub-agents. Files in the
        workspace stay as they are. What it has used is counted before.

        Raises:
            SessionInUseError: another process has it open.
            JournalError: there is no such session, or it cannot be deleted.
        """
        self._path(session_id)  # raises if it is no id
        UsageIndex(self._state_dir).update(only={session_id, *self._agents_of(session_id)})
        self._delete(session_id)

    def _delete(self, session_id: str) -> None:
        path = self._path(session_id)
        journal = Journal(path, self._redact)
        journal.claim()
        try:
            path.unlink()
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        except OSError as error:
            raise JournalError(f"Session {session_id} cannot be deleted: {error.strerror}.") from error
        finally:
            journal.close()
        for agent in self._agents_of(session_id):
            self._delete(agent)

    def _agents_of(self, *session_ids: str) -> Sequence[str]:
        """Return the ids of the sessions of their sub-agents."""
        found = self.list(with_agents=True)
        return [one.id for one in found if one.agent and one.parent in session_ids]

    def unused_since(self, moment: float) -> Sequence[SessionSummary]:
        """Return the sessions last used before `moment`, in seconds since the epoch; the oldest first. Those
        whose record has no usable time are left out."""
        found = sorted(self.list(with_agents=True), key=lambda one: one.updated)
        return [one for one in found if 0 < one.updated < moment]

    def prune(self, moment: float) -> tuple[Sequence[SessionSummary], Sequence[str]]:
        """Delete the sessions last used before `moment`, with their outputs and undo data.

        Returns those that were deleted, and why others were not: a session that is open is kept.
        """
        deleted, kept = [], []
        unused = self.unused_since(moment)
        if unused:
            ids = [one.id for one in unused]
            UsageIndex(self._state_dir).update(only={*ids, *self._agents_of(*ids)})
        for one in unused:
            if not self._path(one.id).exists():  # it went with the session whose sub-agent it was of
                deleted.append(one)
                continue
            try:
                self._delete(one.id)
                deleted.append(one)
            except JournalError as error:
                kept.append(str(error))
        return deleted, kept

    def _path(self, session_id: str) -> Path:
        if not is_session_id(session_id):
            raise JournalError(f"There is no session {session_id!r}. forge sessions list shows all of them.")
        return journal_path(self._state_dir, session_id)


def _nested(own: Sequence[SessionSummary], agents: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Return the sessions with those of sub-agents after their own, in the order in which they began."""
    below: dict[str, list[SessionSummary]] = {}
    for one in sorted(agents, key=lambda agent: (agent.started, agent.id)):
        below.setdefault(one.parent, []).append(one)
    nested = [row for one in own for row in (one, *below.pop(one.id, ()))]
    return [*nested, *(one for rest in below.values() for one in rest)]
