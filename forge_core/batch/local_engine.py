"""Runs jobs on this machine: makes a worktree for each, runs `forge run` in it, keeps the diff, verifies.

A run and all that it starts are in a process group of their own, under a supervisor: they end with this
process, even if that is killed. The file of events stays locked until the last of them is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from forge_core.batch.engine import (
    EVENTS_FILE,
    MAX_FILE_BYTES,
    PATCH_FILE,
    PROMPT_FILE,
    STDERR_FILE,
    VERIFY_FILE,
    BatchJob,
    JobResult,
    Verdict,
)
from forge_core.batch.verification import verify
from forge_core.errors import ForgeError, WorkspaceError
from forge_core.exit_codes import ExitCode
from forge_core.tools.shell.process_tree import first_child
from forge_core.tools.shell.supervised import ExitReport, can_supervise, supervised
from forge_core.workspace.clones import fetch_clone, is_url, repository_of
from forge_core.workspace.git import run_git
from forge_core.workspace.repository import find_repository
from forge_core.workspace.worktrees import Worktree, Worktrees

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

T = TypeVar("T")

_LATE_S = 60.0
_GRACE_S = 30.0
"""How long an interrupted run may take to record its session."""
_VERIFY_S = 1800.0
"""For a task without a time limit."""
_GIT_S = 120.0
_PATCH_FORMAT = ("--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0")
"""That of `git apply`, over what the user has set for `git diff`."""
_LINE_BYTES = 64 * 1024
_BY_SIGNAL = 128
"""Plus the number of the signal, the exit code of a program that it has ended."""


class LocalEngine:
    """The engine `local`. `program` is the argument vector of `forge`, `environ` its environment (None: that
    of this process)."""

    is_remote = False

    def __init__(
        self, program: Sequence[str], config: ForgeConfig, environ: Mapping[str, str] | None = None
    ) -> None:
        self._program = program
        self._config = config
        self._environ = environ
        self._running: dict[str, tuple[JobRun, asyncio.Task[JobResult]]] = {}

    async def open(self) -> None:
        """Do nothing: a process needs no preparation."""

    async def submit(self, job: BatchJob) -> JobResult:
        run = JobRun(job, self._program, self._config, os.environ if self._environ is None else self._environ)
        task = asyncio.ensure_future(run.run())
        self._running[job.id] = run, task
        try:
            return await task
        finally:
            del self._running[job.id]

    def cancel(self, job_id: str) -> None:
        if job_id in self._running:
            self._running[job_id][0].cancel()

    async def close(self) -> None:
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class WorktreeChanges:
    """What a task has changed in its worktree, committed or not."""

    patch: bytes
    """For `git apply` on the commit from which it began."""
    added: int
    """Lines."""
    removed: int
    is_cut: bool = False
    """Whether the patch is too large; it is empty then."""


async def worktree_changes(worktree: Worktree, max_bytes: int = MAX_FILE_BYTES) -> WorktreeChanges:
    """Return the changes since the worktree was made, with new files that git does not ignore. The index
    stays as it is. Raises WorkspaceError when git fails."""
    repository = find_repository(worktree.path)
    if repository is None or repository.top != worktree.path:
        raise WorkspaceError(f"{str(worktree.path)!r} is no worktree any more.")
    with tempfile.TemporaryDirectory(prefix="forge-batch-") as folder:
        index = Path(folder) / "index"
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(shutil.copyfile, repository.git_dir / "index", index)
        outputs = []
        for arguments in (
            ("add", "--intent-to-add", "--all"),  # so that a diff shows new files
            ("diff", *_PATCH_FORMAT, "--binary", worktree.base),
            ("diff", "--no-color", "--numstat", worktree.base),
        ):
            done = await run_git(
                worktree.path, *arguments, timeout_s=_GIT_S, max_bytes=max_bytes, index_file=index
            )
            if done.returncode and not done.is_cut:
                raise WorkspaceError(f"git {arguments[0]} failed: {done.stderr.strip()}")
            outputs.append(done)
    _, patch, numbers = outputs
    # Each line is ADDED, REMOVED and the path, after tabs; a binary file has dashes.
    counts = [line.split("\t") for line in numbers.stdout.split("\n") if line.count("\t") > 1]
    added, removed = (sum(int(one[n]) for one in counts if one[n].isdigit()) for n in (0, 1))
    return WorktreeChanges(b"" if patch.is_cut else patch.raw, added, removed, patch.is_cut)


@dataclass(slots=True, eq=False)
class JobRun:
    """One job while it runs."""

    job: BatchJob
    program: Sequence[str]
    """The argument vector of `forge`."""
    config: ForgeConfig
    environ: Mapping[str, str]
    late_s: float = _LATE_S
    """After its time limit, a run that has not ended is interrupted."""
    _cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    _is_late: bool = False
    """Whether it was interrupted because of its time limit."""
    _notes: list[str] = field(default_factory=list)

    async def run(self) -> JobResult:
        """Run the job to its end, and return how it has ended. Never raises for a failure of the job."""
        started = time.monotonic()
        worktrees = Worktrees(self.config.state_dir)
        try:
            if (folder := await self._repository()) is None:
                return self._result(int(ExitCode.INTERRUPTED), started)
            made = await worktrees.create(folder, self.job.worktree, self.job.ref)
            self._notes += made.notices
            code = await self._forge(made)
        except (ForgeError, OSError) as error:
            self._notes.append(str(error))
            return self._result(int(ExitCode.USAGE), started, worktree=self._left_worktree(worktrees))
        changes = await self._changes(made)
        verdict = await self._verdict(made, code)
        kept = await worktrees.remove(made)
        return self._result(
            code,
            started,
            verdict=verdict,
            changes=changes,
            worktree=str(made.path) if kept else "",
            kept_because=kept,
        )

    def cancel(self) -> None:
        """Interrupt the run as Ctrl-C does; it is ended if that takes too long."""
        self._cancelled.set()

    def _result(
        self,
        code: int,
        started: float,
        *,
        verdict: Verdict = "",
        changes: WorktreeChanges | None = None,
        worktree: str = "",
        kept_because: str = "",
    ) -> JobResult:
        return JobResult(
            exit_code=code,
            verdict=verdict,
            added=None if changes is None else changes.added,
            removed=None if changes is None else changes.removed,
            worktree=worktree,
            kept_because=kept_because,
            notes=tuple(self._notes),
            duration_s=time.monotonic() - started,
        )

    def _left_worktree(self, worktrees: Worktrees) -> str:
        repository = repository_of(self.job.repo, self.config.state_dir)
        path = repository and worktrees.path_of(repository, self.job.worktree)
        return str(path) if path and path.exists() else ""

    async def _repository(self) -> Path | None:
        """Return a folder of the repository, cloned if it is elsewhere; None if the job is cancelled before.
        Raises WorkspaceError."""
        if not is_url(self.job.repo):
            return Path(self.job.repo)
        return await self._unless_cancelled(fetch_clone(self.job.repo, self.config.state_dir))

    async def _unless_cancelled(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of the work; None if the job is cancelled before its end, which ends the work."""
        working = asyncio.ensure_future(work)
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        try:
            waits: list[asyncio.Future[Any]] = [working, cancelled]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cancelled.cancel()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        return None if working.cancelled() else working.result()

    # The run

    async def _forge(self, worktree: Worktree) -> int:
        """Run `forge run` and return its exit code. Raises OSError when it cannot be started."""
        if self._cancelled.is_set():
            return int(ExitCode.INTERRUPTED)
        folder = Path(self.job.folder)
        prompt = folder / PROMPT_FILE
        await asyncio.to_thread(prompt.write_text, self.job.prompt, "utf-8")
        argv = [*self.program, "run", "--output", "stream-json", "--cwd", str(worktree.folder)]
        argv += ["--file", str(prompt), *self.job.options]
        mark = f"forge-exit-{uuid.uuid4().hex}" if can_supervise() else ""
        events = _locked_file(folder / EVENTS_FILE)
        try:
            process = await asyncio.create_subprocess_exec(
                *(supervised(mark, argv) if mark else argv),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=events,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                env={**self.environ, **self.job.env},
                start_new_session=True,
            )
        finally:
            os.close(events)
        report = ExitReport(mark)
        watching = asyncio.ensure_future(_record_stderr(process, report, folder / STDERR_FILE))
        try:
            code = await self._ended(process, watching)
        finally:
            await _end(process)
            await asyncio.wait([watching], timeout=_GRACE_S)
            watching.cancel()
        return self._exit_code(report.exit_code if report.exit_code is not None else code)

    def _exit_code(self, code: int) -> int:
        """Return the exit code of a run; if it was interrupted, also of one that has ended by a signal."""
        if code != ExitCode.INTERRUPTED and code < _BY_SIGNAL:
            return code
        if self._is_late:
            return int(ExitCode.UNFINISHED)
        return int(ExitCode.INTERRUPTED) if self._cancelled.is_set() else code

    async def _ended(self, process: asyncio.subprocess.Process, watching: asyncio.Future[Any]) -> int:
        """Return the exit code when the run has ended, or has been ended."""
        limit_s = None if self.job.time_limit_s is None else self.job.time_limit_s + self.late_s
        waiting = asyncio.ensure_future(process.wait())
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        ends: list[asyncio.Future[Any]] = [waiting, watching]
        first = asyncio.FIRST_COMPLETED
        try:
            done, _ = await asyncio.wait([*ends, cancelled], timeout=limit_s, return_when=first)
            if not done:
                self._is_late = True
                self._notes.append(f"it did not end within {limit_s:g} s, and was interrupted")
            if waiting not in done and watching not in done:
                _signal(process, signal.SIGINT)
                done, _ = await asyncio.wait(ends, timeout=_GRACE_S, return_when=first)
                if not done:
                    self._notes.append("it did not end when it was interrupted, and was killed")
            await _end(process)
            code = await waiting
        finally:
            waiting.cancel()
            cancelled.cancel()
        return _BY_SIGNAL - code if code < 0 else code

    # What is left of it

    async def _changes(self, worktree: Worktree) -> WorktreeChanges | None:
        try:
            changes = await worktree_changes(worktree)
        except (WorkspaceError, OSError) as error:
            self._notes.append(f"the changes could not be listed: {error}")
            return None
        if changes.is_cut:
            self._notes.append(f"the diff is over {MAX_FILE_BYTES // 1_000_000} MB, so it was not written")
            return changes
        await asyncio.to_thread((Path(self.job.folder) / PATCH_FILE).write_bytes, changes.patch)
        return changes

    async def _verdict(self, worktree: Worktree, code: int) -> Verdict:
        if not self.job.verify or code not in (ExitCode.COMPLETE, ExitCode.UNFINISHED):
            return ""
        found = await self._unless_cancelled(
            verify(
                self.job.verify,
                worktree,
                self.config,
                Path(self.job.folder) / VERIFY_FILE,
                variables=self.job.env,
                timeout_s=self.job.time_limit_s or _VERIFY_S,
            )
        )
        if found is None:
            self._notes.append("verify was interrupted")
            return "not run"
        if found.reason:
            self._notes.append(f"verify: {found.reason}")
        return found.verdict


async def _record_stderr(process: asyncio.subprocess.Process, report: ExitReport, path: Path) -> None:
    """Write what a run reports to a file, until it has ended."""
    assert process.stderr is not None
    waiting = bytearray()
    written = 0
    with path.open("wb") as file:
        while report.exit_code is None and (data := await process.stderr.read(_LINE_BYTES)):
            waiting += data
            report.take(waiting)
            # A line is kept until it is whole: it may be the report.
            cut = len(waiting) if len(waiting) > _LINE_BYTES else waiting.rfind(b"\n") + 1
            if written < MAX_FILE_BYTES:
                written += file.write(waiting[:cut])
                file.flush()
            del waiting[:cut]
        file.write(waiting)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a run and all that it has left."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal: SIGTERM to the supervisor, which then ends everything; SIGINT to what it runs."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not can_supervise():
            os.killpg(process.pid, number)
        elif number == signal.SIGINT and (child := first_child(process.pid)) is not None:
            os.kill(child, number)
        else:
            os.kill(process.pid, signal.SIGTERM)


def _locked_file(path: Path) -> int:
    """Create a file, lock it for the processes that will have it as their output, and return a descriptor."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd
