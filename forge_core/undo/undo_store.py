"""Undo for a session: the asynchronous face of `ChangeRecorder`, whose work runs on a thread of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import ParamSpec, TypeVar

from forge_core.undo.change_recorder import ChangeRecorder, CommandWatch
from forge_core.undo.expected_effects import UNKNOWN, ExpectedEffects
from forge_core.undo.file_state import FileState
from forge_core.undo.report import CommandEffects, TurnFiles, TurnView, UndoReport
from forge_core.undo.snapshot.mount_points import MountGuard, NoMounts

LIMIT_BYTES = 256 * 1024 * 1024
"""Of what one session keeps on disk."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class UndoStore:
    """Keeps what files were before the session's tools changed them, and brings it back turn by turn.

    What can be told apart: a change by a file tool is exact. One that is found after a command is the
    command's where its line, or what the line runs, explains it (see `attribution`); otherwise it may be the
    user's, and is left alone unless it is chosen. What changed between calls or turns is the user's: undo
    keeps it and names it as a conflict where the tool had been there before. A job that outlives its turn is
    no longer covered: what it writes later is named, never undone.

    Not covered: what git ignores, files over the limits in `snapshot`, and `.git`: commits stay.

    Calls are carried out in order on one thread, so a cancelled call does not leave half of its work.
    Failures of the disk never reach the tools: the call goes on, and `on_trouble` gets a sentence for the
    person (from that thread).
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
    ) -> None:
        """`root` is the workspace, `folder` this session's own, below the state folder; `private` is never
        watched, should the workspace hold it (the state folder). `mounts` knows what running sandboxes are
        mounted over."""
        self._on_trouble = on_trouble or (lambda sentence: None)
        real = Path(root).resolve()
        hidden = private.resolve() if private is not None else None
        self._recorder = ChangeRecorder(
            real, folder.resolve(), limit_bytes, hidden, self._on_trouble, max_entries, mounts or NoMounts()
        )
        self._executor: Executor | None = None
        self._failure = ""

    async def begin_turn(self, text: str) -> None:
        await self._guarded(self._recorder.begin_turn, text)

    async def end_turn(self) -> None:
        await self._guarded(self._recorder.end_turn)

    async def capture(self, path: Path) -> None:
        """Keeps what stands at `path`, before a file tool changes, makes or deletes it."""
        await self._guarded(self._recorder.capture, path)

    async def settle(self) -> None:
        """Notes what the captured files are now. To be called when a tool's call has ended, so that a later
        edit by the person is told apart from the tool's."""
        if self._recorder.is_waiting:
            await self._guarded(self._recorder.settle)

    async def before_command(self, expected: ExpectedEffects = UNKNOWN, earlier: object = None) -> object:
        """Keeps everything that a command could change. Give what comes back to `after_command`.

        `expected` is what its line explains: any other change may be the user's. Where the command has been
        watched before and goes on, `earlier` is what came back then.
        """
        known = earlier if isinstance(earlier, CommandWatch) else None
        return await self._guarded(self._recorder.before_command, expected, known)

    async def after_command(
        self, watch: object, *, goes_on: bool = False, exit_status: int | None = None
    ) -> CommandEffects:
        """What the command changed, once it (or the job that it became) has ended, or so far. `exit_status`
        is that of its shell: it shows which parts of the line have run."""
        ended_ns = 0 if goes_on else time.time_ns()
        if isinstance(watch, CommandWatch):
            effects = await self._guarded(
                self._recorder.after_command, watch, ended_ns, goes_on=goes_on, exit_status=exit_status
            )
            if effects is not None:
                return effects
        return CommandEffects(not_undoable=(f"what the command changed: {self._failure}",))

    async def undo(self, also: Sequence[str] | None = ()) -> UndoReport:
        """Brings back what stood before the last turn that changed something.

        What changed while a command ran and may be the user's is left alone, but for the paths, folders and
        patterns in `also`; None takes all of it. Right after an undo, `also` applies to what that one left.

        Raises:
            ForgeError: a turn is running, the store can't be used, or nothing was left alone by such a name.
        """
        return await self._run(self._recorder.undo, also)

    async def redo(self) -> UndoReport:
        """Takes the last undo back. Raises ForgeError like `undo`."""
        return await self._run(self._recorder.redo)

    async def load(self) -> None:
        """Reads what an earlier run of the session left, so that `turns` knows it."""
        await self._guarded(self._recorder.open)

    def turns(self) -> tuple[TurnView, ...]:
        """The turns that changed something, oldest first; of a resumed session after `load`."""
        return self._recorder.turns()

    async def last_turn(self) -> TurnFiles | None:
        """What the turn that runs has changed so far, or else the last one; None before the first."""
        return await self._guarded(self._recorder.last_turn)

    async def contents(self, images: Sequence[FileState]) -> Sequence[bytes | None]:
        """The bytes of files as they were at an image; None for what is no longer kept."""
        return await self._guarded(self._recorder.contents, images) or [None] * len(images)

    def not_covered(self) -> tuple[str, ...]:
        """What undo does not bring back here, summarised; known after the first command."""
        return self._recorder.not_covered()

    async def aclose(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.get_running_loop().run_in_executor(executor, self._recorder.close)
            executor.shutdown(wait=False)

    async def _guarded(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        """Runs `work`; a failure of the disk is told once and costs undo, never the caller's call."""
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
