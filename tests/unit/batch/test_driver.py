"""When the driver starts and interrupts tasks, shown with an engine whose jobs last until they are interrupted."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from pathlib import Path

from forge_core.batch.batch_log import BatchLog
from forge_core.batch.driver import BatchDriver, BatchOptions
from forge_core.batch.engine import BatchJob, JobResult
from forge_core.batch.progress import Progress
from forge_core.batch.task_file import BatchTask
from forge_core.exit_codes import ExitCode
from forge_core.workspace.worktrees import Worktrees


class LastingJobs:
    """An engine. The first job closes the terminal as soon as it runs."""

    is_remote = False

    def __init__(self) -> None:
        self.cancelled: dict[str, asyncio.Event] = {}

    async def open(self) -> None:
        pass

    async def submit(self, job: BatchJob) -> JobResult:
        if not self.cancelled:
            os.kill(os.getpid(), signal.SIGHUP)
        self.cancelled[job.id] = asyncio.Event()
        await self.cancelled[job.id].wait()
        return JobResult(exit_code=ExitCode.INTERRUPTED)

    def cancel(self, job_id: str) -> None:
        if job_id in self.cancelled:
            self.cancelled[job_id].set()

    async def close(self) -> None:
        pass


async def test_no_task_that_is_about_to_start_escapes_an_interrupt(tmp_path: Path) -> None:
    tasks = [BatchTask(id=f"t{n}", prompt="x", repo=str(tmp_path)) for n in range(3)]
    for task in tasks:  # what is to be moved away before a start takes a while
        folder = tmp_path / "tasks" / task.id
        folder.mkdir(parents=True)
        for number in range(500):
            (folder / str(number)).touch()
    log = BatchLog(tmp_path)
    engine, progress = LastingJobs(), Progress(io.StringIO())
    driver = BatchDriver(tasks, log, engine, BatchOptions(out=tmp_path), Worktrees(tmp_path), progress)
    async with asyncio.timeout(60):
        assert await driver.run() == 128 + signal.SIGHUP
    log.close()
    assert "t0" in engine.cancelled
    assert all(row.status in ("interrupted", "not started") for row in driver.rows())
