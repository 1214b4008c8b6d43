"""What undo reports: the effects of a command, the changes of a turn, the result of an undo or redo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from forge_core.sanitize import safe_line
from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState

if TYPE_CHECKING:
    from forge_core.undo.storage.turn_history import TurnRecord

_MAX_NAMES = 5
"""Names that a summary lists for one reason; the rest is counted."""


@dataclass(frozen=True, slots=True)
class CommandEffects:
    """What a command did below the workspace; names are relative to it."""

    not_undoable: tuple[str, ...] = ()
    """A summary of what changed and cannot be restored, or was not covered."""
    doubtful: tuple[str, ...] = ()
    """What changed while it ran and may be the user's: undo leaves it alone unless it is chosen."""
    changed: tuple[str, ...] = ()
    """All files that were created or changed, those that are not covered included; ignored folders as a whole
    and with a slash."""
    repositories: tuple[str, ...] = ()
    """New folders that git takes for a repository without a `.git` entry."""
    git_links: tuple[str, ...] = ()
    """Links to other repositories that were added to git's index."""
    unprivileged: tuple[str, ...] = ()
    """Files whose new setuid or setgid bit was removed."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that undo left alone."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn that changed something."""

    number: int
    text: str
    """The user's message."""
    at: float
    """Seconds since the epoch."""
    changes: tuple[tuple[str, str], ...]
    """Name and what happened to it: created, changed, mode changed, moved from NAME, deleted."""
    not_undoable: tuple[str, ...]
    is_undone: bool
    doubtful: tuple[tuple[str, str], ...] = ()
    """Name and command: changed while the command ran, perhaps by the user, and not undone."""
    reverts: int = 0
    """The number of the turn of which this one has reverted a part; 0 for a turn of the model."""


@dataclass(frozen=True, slots=True)
class TurnFiles:
    """The changes of a turn, with the states whose contents can be read."""

    view: TurnView
    changes: Mapping[str, FileChange]
    """By name."""


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The result of an undo, a redo, or a revert of a part of a turn. `turn` is 0 when nothing was done."""

    kind: Literal["undo", "redo", "revert"]
    turn: int = 0
    text_of_turn: str = ""
    restored: tuple[str, ...] = ()
    """Restored to an earlier or later content."""
    deleted: tuple[str, ...] = ()
    """Deleted, since they did not exist."""
    found: tuple[str, ...] = ()
    """Those of both that were so already: the user, or an undo that was killed, had done it."""
    conflicts: tuple[Conflict, ...] = ()
    """Left alone."""
    not_undoable: tuple[str, ...] = ()
    """Changed by the turn, but not covered by undo."""
    doubtful: tuple[tuple[str, str], ...] = ()
    """Name and command: changed while the command ran, perhaps by the user, and left alone."""
    touched: tuple[Path, ...] = ()
    """The absolute paths that were written or removed: what the model has read of them is out of date."""

    @property
    def written(self) -> tuple[str, ...]:
        """What was restored, without what was so already."""
        return tuple(name for name in self.restored if name not in self.found)

    @property
    def removed(self) -> tuple[str, ...]:
        """What was deleted, without what was so already."""
        return tuple(name for name in self.deleted if name not in self.found)

    @property
    def for_model(self) -> str:
        """One line for the next prompt to the model; empty when nothing was touched."""
        names = [*self.restored, *self.deleted]
        if not names:
            return ""
        shown = ", ".join(safe_line(name) for name in names[:20])
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        if self.kind == "revert":
            return f"[The user reviewed your file changes. {self.text_of_turn}. Written: {shown}{more}.]"
        if self.kind == "undo":
            return f"[The user undid file changes of an earlier turn; as before it are: {shown}{more}.]"
        return f"[The user brought undone file changes back; as after that turn are: {shown}{more}.]"


def merged(reports: Sequence[UndoReport]) -> UndoReport | None:
    """Return several undos, or redos, as one; None if there are none. Of a path, the last state counts."""
    if not reports:
        return None
    exists: dict[str, bool] = {}
    made: set[str] = set()
    for report in reports:
        made |= {*report.written, *report.removed}
        exists |= dict.fromkeys(report.restored, True) | dict.fromkeys(report.deleted, False)
    return replace(
        reports[-1],
        restored=tuple(sorted(name for name, is_there in exists.items() if is_there)),
        deleted=tuple(sorted(name for name, is_there in exists.items() if not is_there)),
        found=tuple(sorted(exists.keys() - made)),
        conflicts=tuple({one.name: one for report in reports for one in report.conflicts}.values()),
        not_undoable=tuple(dict.fromkeys(text for report in reports for text in report.not_undoable)),
        doubtful=tuple(dict(pair for report in reports for pair in report.doubtful).items()),
        touched=tuple(dict.fromkeys(path for report in reports for path in report.touched)),
    )


def turn_view(turn: TurnRecord) -> TurnView:
    """Return the turn as the list of turns shows it."""
    changes = tuple(sorted(_described(tuple(turn.changes.values()))))
    lost = not_undoable(dict(turn.lost), [])
    doubtful = tuple((path, turn.doubts[path].command) for path in turn.doubtful())
    is_undone = turn.undone is not None
    return TurnView(turn.number, turn.text, turn.at, changes, lost, is_undone, doubtful, turn.reverts)


def _described(changes: tuple[FileChange, ...]) -> Iterator[tuple[str, str]]:
    """Yield names and what happened to them; a deleted and a created file of the same bytes are one move."""
    gone: dict[FileState, list[str]] = {}
    for change in changes:
        if change.after == ABSENT and change.before.kind is EntryKind.FILE and change.before.size:
            gone.setdefault(change.before, []).append(change.path)
    moved: set[str] = set()
    for change in changes:
        if change.before == ABSENT and gone.get(change.after):
            old = gone[change.after].pop()
            moved |= {change.path, old}
            yield change.path, f"moved from {old}"
    for change in changes:
        if change.path not in moved:
            yield change.path, change.verb


def not_undoable(lost: Mapping[str, str], ignored: Sequence[str]) -> tuple[str, ...]:
    """Return a text for each reason, such as `node_modules/ and 3 others (ignored by git)`."""
    by_reason: dict[str, list[str]] = {}
    for name, why in [*lost.items(), *((name, "ignored by git") for name in ignored)]:
        by_reason.setdefault(why, []).append(name)
    texts: list[str] = []
    for why, names in by_reason.items():
        texts += [f"{_enumerated(sorted(names))} ({why})"] if why else names
    return tuple(texts)


def _enumerated(names: list[str]) -> str:
    if len(names) <= _MAX_NAMES:
        return ", ".join(names)
    kept = names[: _MAX_NAMES - 1]
    return f"{', '.join(kept)} and {len(names) - len(kept)} others"
