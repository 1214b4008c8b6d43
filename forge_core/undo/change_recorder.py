"""Undo's work itself, blocking and on one thread: what belongs to which turn, and the way back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line
from forge_core.undo.attribution.command_changes import Attribution, AttributionContext, SourceFiles
from forge_core.undo.attribution.write_counts import WriteCounts
from forge_core.undo.expected_effects import UNKNOWN, ExpectedEffects
from forge_core.undo.file_state import ABSENT, FileChange, FileState
from forge_core.undo.report import CommandEffects, TurnFiles, TurnView, UndoReport, not_undoable, turn_view
from forge_core.undo.restore import Restorer, RestoreResult
from forge_core.undo.snapshot.mount_points import MountGuard, NoMounts, StandIns
from forge_core.undo.snapshot.workspace_snapshot import SnapshotDiff, WorkspaceSnapshot
from forge_core.undo.storage.blobs import BlobStore
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import FileTree
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.undo.storage.retention import lock, prune_others
from forge_core.undo.storage.turn_history import TurnRecord
from forge_core.undo.storage.turn_log import TurnLog

MAX_CAPTURE_BYTES = 64 * 1024 * 1024
"""A larger file that a file tool changes is not kept."""
_PATIENCE_S = 5.0
"""A file tool writes at once after `capture`; what has not changed by then is no longer waited for."""
_MAX_NAMED = 20
_HISTORY = "git's own history: commits and branches"


@dataclass(slots=True, eq=False)
class CommandWatch:
    """A command that runs."""

    turn: TurnRecord | None
    gave_up: str = ""
    history_stamp: int = 0
    seen: dict[str, None] = field(default_factory=dict)
    """What other looks found changed while it ran."""
    doubtful: dict[str, None] = field(default_factory=dict)
    """What of it may be the user's."""
    expected: ExpectedEffects = UNKNOWN
    writes: WriteCounts | None = None
    exit_status: int | None = None


@dataclass(frozen=True, slots=True)
class _Pending:
    before: FileState
    at: float
    call: frozenset[str]
    """The names that the tool was about to change: once one has, the others are no longer waited for."""


class ChangeRecorder:
    """One session's undo. `on_trouble` is called, from the thread, with a sentence for the person."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        limit_bytes: int,
        private: Path | None,
        on_trouble: Callable[[str], None],
        max_entries: int | None,
        mounts: MountGuard | None = None,
    ) -> None:
        self._root = root
        self._mounts = mounts or NoMounts()
        self._stand_ins = StandIns(root, self._mounts)
        self._folder = folder
        self._git = GitObjects(root)
        hidden = [folder, *([private] if private else [])]
        self._watcher = WorkspaceSnapshot(root, self._git, hidden, max_entries, self._stand_ins)
        self._tree = FileTree(str(root))
        self._blobs = BlobStore(folder / "blobs")
        self._log = TurnLog(folder / "turns.jsonl", on_trouble)
        self._keeper = ContentStore(self._blobs, self._git, self._log, limit_bytes, self._needed)
        self._pending: dict[str, _Pending] = {}
        self._watches: set[CommandWatch] = set()
        self._gave_up = ""
        self._lock: int | None = None

    def open(self) -> None:
        """Reads what an earlier run left. Raises OSError when the folder can't be used."""
        if self._lock is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = lock(self._folder)
        self._blobs.open()
        self._log.load()
        prune_others(self._folder)

    def close(self) -> None:
        for watch in self._watches:
            if watch.writes is not None:
                watch.writes.close()
        self._log.close()
        self._blobs.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin_turn(self, text: str) -> None:
        """What changes from here on is this turn's. With a job of an earlier turn still at work, a look draws
        the line: what happened between the turns may be the person's, and is nobody's."""
        self.end_turn()
        self._log.begin(text)
        self._git.find()
        self._gave_up = ""
        if self._watches:
            self._look()

    def end_turn(self) -> None:
        """Takes the last after-images; a walk only when a command of this turn is still at work."""
        if self._log.running is None:
            return
        self.settle()
        running = self._running_watches()
        if running:
            self._attribute(self._look(), running)
        self._pending.clear()
        self._log.end()

    @property
    def is_waiting(self) -> bool:
        """Whether `settle` has anything to do."""
        return bool(self._pending)

    def capture(self, path: Path) -> None:
        """Keeps what stands at `path`; where that is a link, also what it leads to."""
        self.open()
        self.settle()
        self._keeper.begin()
        real = Path(os.path.realpath(path))
        names = frozenset(self._name(one) for one in (Path(os.path.realpath(path.parent)) / path.name, real))
        for name in sorted(names):
            self._capture(name, names)

    def _capture(self, name: str, call: frozenset[str]) -> None:
        try:
            if ".git" in name.split("/"):
                image, why = None, "it is git's own"
            else:
                image, why = self._watcher.look_at(name, self._keeper, MAX_CAPTURE_BYTES)
        except OSError as error:
            image, why = None, error.strerror or str(error)
        if image is None:
            self._log.lose(name, why)
            self._log.tell(f"The change of {name!r} can't be undone: {why}.")
            return
        self._pending[name] = _Pending(image, time.monotonic(), call)
        for folder in self._missing_folders(name):
            self._pending.setdefault(folder, _Pending(ABSENT, time.monotonic(), call))

    def settle(self) -> None:
        """Takes the after-images of what was captured and has changed since."""
        now = time.monotonic()
        acted: set[frozenset[str]] = set()
        for name, pending in list(self._pending.items()):
            try:
                image, why = self._watcher.look_at(name, self._keeper, MAX_CAPTURE_BYTES)
            except OSError as error:
                image, why = None, error.strerror or str(error)
            if image is None:
                self._log.lose(name, why)
            elif image != pending.before:
                self._log.record(FileChange(name, pending.before, image))
                if name in pending.call:
                    acted.add(pending.call)
            elif now - pending.at < _PATIENCE_S:
                continue
            del self._pending[name]
        self._pending = {name: one for name, one in self._pending.items() if one.call not in acted}

    def before_command(
        self, expected: ExpectedEffects = UNKNOWN, earlier: CommandWatch | None = None
    ) -> CommandWatch:
        """`earlier` is the watch of the same command that has ended: its writes go on being counted."""
        self.open()
        self.settle()
        writes = earlier.writes if earlier is not None else None
        if writes is None:
            writes = WriteCounts(self._root, expected.named(), expected.trees())
        try:
            watch = self._watched(expected, writes)
        except BaseException:
            writes.close()  # nobody else knows of it
            raise
        self._watches.add(watch)
        return watch

    def _watched(self, expected: ExpectedEffects, writes: WriteCounts) -> CommandWatch:
        look = self._look()
        running = self._running_watches()
        if running:
            self._attribute(look, running)
            for watch in self._watches:
                watch.seen.update(dict.fromkeys(change.path for change in look.changes))
        if self._keeper.trouble:
            self._log.tell(
                f"This turn can't be undone as a whole: files could not be kept ({self._keeper.trouble})."
            )
        stamp = self._git.history_stamp()
        return CommandWatch(self._log.running, look.gave_up, stamp, expected=expected, writes=writes)

    def after_command(
        self, watch: CommandWatch, ended_ns: int = 0, *, goes_on: bool = False, exit_status: int | None = None
    ) -> CommandEffects:
        """What changed since the last look. It is the command's where its line explains it and its turn still
        runs; of a job that ends later it can't be told apart from what the person did, and is named but never
        undone. `ended_ns` is when the command had ended, by the clock of file times; 0 while it `goes_on`.
        `exit_status` shows which parts of its line have run; None where that isn't known."""
        watch.exit_status = None if goes_on else exit_status
        try:
            return self._after(watch, ended_ns)
        finally:
            self._watches.discard(watch)
            if not goes_on and watch.writes is not None:
                watch.writes.close()

    def _after(self, watch: CommandWatch, ended_ns: int) -> CommandEffects:
        self.settle()
        if watch.gave_up:
            reason = f"what the command changed: {watch.gave_up}"
            self._log.lose(reason, "")
            self._log.tell(f"What commands change here can't be undone: {watch.gave_up}.")
            return CommandEffects(tuple(watch.seen), (reason,))
        look = self._look()
        if look.gave_up:
            return CommandEffects(tuple(watch.seen), (f"what the command changed: {look.gave_up}",))
        lost = dict(look.lost)
        if self._git.history_stamp() != watch.history_stamp:
            lost[_HISTORY] = ""
        if watch.turn is not None and watch.turn is self._log.running:
            look.lost = lost
            running = self._running_watches()
            self._attribute(look, running, ended_ns if running == [watch] else 0)
        else:
            lost.update({change.path: "changed after its turn" for change in look.changes})
        changed = dict.fromkeys([*watch.seen, *(change.path for change in look.changes)])
        doubtful = tuple(sorted(watch.doubtful))
        return CommandEffects(tuple(sorted(changed)), not_undoable(lost, look.ignored), doubtful)

    def undo(self, also: Sequence[str] | None = ()) -> UndoReport:
        """Takes back the last turn; of the changes that may be the user's, those that `also` names (None:
        all). Right after an undo that left some alone, `also` takes these."""
        self._check_idle()
        self.open()
        turn = self._left_alone(also) or self._log.history.to_undo()
        chosen = self._chosen(turn, also)
        skipped = {name: why for one in self._log.history.above(turn) for name, why in one.lost.items()}
        if turn is None:
            return UndoReport("undo", not_undoable=not_undoable(skipped, []))
        outcome = self._restored(turn.to_undo(chosen))
        done = [change.path for change in outcome.done]
        self._log.undone(
            turn,
            tuple(path for path in done if path not in chosen),
            tuple(path for path in done if path in chosen),
        )
        return self._report("undo", turn, outcome, turn.lost | skipped)

    def redo(self) -> UndoReport:
        self._check_idle()
        self.open()
        turn = self._log.history.to_redo()
        if turn is None or turn.undone is None:
            return UndoReport("redo")
        outcome = self._restored(turn.to_redo())
        self._log.redone(turn)
        return self._report("redo", turn, outcome, turn.lost)

    def turns(self) -> tuple[TurnView, ...]:
        return tuple(turn_view(turn) for turn in tuple(self._log.history) if not turn.is_empty)

    def last_turn(self) -> TurnFiles | None:
        self.open()
        turn = self._log.last
        return None if turn is None else TurnFiles(turn_view(turn), dict(turn.changes))

    def contents(self, images: Sequence[FileState]) -> list[bytes | None]:
        """The bytes of files as they were, as far as they are still kept."""
        self.open()
        fetched = self._keeper.fetch(images)
        return [fetched.get(image.digest) or self._keeper.stored(image) for image in images]

    def not_covered(self) -> tuple[str, ...]:
        """What no undo brings back, as far as it is known: ignored files, and those that were not kept."""
        return not_undoable(self._watcher.uncovered, self._watcher.ignored)

    def _restored(self, changes: Iterable[FileChange]) -> RestoreResult:
        with self._mounts.settled():
            in_use = {self._name(path) for path in self._mounts.in_use()}
            stand_ins, ignored = self._stand_ins.names(), self._watcher.all_ignored()
            return Restorer(self._tree, self._keeper, changes, in_use, stand_ins, ignored).run()

    def _look(self) -> SnapshotDiff:
        """One look; after one that gave up, none is tried again in the same turn."""
        if self._gave_up:
            return SnapshotDiff(gave_up=self._gave_up)
        look = self._watcher.look(self._keeper)
        self._gave_up = look.gave_up
        return look

    def _running_watches(self) -> list[CommandWatch]:
        """The commands of the turn that runs."""
        turn = self._log.running
        return [watch for watch in self._watches if turn is not None and watch.turn is turn]

    def _attribute(self, look: SnapshotDiff, running: Sequence[CommandWatch], ended_ns: int = 0) -> None:
        """Gives the turn what its commands explain. What they don't may be the user's; what a job of an
        earlier turn explains is nobody's here."""
        explained = self._explained(look, running, ended_ns)
        others = [watch for watch in self._watches if watch not in running]
        elsewhere = self._explained(look, others) if len(explained) < len(look.changes) else set()
        names = dict.fromkeys(watch.expected.command for watch in running if watch.expected.command)
        for change in look.changes:
            if change.path in explained:
                self._log.record(change)
            elif change.path not in elsewhere:
                self._log.doubt(change, ", ".join(names))
                for watch in running:
                    watch.doubtful[change.path] = None
        for name, why in look.lost.items():
            self._log.lose(name, why)

    def _explained(self, look: SnapshotDiff, watches: Sequence[CommandWatch], ended_ns: int = 0) -> set[str]:
        """The paths whose change one of these commands explains."""
        if not look.changes:
            return set()
        files = SourceFiles(self._watcher.files_before(look.changes))
        found: set[str] = set()
        for watch in watches:
            writes = watch.writes.of if watch.writes is not None else (lambda path: None)
            facts = AttributionContext(
                self.contents, writes, files.digests_below, look.changed_at_ns, ended_ns, watch.exit_status
            )
            found |= Attribution(watch.expected, look.changes, self._git, facts).explained()
        return found

    def _left_alone(self, also: Sequence[str] | None) -> TurnRecord | None:
        """The turn that was undone last, when it has left alone what is asked for now."""
        turn = self._log.history.to_redo()
        if turn is None or (also is not None and not also) or not turn.doubtful():
            return None
        return turn if also is None or _selected(turn.doubtful(), also) else None

    def _chosen(self, turn: TurnRecord | None, also: Sequence[str] | None) -> set[str]:
        """Raises ForgeError for a name that isn't among those left alone."""
        known = turn.doubtful() if turn is not None else []
        if also is None:
            return set(known)
        for name in also:
            if not _selected(known, [name]):
                listed = ", ".join(map(safe_line, known[:_MAX_NAMED])) or "none"
                raise ForgeError(
                    f"{safe_line(name)!r} is not among the files that may be yours. They are: {listed}."
                )
        return set(_selected(known, also))

    def _check_idle(self) -> None:
        if self._log.running is not None:
            raise ForgeError("A turn is running. Interrupt it, or wait for its end, before you undo.")

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else str(path)

    def _needed(self) -> set[str]:
        """Blobs that no turn refers to yet."""
        return self._watcher.digests() | {pending.before.digest for pending in self._pending.values()}

    def _missing_folders(self, name: str) -> Iterator[str]:
        """The folders that a tool makes to write `name`. A stand-in counts as missing: it goes by itself."""
        folder = name.rpartition("/")[0]
        stand_ins = self._stand_ins.names()
        while folder and (folder in stand_ins or self._tree.status(folder) is None):
            yield folder
            folder = folder.rpartition("/")[0]

    def _report(
        self, kind: Literal["undo", "redo"], turn: TurnRecord, outcome: RestoreResult, lost: dict[str, str]
    ) -> UndoReport:
        done = outcome.done
        return UndoReport(
            kind,
            turn.number,
            turn.text,
            restored=tuple(sorted(change.path for change in done if change.after != ABSENT)),
            deleted=tuple(sorted(change.path for change in done if change.after == ABSENT)),
            conflicts=tuple(sorted(outcome.conflicts, key=lambda conflict: conflict.name)),
            not_undoable=not_undoable(lost, []),
            doubtful=tuple((path, turn.doubts[path].command) for path in turn.doubtful()),
            touched=tuple(self._root / change.path for change in done),
        )


def _selected(paths: Sequence[str], names: Sequence[str]) -> list[str]:
    """Those of `paths` that a name means: the path, a folder above it, or a pattern."""
    wanted = [name.removeprefix("./").rstrip("/") for name in names]
    return [
        path
        for path in paths
        if any(path == one or path.startswith(one + "/") or fnmatchcase(path, one) for one in wanted)
    ]
