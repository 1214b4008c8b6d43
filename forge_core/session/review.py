"""Reviewing the changes of the last turn: what of them is kept, and what is reverted.

A file whose content has changed is reviewed hunk by hunk; one that was created, deleted or renamed, that is
binary or a link, or of which only the mode has changed, as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from forge_core.errors import ForgeError, ToolError
from forge_core.events import Notice
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip_middle
from forge_core.tools.editing.hunks import Hunk, hunks, without_hunks
from forge_core.undo.file_state import EntryKind, FileChange
from forge_core.undo.report import UndoReport
from forge_core.workspace.change_source import ChangedFile

if TYPE_CHECKING:
    from forge_core.session.changes import TurnChanges
    from forge_core.session.event_channel import EventChannel
    from forge_core.store.journal import Journal
    from forge_core.store.saved_session import SavedSession
    from forge_core.undo import UndoStore

WHOLE_FILE = ""
"""The key of a file that has no hunks."""
_RUNNING = "A turn is running. Interrupt it, or wait for its end, before you revert changes."
_UNKNOWN = "Nothing was reverted: this file is no longer among the changes. Reload them."
_REFUSED_NAME_CELLS = 40
"""Columns of a path in a refusal, so that 80 columns have room for the reason."""
_NOTHING_TO_RESTORE = "Nothing to restore: no part of the last turn is reverted."


class HasUndo(Protocol):
    """What owns the undo store of the session."""

    @property
    def undo(self) -> UndoStore | None:
        """The undo store; None when undo is off."""


class ChangeReview:
    """The review of one session. What is kept is only marked, so that the user sees what is left."""

    def __init__(
        self,
        environment: HasUndo,
        journal: Journal,
        events: EventChannel,
        is_running: Callable[[], bool],
        on_files: Callable[[UndoReport], None],
    ) -> None:
        """`on_files` is called when files were written."""
        self._environment = environment
        self._journal = journal
        self._events = events
        self._is_running = is_running
        self._on_files = on_files
        self._turn = 0
        """The turn that the marks belong to."""
        self._kept: dict[str, frozenset[str]] = {}
        """The keys of the kept hunks, by path."""

    def restore(self, saved: SavedSession) -> None:
        """Mark what is marked as kept in a saved session."""
        self._turn = saved.reviewed_turn
        self._kept = {path: frozenset(keys) for path, keys in saved.kept.items()}

    def kept(self, changes: TurnChanges, file: ChangedFile) -> frozenset[str]:
        """Return the keys of the hunks that are marked as kept; `WHOLE_FILE` for a file without hunks."""
        return self._kept.get(file.path, frozenset()) if self._turn == changes.turn else frozenset()

    def keep(self, changes: TurnChanges, file: ChangedFile, keys: Collection[str], *, is_kept: bool) -> None:
        """Mark hunks of a file as kept, or remove the mark."""
        if self._turn != changes.turn:
            self._turn, self._kept = changes.turn, {}
        before = self._kept.get(file.path, frozenset())
        after = before | set(keys) if is_kept else before - set(keys)
        if after != before:
            self._kept[file.path] = after
            self._journal.record(
                "review", {"turn": self._turn, "path": file.path, "kept": sorted(self._kept[file.path])}
            )

    async def hunks(self, changes: TurnChanges, file: ChangedFile) -> tuple[Hunk, ...]:
        """Return the hunks that can be reverted one by one; none if only the whole file can."""
        sides = await self._sides(changes, file)
        return () if sides is None else await asyncio.to_thread(hunks, *sides)

    async def revert(
        self, changes: TurnChanges, file: ChangedFile, chosen: Collection[Hunk] | None = None
    ) -> str:
        """Revert hunks of a file, or the change of the whole file; return what was done, for the user.

        The session reports it too, and the model is informed with the next message. What turns out to be in
        conflict only while the files are written is named in the text, and stays a change of the turn.

        Raises:
            ForgeError: nothing was reverted: a turn is running, the file has changed since, its content is no
                longer kept, or there is no room to keep what it holds now.
        """
        undo = self._undo()
        own = changes.changes_of(file)
        if not own:
            raise ForgeError(_UNKNOWN)
        name = safe_line(file.path)
        found = await self.hunks(changes, file) if chosen is not None else ()
        contents: list[bytes] = []
        if chosen is None:
            steps = [change.reversed() for change in own]
            text = f"Reverted the changes of {name}"
        else:
            data = await self._without(changes, file, chosen)
            after = own[0].after
            digest = hashlib.sha256(data).hexdigest()
            # The inode of the earlier state: a file that the turn has written through its hard links is
            # written so again.
            inode = own[0].before.inode
            wanted = replace(after, digest=digest, size=len(data), git="", inode=inode)
            steps, contents = [FileChange(own[0].path, after, wanted)], [data]
            at = ", ".join(f"{hunk.new_from + 1:,}" for hunk in sorted(chosen, key=lambda one: one.new_from))
            text = f"Reverted {len(chosen)} of {len(found)} hunks of {name} (at line {at})"
        report = await undo.revert(changes.turn, text, steps, contents)
        if not report.touched:
            raise ForgeError(_refusal(report))
        text = f"{text}{_left_alone(report)}"
        self._written(replace(report, text_of_turn=text), f"{text}. /undo restores it.")
        return text

    async def undo(self, changes: TurnChanges) -> str:
        """Undo the last revert of a part of the turn; return what was done, for the user.

        Raises:
            ForgeError: a turn is running, or nothing of the last turn is reverted.
        """
        undo = self._undo()
        own = [view for view in undo.turns() if view.reverts == changes.turn and not view.is_undone]
        reports = await undo.undo_turns({own[-1].number}) if own else []
        if not reports:
            raise ForgeError(_NOTHING_TO_RESTORE)
        (report,) = reports
        if not report.touched:
            raise ForgeError(_refusal(report))
        names = safe_line(", ".join((*report.restored, *report.deleted)))
        text = f"Restored the reverted changes of {names}{_left_alone(report)}"
        self._written(report, f"{text}.")
        return text

    def _written(self, report: UndoReport, text: str) -> None:
        """Report that files were written: to the session, in its record and on the screen."""
        self._on_files(report)
        notice = Notice(level="info", text=text)
        self._journal.event(notice)
        self._events.notify(notice)

    def _undo(self) -> UndoStore:
        if self._is_running():
            raise ForgeError(_RUNNING)
        if self._environment.undo is None:
            raise ForgeError("Undo is off in this session, so nothing can be reverted.")
        return self._environment.undo

    async def _sides(self, changes: TurnChanges, file: ChangedFile) -> tuple[bytes, bytes] | None:
        """Return the content of a file before and after if both are files and are kept."""
        own = changes.changes_of(file)
        if not own or file.old_path or {own[0].before.kind, own[0].after.kind} != {EntryKind.FILE}:
            return None
        return await changes.sides(file)

    async def _without(self, changes: TurnChanges, file: ChangedFile, chosen: Collection[Hunk]) -> bytes:
        sides = await self._sides(changes, file)
        if sides is None:
            raise ForgeError("Nothing was reverted: the earlier content of this file is no longer kept.")
        try:
            return await asyncio.to_thread(without_hunks, *sides, chosen)
        except ToolError as error:
            raise ForgeError(f"Nothing was reverted. {error}") from error


def _refusal(report: UndoReport) -> str:
    done = "reverted" if report.kind == "revert" else "restored"
    return f"Nothing was {done}. {_conflicts(report, _REFUSED_NAME_CELLS)}."


def _left_alone(report: UndoReport) -> str:
    """Return what could not be done of a revert, as the end of a sentence; empty if all was done."""
    return f". Left alone: {_conflicts(report)}" if report.conflicts else ""


def _conflicts(report: UndoReport, name_cells: int | None = None) -> str:
    named = [(safe_line(one.name), safe_line(one.why)) for one in report.conflicts]
    return "; ".join(f"{clip_middle(name, name_cells or cell_len(name))}: {why}" for name, why in named)
