"""Undo for a session: the asynchronous interface of `ChangeRecorder`, which runs on a separate thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Container, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from forge_core.redact import Redactor
from forge_core.undo.change_recorder import ChangeRecorder, CommandWatch
from forge_core.undo.expected_effects import UNKNOWN, ExpectedEffects
from forge_core.undo.file_state import FileChange, FileState
from forge_core.undo.report import CommandEffects, TurnFiles, TurnView, UndoReport
from forge_core.undo.snapshot.mount_points import MountGuard, NoMounts

LIMIT_BYTES = 256 * 1024 * 1024
"""What one session may store on disk."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class UndoStore:
    """Stores what files were before the session's tools changed them, and restores it turn by turn.

    A change by a file tool is exact. A change that is found after a command is the command's where its line,
    or what the line runs, explains it (see `attribution`); otherwise it may be the user's, and is left alone
    unless it is chosen. What changed between calls or turns is the user's: undo keeps it, and reports a
    conflict where the turn had changed the same path. A job that outlives its turn is no longer covered: what
    it writes later is reported, never undone.

    Not covered: what git ignores, files over the limits in `snapshot`, and `.git`: commits stay.

    Calls run in order on one thread, so a cancelled call is still completed. Disk failures never reach the
    tools: the call continues, and `on_trouble` gets a message for the user (from that thread).
    """

    def __init__(
        self,
        root: Path,
        folder: Path,
        *,
        limit_bytes: int = LIMIT_BYTES,
        private: Path | None = None,
        on_trouble: Callable[[str], None] | None = None,
        max_entries: int | None = None,
        mounts: MountGuard | None = None,
        redact: Redactor | None = None,
        added: Sequence[Path] = (),
    ) -> None:
        """Create a store that opens its files on first use.

        Args:
            root: the workspace.
            folder: where this session's data is stored.
            limit_bytes: what it may take on disk.
            private: the state folder, which is never covered, even inside the workspace.
            on_trouble: gets a message for the user when the disk fails.
            max_entries: a larger workspace is not covered.
            mounts: the mount points of running sandboxes.
            redact: applied to messages and command lines in the list of turns; files and their paths stay
                exact.
            added: the real paths of folders beside the workspace that are covered too.
        """
        self._on_trouble = on_trouble or (lambda sentence: None)
        real = Path(root).resolve()
        hidden = private.resolve() if private is not None else None
        self._recorder = ChangeRecorder(
            real,
            folder.resolve(),
            limit_bytes,
            hidden,
            self._on_trouble,
            max_entries,
            mounts or NoMounts(),
            redact or Redactor(),
        )
        for one in added:
            self._recorder.add_folder(one)
        self._executor: Executor | None = None
        self._failure = ""

    async def add_folder(self, folder: Path) -> None:
        """Cover a folder beside the workspace, given by its real path, from now on."""
        await self._guarded(self._recorder.add_folder, folder)

    async def begin_turn(self, text: str, at: float | None = None) -> None:
        """Begin a turn; `at` is when, by default now."""
        await self._guarded(self._recorder.begin_turn, text, at)

    async def end_turn(self) -> None:
        await self._guarded(self._recorder.end_turn)

    async def capture(self, path: Path) -> None:
        """Store what is at `path`, before a file tool changes, creates or deletes it."""
        await self._guarded(self._recorder.capture, path)

    async def settle(self) -> None:
        """Record what the captured files are now. Call it when a tool call has ended, so that a later edit by
        the user is distinguished from the tool's."""
        if self._recorder.is_waiting:
            await self._guarded(self._recorder.settle)

    async def before_command(self, expected: ExpectedEffects = UNKNOWN, earlier: object = None) -> object:
        """Store everything that a command could change; return a handle for `after_command`.

        `expected` are the effects of its line: any other change may be the user's. For a command that has
        been watched before and is still running, `earlier` is the previous handle.
        """
        known = earlier if isinstance(earlier, CommandWatch) else None
        return await self._guarded(self._recorder.before_command, expected, known)

    async def after_command(
        self, watch: object, *, goes_on: bool = False, exit_status: int | None = None
    ) -> CommandEffects:
        """Return what the command changed, once it (or the job that it became) has ended, or so far.

        `exit_status` is that of its shell: it shows which parts of the line have run.
        """
        ended_ns = 0 if goes_on else time.time_ns()
        if isinstance(watch, CommandWatch):
            effects = await self._guarded(
                self._recorder.after_command, watch, ended_ns, goes_on=goes_on, exit_status=exit_status
            )
            if effects is not None:
                return effects
        return CommandEffects(not_undoable=(f"what the command changed: {self._failure}",))

    async def undo(self, also: Sequence[str] | None = ()) -> UndoReport:
        """Undo the last turn that changed something.

        What changed while a command ran and may be the user's is left alone, except for the paths, folders
        and patterns in `also`; None means all of it. Right after an undo, `also` applies to what that one
        left alone.

        Raises:
            ForgeError: a turn is running, or a name in `also` selects nothing that was left alone.
        """
        return await self._run(self._recorder.undo, also)

    async def redo(self) -> UndoReport:
        """Redo the last undo. Raises ForgeError while a turn is running."""
        return await self._run(self._recorder.redo)

    async def revert(
        self, number: int, text: str, changes: Sequence[FileChange], contents: Sequence[bytes] = ()
    ) -> UndoReport:
        """Make `changes`, which revert a part of turn `number`: all of them, or none if there is a conflict.

        The list of turns shows it as a separate turn named `text`, to which undo and redo apply; `last_turn`
        counts it as a part of turn `number`. `contents` are the bytes of files that no turn has recorded.

        Raises:
            ForgeError: a turn is running, or the contents cannot be stored.
        """
        return await self._run(self._recorder.revert, number, text, changes, contents)

    async def undo_turns(self, numbers: Container[int]) -> list[UndoReport]:
        """Undo the last turns, down to the first one that is not among `numbers`; return their reports in
        this order. Raises ForgeError while a turn is running."""
        return await self._repeated(partial(self._recorder.undo, (), numbers))

    async def redo_turns(self, numbers: Container[int]) -> list[UndoReport]:
        """Redo undone turns, up to the first one that is not among `numbers`, like `undo_turns`."""
        return await self._repeated(partial(self._recorder.redo, numbers))

    async def _repeated(self, step: Callable[[], UndoReport]) -> list[UndoReport]:
        reports: list[UndoReport] = []
        while (report := await self._run(step)).turn:
            reports.append(report)
        return reports

    async def load(self) -> None:
        """Read what an earlier run of the session left, so that `turns` includes it."""
        await self._guarded(self._recorder.open)

    def turns(self) -> tuple[TurnView, ...]:
        """Return the turns that changed something, oldest first; for a resumed session only after `load`."""
        return self._recorder.turns()

    async def last_turn(self) -> TurnFiles | None:
        """Return what the running turn has changed so far, or else the last turn, without what `revert` has
        reverted of it; None before the first."""
        return await self._guarded(self._recorder.last_turn)

    async def contents(self, states: Sequence[FileState]) -> Sequence[bytes | None]:
        """Return the contents of files in these states; None for those that are no longer stored."""
        return await self._guarded(self._recorder.contents, states) or [None] * len(states)

    def not_covered(self) -> tuple[str, ...]:
        """Return a summary of what undo does not restore here; known after the first command."""
        return self._recorder.not_covered()

    async def aclose(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.get_running_loop().run_in_executor(executor, self._recorder.close)
            executor.shutdown(wait=False)

    async def _guarded(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        """Run `work`; a disk failure is reported once and never raised."""
        try:
            return await self._run(work, *args, **kwargs)
        except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
            reason = getattr(error, "strerror", None) or str(error)
            if reason != self._failure:
                self._failure = reason
                self._on_trouble(f"What tools change can't be undone for now: {reason}.")
            return None

    async def _run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self._executor = ThreadPoolExecutor(1, "forge-undo")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: work(*args, **kwargs))
