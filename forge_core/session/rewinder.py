"""Rewinding a session: the conversation, the files, or both go back to where they were before a message.

The conversation is rewound by a record in the journal, and read back from it. Files are restored by the undo
store, turn by turn: what the user has changed since is a conflict and stays.
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forge_core.context.pinned_facts import is_request
from forge_core.errors import ForgeError
from forge_core.llm.models import Message
from forge_core.store.journal import Journal
from forge_core.store.saved_session import SavedSession, SavedTurn, load_session, session_of
from forge_core.undo.report import merged

if TYPE_CHECKING:
    from forge_core.session.tool_environment import ToolEnvironment
    from forge_core.undo import TurnView, UndoReport, UndoStore

_RUNNING = "A turn is running. Interrupt it, or wait for its end, before you rewind."
NOTHING_TO_REWIND = "There is no message yet to rewind to."
NOTHING_TO_TAKE_BACK = "There is no rewind to undo. One can be undone until the next message is sent."


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A message of the user that the session can go back to."""

    number: int
    """1 for the first one of the conversation."""
    text: str
    at: float
    """Seconds since the epoch."""
    record: int
    """The index of its record in the journal: a fork of that many records ends before it."""
    files: tuple[str, ...]
    """The files that have changed since and that undo covers."""
    turns: tuple[int, ...]
    """The turns of the undo store that changed them."""
    turns_since: int | None = None
    """The turns from it on, as `ForgeSession.compact` counts them; None if it is part of a summary."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The result of a rewind, or of undoing one."""

    text: str
    """The message that the session went back to."""
    is_conversation: bool
    """Whether the conversation has changed, not only files."""
    files: UndoReport | None
    """What happened to files; None if none were to be changed."""
    saved: SavedSession
    """The session as it is now."""


class Rewinder:
    """Rewinds one session, between turns."""

    def __init__(
        self,
        journal: Journal,
        environment: ToolEnvironment,
        is_running: Callable[[], bool],
        apply: Callable[[SavedSession], None],
        on_files: Callable[[UndoReport], None],
    ) -> None:
        """`apply` replaces the session's conversation. `on_files` is called when files were restored while
        the conversation that knows their later content stays."""
        self._journal = journal
        self._environment = environment
        self._is_running = is_running
        self._apply = apply
        self._on_files = on_files

    @property
    def _undo(self) -> UndoStore | None:
        return self._environment.undo

    async def points(self) -> list[RewindPoint]:
        """Return the messages of the conversation, the oldest first.

        Raises:
            ForgeError: a turn is running, or the session's record cannot be written and read.
        """
        return await self._points(await self._load())

    async def point(self, number: int) -> RewindPoint:
        """Return message `number`.

        Raises:
            ForgeError: as `points`, or there is no such message.
        """
        return _numbered(number, await self.points())

    async def rewind(self, number: int, *, conversation: bool = True, files: bool = True) -> Rewound:
        """Go back to before message `number`.

        Raises:
            ForgeError: as `points`, or there is no such message.
        """
        saved = await self._load()
        point = _numbered(number, await self._points(saved))
        reports: list[UndoReport] = []
        if files and self._undo is not None:
            reports = await self._undo.undo_turns(point.turns)
        undone = [report.turn for report in reports]
        if conversation or undone:
            saved = self._record(saved, "rewind", {"turn": number if conversation else 0, "undone": undone})
        report = merged(reports)
        self._use(saved, report, conversation=conversation)
        return Rewound(point.text, conversation, report, saved)

    async def undo(self) -> Rewound:
        """Undo the last rewind: conversation and files are as before it.

        Raises:
            ForgeError: as `points`, or there is none, or a message was sent since.
        """
        saved = await self._load()
        if not saved.rewinds.revocable:
            raise ForgeError(NOTHING_TO_TAKE_BACK)
        last, kept = saved.rewinds.revocable[-1], len(saved.turns)
        reports: list[UndoReport] = []
        if last.undone and self._undo is not None:
            reports = await self._undo.redo_turns(last.undone)
        saved = self._record(saved, "unrewind", {})
        report, is_conversation = merged(reports), last.turn > 0
        self._use(saved, report, conversation=is_conversation)
        text = saved.turns[kept].text if is_conversation and kept < len(saved.turns) else ""
        return Rewound(text, is_conversation, report, saved)

    async def _load(self) -> SavedSession:
        if self._is_running():
            raise ForgeError(_RUNNING)
        if not self._journal.is_begun:
            raise ForgeError(NOTHING_TO_REWIND)
        await asyncio.to_thread(self._journal.flush)
        return await asyncio.to_thread(load_session, self._journal.path)

    def _record(self, saved: SavedSession, kind: str, data: dict[str, object]) -> SavedSession:
        at = self._journal.record(kind, data)
        record = {"type": kind, "timestamp": at, "data": data}
        return session_of(saved.path, [*saved.records, record], damaged=saved.damaged)

    def _use(self, saved: SavedSession, report: UndoReport | None, *, conversation: bool) -> None:
        if conversation:
            self._apply(saved)
        elif report is not None:
            self._on_files(report)

    async def _points(self, saved: SavedSession) -> list[RewindPoint]:
        turns = saved.turns
        views: Collection[TurnView] = ()
        if self._undo is not None:
            await self._undo.load()
            views = [view for view in self._undo.turns() if not view.is_undone]
        changed: list[list[TurnView]] = [[] for _ in turns]
        for view in views:
            if (index := _turn_of(view.at, turns)) is not None:
                changed[index].append(view)
        points: list[RewindPoint] = []
        names: set[str] = set()
        numbers: list[int] = []
        for turn, own in zip(reversed(turns), reversed(changed), strict=True):
            names |= {name for view in own for name, _ in view.changes}
            numbers += [view.number for view in own]
            points.append(
                RewindPoint(
                    turn.number,
                    turn.text,
                    turn.started,
                    turn.record,
                    tuple(sorted(names)),
                    tuple(numbers),
                    _turns_since(turn.message, saved.messages),
                )
            )
        return points[::-1]


def _numbered(number: int, points: Sequence[RewindPoint]) -> RewindPoint:
    if not points:
        raise ForgeError(NOTHING_TO_REWIND)
    if not 1 <= number <= len(points):
        raise ForgeError(f"There is no message {number}. The messages are 1 to {len(points)}.")
    return points[number - 1]


def _turns_since(start: int | None, messages: Sequence[Message]) -> int | None:
    if start is None or start >= len(messages) or not is_request(messages[start]):
        return None
    return sum(map(is_request, messages[start:]))


def _turn_of(at: float, turns: Sequence[SavedTurn]) -> int | None:
    """Return the index of the turn that began at `at`, or else the last one before it: the turn itself may
    have left the conversation while its changes stayed. None for changes older than the conversation."""
    starts = [turn.started for turn in turns]
    if at in starts:
        return starts.index(at)
    index = bisect.bisect_right(starts, at) - 1
    return index if index >= 0 else None
