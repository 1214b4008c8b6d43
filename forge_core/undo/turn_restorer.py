"""Undoes and redoes turns, reverts parts of them. Blocking; called from the thread of `ChangeRecorder`."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line
from forge_core.undo.file_state import ABSENT, FileChange
from forge_core.undo.report import Conflict, UndoReport, not_undoable
from forge_core.undo.restore import Restorer, RestoreResult
from forge_core.undo.snapshot.folder_snapshots import FolderSnapshots
from forge_core.undo.snapshot.mount_points import MountGuard, relative_placeholders
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import FileTree, name_below
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.undo.storage.turn_history import TurnRecord, selected
from forge_core.undo.storage.turn_log import TurnLog

_MAX_NAMED = 20


class TurnRestorer:
    """Takes files from what a turn has left to what it had found, and back."""

    def __init__(
        self,
        root: Path,
        tree: FileTree,
        contents: ContentStore,
        log: TurnLog,
        git: GitObjects,
        snapshot: FolderSnapshots,
        mounts: MountGuard,
    ) -> None:
        self._root = root
        self._tree = tree
        self._contents = contents
        self._log = log
        self._git = git
        self._snapshot = snapshot
        self._mounts = mounts

    def undo(self, also: Sequence[str] | None = (), among: Container[int] | None = None) -> UndoReport:
        """Undo the last turn, and those of the changes that may be the user's that `also` names (None: all).
        Right after an undo that left some alone, `also` undoes these. With `among`, only one of these."""
        self._check_idle()
        turn = self._left_alone(also) or self._log.history.to_undo()
        chosen = self._chosen(turn, also)
        skipped = {name: why for one in self._log.history.above(turn) for name, why in one.lost.items()}
        if turn is None or (among is not None and turn.number not in among):
            return UndoReport("undo", not_undoable=not_undoable(skipped, []))
        outcome = self._restored(turn.to_undo(chosen))
        self._log.undone(turn, [change.path for change in outcome.done], chosen)
        removed = self._git.remove_links(turn.links)
        changed = turn.links.keys() & self._git.links().keys()
        outcome.conflicts += [Conflict(path, "its link in git's index has changed since") for path in changed]
        return self._report("undo", turn, outcome, turn.lost | skipped, removed)

    def redo(self, among: Container[int] | None = None) -> UndoReport:
        self._check_idle()
        turn = self._log.history.to_redo()
        if turn is None or turn.undone is None or (among is not None and turn.number not in among):
            return UndoReport("redo")
        outcome = self._restored(turn.to_redo())
        self._log.redone(turn)
        return self._report("redo", turn, outcome, turn.lost, self._git.add_links(turn.links))

    def revert(
        self, number: int, text: str, changes: Sequence[FileChange], contents: Sequence[bytes] = ()
    ) -> UndoReport:
        """Make `changes`, which revert a part of turn `number`, and record them as a new turn.

        All of them are made or none: if a path does not hold its `before`, the conflicts are reported. The
        turn is recorded before the first file is changed, so that a kill leaves nothing that undo does not
        know.

        Args:
            number: the turn.
            text: the name of the new turn in lists.
            changes: what to do.
            contents: what the files hold then, except contents that are stored already.

        Raises:
            ForgeError: a turn is running, or the contents cannot be stored.
        """
        self._check_idle()
        self._contents.begin()
        for data in contents:
            if trouble := self._contents.keep(data, hashlib.sha256(data).hexdigest()):
                raise ForgeError(f"Nothing was reverted, since it could not be undone: {trouble}.")
        with self._settled(changes) as restorer:
            conflicts = restorer.conflicts()
        if conflicts:
            return UndoReport("revert", text_of_turn=text, conflicts=tuple(conflicts))
        turn = self._log.begin_revert(number, text, changes)
        outcome = self._restored(changes)
        made = {change.path for change in outcome.done}
        self._log.not_reverted(turn, [change for change in changes if change.path not in made])
        return self._report("revert", turn, outcome, {}, [])

    def _restored(self, changes: Iterable[FileChange]) -> RestoreResult:
        with self._settled(changes) as restorer:
            return restorer.run()

    @contextlib.contextmanager
    def _settled(self, changes: Iterable[FileChange]) -> Iterator[Restorer]:
        with self._mounts.settled():
            in_use = {name_below(self._root, path) for path in self._mounts.in_use()}
            placeholders = relative_placeholders(self._root, self._mounts)
            ignored = self._snapshot.all_ignored()
            yield Restorer(self._tree, self._contents, changes, in_use, placeholders, ignored)

    def _left_alone(self, also: Sequence[str] | None) -> TurnRecord | None:
        """Return the turn that was undone last when it has left alone what `also` names."""
        turn = self._log.history.to_redo()
        return turn if turn is not None and selected(turn.doubtful(), also) else None

    def _chosen(self, turn: TurnRecord | None, also: Sequence[str] | None) -> set[str]:
        """Return the doubtful paths that `also` selects. Raises ForgeError for a name that selects none."""
        known = turn.doubtful() if turn is not None else []
        for name in also or ():
            if not selected(known, [name]):
                listed = ", ".join(map(safe_line, known[:_MAX_NAMED])) or "none"
                raise ForgeError(
                    f"{safe_line(name)!r} is not among the files that may be yours. They are: {listed}."
                )
        return set(selected(known, also))

    def _check_idle(self) -> None:
        if self._log.running is not None:
            raise ForgeError("A turn is running. Interrupt it, or wait for its end, before you undo.")

    def _report(
        self,
        kind: Literal["undo", "redo", "revert"],
        turn: TurnRecord,
        outcome: RestoreResult,
        lost: dict[str, str],
        links: Sequence[str],
    ) -> UndoReport:
        done = outcome.done
        relinked = [f"{path} (in git's index)" for path in links]
        restored = [change.path for change in done if change.after != ABSENT]
        deleted = [change.path for change in done if change.after == ABSENT]
        return UndoReport(
            kind,
            turn.number,
            turn.text,
            restored=tuple(sorted(restored + (relinked if kind == "redo" else []))),
            deleted=tuple(sorted(deleted + (relinked if kind == "undo" else []))),
            conflicts=tuple(sorted(outcome.conflicts, key=lambda conflict: conflict.name)),
            not_undoable=not_undoable(lost, []),
            doubtful=tuple((path, turn.doubts[path].command) for path in turn.doubtful()),
            found=tuple(sorted(outcome.found)),
            touched=tuple(self._root / change.path for change in done),
        )
