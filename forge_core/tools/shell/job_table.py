"""The commands of a session: those in the foreground, and the background jobs with their numbers."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from forge_core.errors import ToolError
from forge_core.sanitize import safe_line
from forge_core.tools.shell.job import Job, JobState
from forge_core.tools.shell.limits import CommandLimits, UsageWatch
from forge_core.tools.shell.process_io import temporary_tasks

MAX_RUNNING_JOBS = 16
MAX_ENDED_KEPT = 32
"""Ended jobs that can still be asked for; the oldest go first."""
SETTLE_S = 0.2
"""How long a wait for output continues after the first of it, so that a burst is complete."""
FLUSH_S = 0.2
"""Pending live output is passed on at least this often."""
_GONE_WITHIN_S = 5.0


class ForegroundOutcome(Enum):
    """Why the wait for a command in the foreground is over."""

    ENDED = auto()
    LEFT_RUNNING = auto()
    """Its shell has ended and left something running, which is a job now."""
    NO_ROOM = auto()
    """The same, but there is no room for one more job: it was ended."""
    TIMED_OUT = auto()
    INTERRUPTED = auto()
    TOOK_LONG = auto()
    """It continues as a job."""
    MOVED = auto()
    """It continues as a job because the user asked for that."""


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """Output and state of a job since the last look."""

    job: Job
    output: str
    notes: tuple[str, ...]


class JobTable:
    """All commands of a session. One per session, used from its event loop alone.

    Jobs have the numbers 1, 2, 3 ...; a command in the foreground has none yet. `aclose` ends everything.
    """

    def __init__(
        self,
        on_end: Callable[[str], None] | None = None,
        on_change: Callable[[], None] | None = None,
        limits: CommandLimits | None = None,
    ) -> None:
        self.limits = limits or CommandLimits()
        self.on_end = on_end or (lambda line: None)
        """Called with one line for the user when a job ends by itself: "job 2 (npm run dev) ended: exit code
        0 after 34 s; last line: bye"; and with one for each kind of file that it left for other programs."""
        self.on_change = on_change or (lambda: None)
        """Called when the number of running jobs changes."""
        self._jobs: dict[int, Job] = {}
        self._foreground: builtins.list[Job] = []
        self._watchers: dict[asyncio.Task[None], Job] = {}
        self._usage = UsageWatch(self.limits)
        self._last_id = 0
        self._news: builtins.list[Job] = []
        self._planted_news: builtins.list[str] = []

    def list(self) -> tuple[Job, ...]:
        """Return the running jobs and the last ended ones, oldest first."""
        return tuple(self._jobs.values())

    def news(self) -> tuple[str, ...]:
        """Return one line for the model for each job whose end it does not know yet. Each is given once."""
        lines = [
            f"{job.label} {job.outcome}; job_output {job.id} gives its output"
            for job in self._news
            if not job.is_end_reported
        ]
        for job in self._news:
            job.is_end_reported = True
        self._news.clear()
        lines += self._planted_news
        self._planted_news.clear()
        return tuple(lines)

    @property
    def running_count(self) -> int:
        """How many jobs run."""
        return sum(job.state is JobState.RUNNING for job in self._jobs.values())

    async def output(
        self, job_id: int, wait_s: float = 0, interrupted: asyncio.Event | None = None
    ) -> JobUpdate:
        """Return what it has printed since the last time, after waiting up to `wait_s` for something new or
        its end. Raise ToolError for an unknown number."""
        job = self._job(job_id)
        await _wait_for_output(job, wait_s, interrupted)
        if job.process.all_ended.is_set():
            await job.end_reported.wait()
        await job.process.look()
        has_ended = job.state is not JobState.RUNNING
        text = job.capture.take()
        job.output_arrived.clear()
        notes, job.notes = tuple(job.notes), []
        job.is_end_reported = job.is_end_reported or has_ended or job.process.shell_ended.is_set()
        return JobUpdate(job, text, notes)

    async def stop(self, job_id: int, *, by_model: bool = False) -> Job:
        """End a job and everything it has started; return when nothing is left, after about two seconds at
        most.

        A job that has ended is left as it is. The model learns from `news` that the user stopped it. Raise
        ToolError for an unknown number.
        """
        job = self._job(job_id)
        if job.state is JobState.RUNNING:
            job.is_end_reported = by_model
            job.end(JobState.STOPPED)
            self.on_change()
            if not by_model:
                self._news.append(job)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(job.process.all_ended.wait(), _GONE_WITHIN_S)
        return job

    def background_now(self, call_id: str = "") -> bool:
        """Move the command of that call (the newest one when empty) to the background, so that its call
        returns. False when there is none, or no room for one more job."""
        for job in reversed(self._foreground):
            if call_id in ("", job.call_id) and job.state is JobState.RUNNING and self.has_room:
                self.adopt(job)
                return True
        return False

    async def aclose(self) -> None:
        """End every command. Nothing is left afterwards."""
        jobs = {*self._jobs.values(), *self._foreground, *self._watchers.values()}
        for job in jobs:
            job.end(JobState.STOPPED)
        await asyncio.gather(*(job.process.killed() for job in jobs))
        if watchers := {task for task in self._watchers if not task.done()}:
            await asyncio.wait(watchers)
        await self._usage.aclose()
        for job in jobs:
            job.capture.close()
        self._news.clear()
        self._planted_news.clear()

    @property
    def has_room(self) -> bool:
        return self.running_count < MAX_RUNNING_JOBS

    def check_room(self) -> None:
        """Raise ToolError when no more jobs may run."""
        if not self.has_room:
            running = ", ".join(str(job.id) for job in self._jobs.values() if job.state is JobState.RUNNING)
            raise ToolError(
                f"{MAX_RUNNING_JOBS} jobs are running already ({running}), which is the maximum. End one "
                "with job_stop first."
            )

    async def attend(
        self, job: Job, interrupted: asyncio.Event | None, background_after_s: float
    ) -> ForegroundOutcome:
        """Wait for a command in the foreground until it ends, times out, is interrupted or becomes a job.

        It becomes a job `background_after_s` later, but not before it has started; at the user's request; or
        because its shell has left something running. Any other command has ended or is being ended on return.
        """
        self._foreground.append(job)
        self._usage.add(job.process)
        try:
            return await self._attended(job, interrupted, background_after_s)
        finally:
            self._foreground.remove(job)
            if job.id == 0:
                job.capture.close()
            if job.id == 0 and job.state is not JobState.EXITED:
                job.end(JobState.STOPPED)
                self._watch(job, self._await_leftovers(job))

    async def _attended(
        self, job: Job, interrupted: asyncio.Event | None, background_after_s: float
    ) -> ForegroundOutcome:
        loop = asyncio.get_running_loop()
        background_at = loop.time() + background_after_s
        interrupted = interrupted or asyncio.Event()
        with temporary_tasks(job.shell_done(), interrupted.wait()) as (done, interrupt):
            while True:
                # Taken before the state is read: a change in between would be missed.
                with temporary_tasks(job.changed.wait()) as [changed]:
                    if (how := self._how_attended(job, done, interrupt)) is not None:
                        return how
                    patience = background_at - loop.time()
                    if patience <= 0 and self.has_room and job.process.has_begun:
                        self.adopt(job)
                        return ForegroundOutcome.TOOK_LONG
                    pause = patience if 0 < patience < FLUSH_S else FLUSH_S
                    await asyncio.wait(
                        {done, interrupt, changed}, timeout=pause, return_when=asyncio.FIRST_COMPLETED
                    )
                job.capture.flush_live()

    def _how_attended(
        self, job: Job, done: asyncio.Task[bool], interrupt: asyncio.Task[bool]
    ) -> ForegroundOutcome | None:
        """Return the outcome; None while the command runs in the foreground."""
        if job.state is JobState.TIMED_OUT:
            job.process.read_rest()
            return ForegroundOutcome.TIMED_OUT
        if job.id:
            return ForegroundOutcome.MOVED
        if done.done():
            if done.result():
                job.end(JobState.EXITED)
                return ForegroundOutcome.ENDED
            if not self.has_room:
                return ForegroundOutcome.NO_ROOM
            job.forget_timeout()
            self.adopt(job)
            return ForegroundOutcome.LEFT_RUNNING
        if interrupt.done():
            job.end(JobState.STOPPED)
            job.process.read_rest()
            return ForegroundOutcome.INTERRUPTED
        return None

    def adopt(self, job: Job) -> None:
        """Make it a job: it gets a number, and all its output goes to a file."""
        self._last_id += 1
        job.id = self._last_id
        job.capture.end_live()
        job.capture.keep()
        self._jobs[job.id] = job
        self._forget_oldest()
        self._watch(job, self._await_end(job))
        job.announce_change()
        self.on_change()

    def _watch(self, job: Job, end: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(end)
        self._watchers[task] = job
        task.add_done_callback(lambda done: self._watchers.pop(done, None))

    async def _await_end(self, job: Job) -> None:
        """Wait for the job's end and report it once, when its shell has ended."""
        was_left_over = job.process.shell_ended.is_set()
        is_reported = False
        try:
            if not was_left_over and not await job.shell_done() and job.state is JobState.RUNNING:
                job.forget_timeout()
                self._report_end(job)
                is_reported = True
            await job.process.all_ended.wait()
            job.notes += await job.watch.end(job.process.exit_code)
        finally:
            job.capture.close()
            job.end(JobState.EXITED)
            job.end_reported.set()
            self.on_change()
        if not is_reported:
            self._report_end(job)
        self._report_planted(job)

    async def _await_leftovers(self, job: Job) -> None:
        """Wait until nothing is left of a command that did not become a job."""
        await job.process.all_ended.wait()
        await job.watch.end()
        self._report_planted(job)

    def _report_planted(self, job: Job) -> None:
        for note in job.watch.planted:
            line = f"{job.label}: {safe_line(note.strip('[]'))}"
            self._planted_news.append(line)
            self.on_end(line)

    def _report_end(self, job: Job) -> None:
        job.announce_change()
        if job.state is JobState.STOPPED:
            return
        self._news.append(job)
        self.on_end(job.report)

    def _job(self, job_id: int) -> Job:
        job = self._jobs.get(job_id)
        if job is None:
            known = ", ".join(map(str, self._jobs)) or "none yet"
            raise ToolError(f"there is no job {job_id}. The jobs are: {known}.")
        return job

    def _forget_oldest(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.state is not JobState.RUNNING]
        for number in ended[:-MAX_ENDED_KEPT]:
            del self._jobs[number]


async def _wait_for_output(job: Job, wait_s: float, interrupted: asyncio.Event | None) -> None:
    """Return when there is output that was not taken yet, the job has ended, or the time is over."""
    if not job.capture.has_news:
        job.output_arrived.clear()
    if job.state is not JobState.RUNNING or job.capture.has_news or wait_s <= 0:
        return
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    interrupted = interrupted or asyncio.Event()
    with temporary_tasks(job.changed.wait(), interrupted.wait(), job.output_arrived.wait()) as tasks:
        changed, interrupt, came = tasks
        await asyncio.wait(tasks, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        settle = min(SETTLE_S, max(until - loop.time(), 0))
        if came.done() and not interrupt.done() and settle:
            await asyncio.wait({changed, interrupt}, timeout=settle, return_when=asyncio.FIRST_COMPLETED)
