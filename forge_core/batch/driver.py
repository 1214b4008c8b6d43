"""Drives a batch: starts tasks within its limits, records every start and end, retries, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from forge_core.batch.batch_log import BatchLog
from forge_core.batch.engine import EVENTS_FILE, STDERR_FILE, BatchJob, Engine, JobResult
from forge_core.batch.event_figures import EventReader, RunFigures
from forge_core.batch.limits import BatchBudget, Parallelism
from forge_core.batch.outcomes import AttemptOutcome, TaskStatus, judge
from forge_core.batch.progress import Overview, Progress, RunningTask
from forge_core.batch.results import ResultRow, is_ended, row_of, write_results
from forge_core.batch.task_file import BatchTask
from forge_core.batch.task_folder import archive, last_line, settled_figures, task_folder
from forge_core.exit_codes import ExitCode
from forge_core.workspace.clones import repository_of
from forge_core.workspace.worktrees import Worktrees

RESULT_FILE = "result.json"
_POLL_S = 0.5
"""Between looks at the events of running tasks."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ERROR_CHARS = 500
_WITHOUT_ERROR = (ExitCode.COMPLETE, ExitCode.UNFINISHED, ExitCode.INTERRUPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """What the command line of a batch says."""

    out: Path
    parallel: int = 8
    max_cost_usd: Decimal | None = None
    max_cost_each_usd: Decimal | None = None
    max_tokens: int | None = None
    """For each task."""
    retries: int = 2
    retry_failed: bool = False
    """Whether tasks that have ended otherwise than complete and verified are started again."""
    trust: bool = False
    """Whether the repositories' own rules and instructions count."""
    retry_wait_s: float = 30.0
    """Before the first retry; twice as long before each further one."""
    quiet_s: float = 120.0
    """Without a limited rate, after which one more task runs at once."""

    def wait_before_retry_s(self, tries: int) -> float:
        """Return how long a task waits that has failed so many times."""
        return self.retry_wait_s * 2.0 ** (tries - 1)


@dataclass(slots=True, eq=False)
class _Pending:
    """A task that is to be started."""

    task: BatchTask
    tries: int = 0
    """By this call of the command."""
    not_before: float = 0.0
    """By the monotonic clock."""


@dataclass(slots=True, eq=False)
class _Running:
    pending: _Pending
    job: BatchJob
    events: EventReader
    work: asyncio.Task[JobResult]
    started: float
    rate_limits: int = 0
    """Those that were seen."""


@dataclass(slots=True, eq=False)
class BatchDriver:
    """One call of the command. The record must be held by it alone."""

    tasks: Sequence[BatchTask]
    log: BatchLog
    engine: Engine
    options: BatchOptions
    worktrees: Worktrees
    progress: Progress
    _budget: BatchBudget = field(init=False)
    _parallelism: Parallelism = field(init=False)
    _pending: list[_Pending] = field(default_factory=list)
    _running: dict[str, _Running] = field(default_factory=dict)
    _opening: asyncio.Future[None] | None = None
    """The engine's start, while it takes its time."""
    _stopping: str = ""
    """Why nothing more is started."""
    _is_interrupting: bool = False
    """Whether running tasks are to end."""
    _breaker: str = ""
    _signals: list[signal.Signals] = field(default_factory=list)

    def __post_init__(self) -> None:
        options = self.options
        self._budget = BatchBudget(options.max_cost_usd, options.max_cost_each_usd, options.parallel)
        self._parallelism = Parallelism(options.parallel, options.quiet_s)

    async def run(self) -> int:
        """Run all tasks that have not ended, and return the exit code.

        Raises OSError when the record or the results cannot be written; running tasks are ended then.
        """
        for task_id, state in self.log.state.tasks.items():
            if state.open_start is not None:
                await self._record_cut_off(task_id, state.open_start)
        self._budget.spent_usd = self.log.state.spent_usd
        self._pending = [_Pending(task) for task in self.tasks if not self._is_done(task)]
        limit_usd = _text(self._budget.limit_usd)
        self.log.write({"type": "run", "tasks": len(self.tasks), "max_cost_usd": limit_usd})
        try:
            async with self._interruptible():
                if await self._opened():
                    await self._drive()
        finally:
            await self.engine.close()
            self.progress.close()
        write_results(self.options.out, self.rows())
        return self._exit_code()

    def rows(self) -> list[ResultRow]:
        """Return how the tasks stand, in the order of their file."""
        return [row_of(task, self.log.state.task(task.id)) for task in self.tasks]

    # What is to be done

    def _is_done(self, task: BatchTask) -> bool:
        state = self.log.state.task(task.id)
        if not is_ended(task, state):
            return False
        return not self.options.retry_failed or row_of(task, state).is_fine

    async def _record_cut_off(self, task_id: str, start: Mapping[str, Any]) -> None:
        """Record how an attempt has ended that an earlier call, which was killed, had started."""
        figures = await asyncio.to_thread(settled_figures, task_folder(self.options.out, task_id))
        reserved = start.get("reserved_usd")
        cost = figures.charged(
            None if reserved is None else Decimal(reserved),
            was_killed=not figures.stopped_reason,
            may_lack_events=bool(start.get("is_remote")),
        )
        worktree = str(start["worktree"])
        is_left = bool(worktree) and await self.worktrees.is_left(Path(worktree))
        record = {
            "type": "attempt",
            "id": task_id,
            "attempt": start["attempt"],
            "status": TaskStatus.CUT_OFF,
            "cost_usd": f"{cost:f}",
            "tokens": figures.tokens,
            "worktree": worktree if is_left else "",
        }
        self.log.write(record)
        self.progress.say(f"{task_id}  attempt {start['attempt']} was cut off, and starts again")

    async def _opened(self) -> bool:
        """Open the engine; return False if a signal comes first. Raises ForgeError."""
        opening = asyncio.ensure_future(self.engine.open())
        self._opening = opening
        try:
            await opening
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        finally:
            self._opening = None
        return not self._stopping

    async def _drive(self) -> None:
        while True:
            await self._start_what_fits()
            if not self._running and (self._stopping or not self._pending):
                return
            if works := [one.work for one in self._running.values()]:
                await asyncio.wait(works, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
            else:  # all that is left waits to be tried again
                await asyncio.sleep(_POLL_S)
            for running in list(self._running.values()):
                self._follow(running)
                if running.work.done():
                    await self._finish(running)
            self._check_total()
            self.progress.update(self._overview())

    # Starting

    async def _start_what_fits(self) -> None:
        self._parallelism.tick(time.monotonic())
        while not self._stopping and len(self._running) < self._parallelism.limit:
            now = time.monotonic()
            ready = next((one for one in self._pending if one.not_before <= now), None)
            if ready is None:
                return
            if not self._budget.fits(self._running_usd()):
                if not self._running:
                    self._stop(f"too little is left of ${self._budget.limit_usd:.2f} for another task")
                return
            self._pending.remove(ready)
            await self._start(ready)

    async def _start(self, pending: _Pending) -> None:
        task, state = pending.task, self.log.state.task(pending.task.id)
        folder = task_folder(self.options.out, task.id)
        await asyncio.to_thread(archive, folder, state.attempts)
        if self._stopping:  # since then
            self._pending.insert(0, pending)
            return
        attempt = state.attempts + 1
        job = BatchJob(
            id=task.id,
            attempt=attempt,
            folder=str(folder),
            repo=task.repo,
            ref=task.ref,
            worktree=f"batch-{self.log.state.key}-{task.id}-{attempt}",
            prompt=task.prompt,
            options=tuple(self._run_options(task)),
            env=task.env,
            verify=task.verify,
            time_limit_s=task.time_limit_s,
        )
        self.log.write(
            {
                "type": "start",
                "id": task.id,
                "digest": task.digest,
                "attempt": attempt,
                "reserved_usd": _text(self._budget.each_usd),
                "worktree": self._worktree_path(job),
                "is_remote": self.engine.is_remote,
            }
        )
        pending.tries += 1
        work = asyncio.ensure_future(self.engine.submit(job))
        await asyncio.sleep(0)  # only what has begun can be cancelled
        events = EventReader(folder / EVENTS_FILE)
        self._running[task.id] = _Running(pending, job, events, work, time.monotonic())
        if self._is_interrupting:
            self.engine.cancel(task.id)

    def _worktree_path(self, job: BatchJob) -> str:
        """Return where the worktree of a job will be; empty if its repository is gone: then the job fails."""
        repository = repository_of(job.repo, self.worktrees.state_dir)
        return "" if repository is None else str(self.worktrees.path_of(repository, job.worktree))

    def _run_options(self, task: BatchTask) -> list[str]:
        """Return the options of `forge run` for a task."""
        each = self._budget.each_usd
        values = {
            "--model": task.model,
            "--permission-mode": task.permission_mode,
            "--max-iterations": task.max_turns,
            "--time-limit": None if task.time_limit_s is None else f"{task.time_limit_s:f}s",
            "--max-cost": None if each is None else f"{each:f}",
            "--max-tokens": self.options.max_tokens,
        }
        named = [f"{name}={value}" for name, value in values.items() if value is not None]
        named += [f"--allow={rule}" for rule in task.allow] + [f"--deny={rule}" for rule in task.deny]
        return [*named, *(["--trust"] if self.options.trust else [])]

    # While it runs

    def _follow(self, running: _Running) -> None:
        """Read the new events of a task."""
        figures = running.events.read()
        if figures.rate_limits > running.rate_limits:
            running.rate_limits = figures.rate_limits
            if self._parallelism.rate_limited(time.monotonic()):
                count = self._parallelism.limit
                self.progress.say(
                    f"The provider limits the rate of requests: at most {count} tasks run at once."
                )

    def _check_total(self) -> None:
        if self._running and self._budget.is_reached(self._running_usd()):
            self._stop(f"the limit of ${self._budget.limit_usd:.2f} is reached")
            for task_id, one in self._running.items():
                if not one.events.figures.stopped_reason:  # what has its answer spends nothing more
                    self.engine.cancel(task_id)

    def _running_usd(self) -> list[Decimal]:
        """Return what each running task has spent so far."""
        return [one.events.figures.cost_usd for one in self._running.values()]

    def _stop(self, reason: str) -> None:
        if not self._stopping:
            self._stopping = reason
            self.progress.say(f"Nothing more is started: {reason}.")

    def _cancel_all(self) -> None:
        self._is_interrupting = True
        for task_id in self._running:
            self.engine.cancel(task_id)

    def _overview(self) -> Overview:
        now = time.monotonic()
        running = [
            RunningTask(
                one.job.id,
                now - one.started,
                one.events.figures.cost_usd,
                one.events.figures.tokens,
                one.events.figures.activity,
            )
            for one in self._running.values()
        ]
        ended = len(self.tasks) - len(self._pending) - len(running)
        return Overview(
            len(self.tasks),
            ended,
            len(self._pending),
            self._budget.spent_usd,
            self._budget.limit_usd,
            running,
            self._stopping,
        )

    # Ending

    async def _finish(self, running: _Running) -> None:
        """Record the end of an attempt, and what follows from it."""
        pending, task = running.pending, running.pending.task
        del self._running[task.id]
        result, figures = running.work.result(), running.events.read()
        folder = Path(running.job.folder)
        if not figures.error and result.exit_code not in _WITHOUT_ERROR:
            figures.error = await asyncio.to_thread(last_line, folder / STDERR_FILE)
        outcome = judge(result, figures, has_cost_limit=self._budget.each_usd is not None)
        cost = figures.charged(
            self._budget.each_usd, was_killed=not figures.stopped_reason, may_lack_events=result.is_lost
        )
        self._budget.spent_usd += cost
        is_again = outcome.may_retry and pending.tries <= self.options.retries
        is_end = outcome.is_final and not is_again
        record = _record(running.job, result, figures, outcome, cost)
        await asyncio.to_thread(_write_json, folder / RESULT_FILE, {**record, "answer": figures.answer})
        self.log.write({"type": "end" if is_end else "attempt", **record})
        self.progress.ended(row_of(task, self.log.state.task(task.id)), is_final=is_end)
        if outcome.breaker:
            self._breaker = self._breaker or outcome.breaker
            self._stop(outcome.breaker)
        if is_again and not self._stopping:
            pending.not_before = time.monotonic() + self.options.wait_before_retry_s(pending.tries)
            self._pending.append(pending)

    def _exit_code(self) -> int:
        if all(row.is_fine for row in self.rows()):
            return int(ExitCode.COMPLETE)
        if self._signals:
            ending = self._signals[-1]
            return int(ExitCode.INTERRUPTED) if ending == signal.SIGINT else 128 + ending
        return int(ExitCode.PROVIDER if self._breaker else ExitCode.UNFINISHED)

    @contextlib.asynccontextmanager
    async def _interruptible(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._receive, number)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _receive(self, number: signal.Signals) -> None:
        """Stop starting tasks at the first Ctrl-C; interrupt the running ones at the second, and at any other
        signal."""
        is_first = not self._signals and number == signal.SIGINT
        self._signals.append(number)
        self._stop("interrupted")
        if self._opening is not None:
            self._opening.cancel()
        if is_first and self._running:
            self.progress.say(f"{len(self._running)} tasks run to their end. Ctrl-C again interrupts them.")
        elif not is_first:
            self._cancel_all()


def _record(
    job: BatchJob, result: JobResult, figures: RunFigures, outcome: AttemptOutcome, cost: Decimal
) -> dict[str, Any]:
    notes = "; ".join(filter(None, (outcome.breaker, figures.error, *result.notes)))
    return {
        "id": job.id,
        "attempt": job.attempt,
        "status": outcome.status,
        "exit_code": result.exit_code,
        "stopped_reason": figures.stopped_reason,
        "verify": result.verdict,
        "cost_usd": f"{cost:f}",
        "tokens": figures.tokens,
        "calls": figures.calls,
        "seconds": round(result.duration_s, 1),
        "added": result.added,
        "removed": result.removed,
        "worktree": result.worktree,
        "kept_because": result.kept_because,
        "error": notes[:_ERROR_CHARS],
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", "utf-8", "backslashreplace")


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"
