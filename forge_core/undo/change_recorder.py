"""Records what each turn changes. Blocking; called from one thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.private_folders import make_private_folder
from forge_core.redact import Redactor
from forge_core.undo.attribution.command_changes import Attribution, AttributionContext, SourceFiles
from forge_core.undo.attribution.write_counts import WriteCounts
from forge_core.undo.expected_effects import UNKNOWN, ExpectedEffects
from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.git_programs import bare_repositories, differing, repositories_below, steering_files
from forge_core.undo.report import (
    CommandEffects,
    TurnFiles,
    TurnView,
    UndoReport,
    not_undoable,
    turn_view,
)
from forge_core.undo.snapshot.folder_snapshots import FolderSnapshots
from forge_core.undo.snapshot.mount_points import MountGuard, relative_placeholders
from forge_core.undo.snapshot.workspace_snapshot import SnapshotDiff
from forge_core.undo.storage.blobs import BlobStore
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import FileTree, name_below
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.undo.storage.retention import lock, prune_others
from forge_core.undo.storage.turn_history import TurnRecord
from forge_core.undo.storage.turn_log import TurnLog
from forge_core.undo.turn_restorer import TurnRestorer

MAX_CAPTURE_BYTES = 64 * 1024 * 1024
"""A larger file that a file tool changes is not stored."""
_PATIENCE_S = 5.0
"""A file tool writes right after `capture`; what has not changed by then is no longer waited for."""
_HISTORY = "git's own history: commits and branches"


@dataclass(slots=True, eq=False)
class CommandWatch:
    """A command that is running."""

    turn: TurnRecord | None
    gave_up: str
    """Why the workspace could not be scanned; empty when it was."""
    history_stamp: int
    expected: ExpectedEffects
    writes: WriteCounts
    doubtful: set[str] = field(default_factory=set)
    """The paths of changes that may be the user's."""
    links: frozenset[str] = frozenset()
    """Links to other repositories in git's index when it began, and the next the files that steer git."""
    steering: dict[str, int | None] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)
    """New bare repositories."""
    unprivileged: set[str] = field(default_factory=set)
    exit_status: int | None = None


@dataclass(frozen=True, slots=True)
class _Pending:
    before: FileState
    at: float
    call: frozenset[str]
    """The names that the tool was about to change: once one has changed, the others are no longer waited
    for."""


class ChangeRecorder:
    """The undo of one session. `on_trouble` is called, from the thread, with a message for the user."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        limit_bytes: int,
        private: Path | None,
        on_trouble: Callable[[str], None],
        max_entries: int | None,
        mounts: MountGuard,
        redact: Redactor,
    ) -> None:
        self._root = root
        self._mounts = mounts
        self._folder = folder
        self._git = GitObjects(root)
        hidden = [folder, *([private] if private else [])]
        self._snapshot = FolderSnapshots(root, self._git, hidden, max_entries, mounts)
        self._tree = FileTree(root)
        self._blobs = BlobStore(folder / "blobs")
        self._log = TurnLog(folder / "turns.jsonl", on_trouble, redact)
        self._contents = ContentStore(self._blobs, self._git, self._log, limit_bytes, self._needed)
        self._restorer = TurnRestorer(
            root, self._tree, self._contents, self._log, self._git, self._snapshot, mounts
        )
        self._pending: dict[str, _Pending] = {}
        self._watches: set[CommandWatch] = set()
        self._gave_up = ""
        self._planted: set[str] = set()
        """Repositories that commands have made: what is in them is theirs."""
        self._lock: int | None = None

    def add_folder(self, folder: Path) -> None:
        """Cover a folder beside the workspace, given by its real path."""
        self._snapshot.add_folder(folder)

    def open(self) -> None:
        """Read what an earlier run left. Raises OSError when the folder cannot be used."""
        if self._lock is not None:
            return
        make_private_folder(self._folder)
        self._lock = lock(self._folder)
        self._blobs.open()
        self._log.load()
        prune_others(self._folder)

    def close(self) -> None:
        for watch in self._watches:
            watch.writes.close()
        self._log.close()
        self._blobs.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin_turn(self, text: str, at: float | None = None) -> None:
        """Attribute the changes from here on to this turn, which has begun at `at` (default: now).

        While a job of an earlier turn is running, an update of the snapshot leaves out what happened between
        the turns: it may be the user's.
        """
        self.end_turn()
        self._log.begin(text, at)
        self._git.find()
        self._gave_up = ""
        if self._watches:
            self._update()

    def end_turn(self) -> None:
        """Record the last changes; the workspace is scanned only when a command of this turn is still
        running."""
        if self._log.running is None:
            return
        self.settle()
        running = self._running_watches()
        if running:
            self._attribute(self._update(), running)
        self._pending.clear()
        self._log.end()

    @property
    def is_waiting(self) -> bool:
        """Whether `settle` has anything to do."""
        return bool(self._pending)

    def capture(self, path: Path) -> None:
        """Store what is at `path`; where that is a link, also its target."""
        self.open()
        self.settle()
        self._contents.begin()
        real = Path(os.path.realpath(path))
        names = frozenset(
            name_below(self._root, one) for one in (Path(os.path.realpath(path.parent)) / path.name, real)
        )
        for name in sorted(names):
            self._capture(name, names)

    def _capture(self, name: str, call: frozenset[str]) -> None:
        is_in_git = ".git" in name.split("/")
        state, why = (None, "it is git's own") if is_in_git else self._state_of(name)
        if state is None:
            self._log.lose(name, why)
            self._log.report(f"The change of {name!r} can't be undone: {why}.")
            return
        self._pending[name] = _Pending(state, time.monotonic(), call)
        for folder in self._missing_folders(name):
            self._pending.setdefault(folder, _Pending(ABSENT, time.monotonic(), call))

    def _state_of(self, name: str) -> tuple[FileState | None, str]:
        """Return the current state of a path, or None and why it could not be stored."""
        try:
            return self._snapshot.update_path(name, self._contents, MAX_CAPTURE_BYTES)
        except OSError as error:
            return None, error.strerror or str(error)

    def settle(self) -> None:
        """Record the changes of captured files that have changed since."""
        now = time.monotonic()
        acted: set[frozenset[str]] = set()
        for name, pending in list(self._pending.items()):
            state, why = self._state_of(name)
            if state is None:
                self._log.lose(name, why)
            elif state != pending.before:
                self._log.record(FileChange(name, pending.before, state))
                if name in pending.call:
                    acted.add(pending.call)
            elif now - pending.at < _PATIENCE_S:
                continue
            del self._pending[name]
        self._pending = {name: one for name, one in self._pending.items() if one.call not in acted}

    def before_command(
        self, expected: ExpectedEffects = UNKNOWN, earlier: CommandWatch | None = None
    ) -> CommandWatch:
        """Start watching a command. `earlier` is the previous watch of the same command: its writes are
        counted further."""
        self.open()
        self.settle()
        writes = earlier.writes if earlier else WriteCounts(self._root, expected.named(), expected.trees())
        try:
            watch = self._watched(expected, writes)
        except BaseException:
            writes.close()
            raise
        self._watches.add(watch)
        return watch

    def _watched(self, expected: ExpectedEffects, writes: WriteCounts) -> CommandWatch:
        diff = self._update()
        running = self._running_watches()
        if running:
            self._attribute(diff, running)
        if self._contents.trouble:
            self._log.report(
                f"This turn can't be undone as a whole: files could not be kept ({self._contents.trouble})."
            )
        return CommandWatch(
            self._log.running,
            diff.gave_up,
            self._git.history_stamp(),
            expected,
            writes,
            links=frozenset(self._git.links()),
            steering=self._steering_files(),
        )

    def after_command(
        self, watch: CommandWatch, ended_ns: int = 0, *, goes_on: bool = False, exit_status: int | None = None
    ) -> CommandEffects:
        """Record and return what has changed since `before_command` or the last call.

        A change is the command's where its line explains it and its turn is running. What a job changes after
        its turn cannot be distinguished from the user's changes: it is named but never undone.

        Args:
            watch: what `before_command` returned.
            ended_ns: when the command had ended, by the clock of file times; 0 while it is running.
            goes_on: whether the command is still running.
            exit_status: shows which parts of the line have run; None where it is not known.
        """
        watch.exit_status = None if goes_on else exit_status
        try:
            return self._after(watch, ended_ns)
        finally:
            self._watches.discard(watch)
            if not goes_on:
                watch.writes.close()

    def _after(self, watch: CommandWatch, ended_ns: int) -> CommandEffects:
        self.settle()
        if watch.gave_up:
            reason = f"what the command changed: {watch.gave_up}"
            self._log.lose(reason, "")
            self._log.report(f"What commands change here can't be undone: {watch.gave_up}.")
            return self._effects(watch, (reason,))
        diff = self._update()
        if diff.gave_up:
            return self._effects(watch, (f"what the command changed: {diff.gave_up}",))
        lost = dict(diff.lost)
        if self._git.history_stamp() != watch.history_stamp:
            lost[_HISTORY] = ""
        if watch.turn is not None and watch.turn is self._log.running:
            diff.lost = lost
            running = self._running_watches()
            # With several commands at work, a change after the end of this one may be another's.
            self._attribute(diff, running, ended_ns if running == [watch] else 0)
            self._record_links(watch)
        else:
            lost.update({change.path: "changed after its turn" for change in diff.changes})
        return self._effects(watch, not_undoable(lost, diff.ignored))

    def _record_links(self, watch: CommandWatch) -> None:
        """Record the links in git's index that the command added, to repositories of its own making; in a
        sandbox, all new ones."""
        for path, commit in self._git.links().items():
            is_own = watch.expected.is_confined or any(
                f"{folder}/".startswith(f"{path}/") for folder in self._planted
            )
            if is_own and path not in watch.links:
                self._log.link(path, commit)

    def _effects(self, watch: CommandWatch, lost: tuple[str, ...]) -> CommandEffects:
        return CommandEffects(
            lost,
            tuple(sorted(watch.doubtful)),
            tuple(sorted(watch.changed | differing(watch.steering, self._steering_files()))),
            tuple(sorted(watch.bare)),
            tuple(sorted(self._git.links().keys() - watch.links)),
            tuple(sorted(watch.unprivileged)),
        )

    def _steering_files(self) -> dict[str, int | None]:
        placeholders = relative_placeholders(self._root, self._mounts)
        found = steering_files(self._root, [".git", *self._snapshot.repositories])
        placeholders |= relative_placeholders(self._root, self._mounts)
        return {name: stamp for name, stamp in found.items() if name not in placeholders}

    def undo(self, also: Sequence[str] | None = (), among: Container[int] | None = None) -> UndoReport:
        """Undo the last turn, as `TurnRestorer.undo`."""
        self.open()
        return self._restorer.undo(also, among)

    def redo(self, among: Container[int] | None = None) -> UndoReport:
        self.open()
        return self._restorer.redo(among)

    def revert(
        self, number: int, text: str, changes: Sequence[FileChange], contents: Sequence[bytes] = ()
    ) -> UndoReport:
        """Revert a part of a turn, as `TurnRestorer.revert`."""
        self.open()
        return self._restorer.revert(number, text, changes, contents)

    def turns(self) -> tuple[TurnView, ...]:
        return tuple(turn_view(turn) for turn in tuple(self._log.history.turns) if not turn.is_empty)

    def last_turn(self) -> TurnFiles | None:
        self.open()
        turn = self._log.last
        if turn is None:
            return None
        net = self._log.history.with_reverts(turn)
        return TurnFiles(turn_view(net), dict(net.changes))

    def contents(self, states: Sequence[FileState]) -> list[bytes | None]:
        """Return the contents of files as they were; None for those that are no longer stored."""
        self.open()
        fetched = self._contents.fetch(states)
        return [fetched.get(state.digest) or self._contents.stored(state) for state in states]

    def not_covered(self) -> tuple[str, ...]:
        """Return what no undo restores, as far as it is known: ignored files, and those that were not
        stored."""
        return not_undoable(self._snapshot.uncovered, self._snapshot.ignored)

    def _update(self) -> SnapshotDiff:
        """Update the snapshot; after an update that gave up, none is tried again in the same turn."""
        if self._gave_up:
            return SnapshotDiff(gave_up=self._gave_up)
        drops = any(watch.expected.is_confined for watch in self._watches)
        ignored_before = self._snapshot.all_ignored()
        diff = self._snapshot.update(self._contents, is_idle=not self._watches, drops_privileges=drops)
        self._gave_up = diff.gave_up
        bare = bare_repositories(self._root, diff.changes)
        new_ignored = set(diff.ignored) - ignored_before if self._watches else ()
        in_ignored = repositories_below(self._root, new_ignored)
        if self._watches:
            self._planted |= diff.new_repositories | bare
        for watch in self._watches:
            watch.changed |= {
                one.path
                for one in diff.changes
                if one.after.kind not in (EntryKind.ABSENT, EntryKind.FOLDER)
                or one.path in diff.new_repositories
            }
            watch.changed.update(diff.lost, diff.ignored, in_ignored)
            watch.bare |= bare
            watch.unprivileged |= diff.privileged if drops else set()
        return diff

    def _is_planted(self, change: FileChange, watches: Sequence[CommandWatch]) -> bool:
        """Return whether it belongs to a repository that a command has made, or is a new file of a kind that
        counts as the command's."""
        if any(f"{change.path}/".startswith(f"{folder}/") for folder in self._planted):
            return True
        is_new = change.before == ABSENT and change.after.kind is not EntryKind.FOLDER
        return is_new and any(watch.expected.owns_new(change.path) for watch in watches)

    def _running_watches(self) -> list[CommandWatch]:
        """Return the watches of commands that belong to the running turn."""
        turn = self._log.running
        return [watch for watch in self._watches if turn is not None and watch.turn is turn]

    def _attribute(self, diff: SnapshotDiff, running: Sequence[CommandWatch], ended_ns: int = 0) -> None:
        """Record the changes that the commands of the turn explain; others may be the user's, and are
        doubtful.

        What only a job of an earlier turn explains belongs to neither, and is not recorded.
        """
        explained = self._explained(diff, running, ended_ns)
        explained |= {change.path for change in diff.changes if self._is_planted(change, running)}
        others = [watch for watch in self._watches if watch not in running]
        elsewhere = self._explained(diff, others) if len(explained) < len(diff.changes) else set()
        names = dict.fromkeys(watch.expected.command for watch in running if watch.expected.command)
        for change in diff.changes:
            if change.path in explained:
                self._log.record(change)
            elif change.path not in elsewhere:
                self._log.doubt(change, ", ".join(names))
                for watch in running:
                    watch.doubtful.add(change.path)
        for name, why in diff.lost.items():
            self._log.lose(name, why)

    def _explained(self, diff: SnapshotDiff, watches: Sequence[CommandWatch], ended_ns: int = 0) -> set[str]:
        """Return the paths whose change one of these commands explains."""
        if not diff.changes:
            return set()
        files = SourceFiles(self._snapshot.files_before(diff.changes))
        found: set[str] = set()
        for watch in watches:
            context = AttributionContext(
                self.contents,
                watch.writes.of,
                files.digests_below,
                diff.changed_at_ns,
                ended_ns,
                watch.exit_status,
            )
            found |= Attribution(watch.expected, diff.changes, self._git, context).explained()
        return found

    def _needed(self) -> set[str]:
        """Return the blobs in use that no turn refers to yet."""
        return self._snapshot.digests() | {pending.before.digest for pending in self._pending.values()}

    def _missing_folders(self, name: str) -> Iterator[str]:
        """Yield the folders that a tool creates to write `name`. A placeholder counts as missing: the sandbox
        removes it."""
        folder = name.rpartition("/")[0]
        placeholders = relative_placeholders(self._root, self._mounts)
        while folder and (folder in placeholders or self._tree.status(folder) is None):
            yield folder
            folder = folder.rpartition("/")[0]
