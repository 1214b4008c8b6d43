"""The engine `ray`: each job of a batch is an actor on a node of a Ray cluster, which takes one CPU.

The actors belong to the driver: Ray ends them with it, also if it is killed, and starts none of them again.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge_core import __version__
from forge_core.batch.engine import BatchJob, JobResult
from forge_core.exit_codes import ExitCode
from forge_core.integrations.ray.cluster import Cluster, connect, disconnect
from forge_core.integrations.ray.node_files import JOB_FILES, FilePart
from forge_core.integrations.ray.node_job import NodeJob, NodeRequest
from forge_core.sanitize import safe_line

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig


class RayEngine:
    """The engine `ray`.

    `arguments` follow the path of Python in the argument vector of `forge`. `address` is "auto", "local" or
    HOST:PORT; a cluster that "local" starts runs `parallel` jobs at once. `notify` is called with what the
    user must know before the batch begins.
    """

    is_remote = True

    def __init__(
        self,
        arguments: Sequence[str],
        config: ForgeConfig,
        *,
        address: str,
        parallel: int,
        notify: Callable[[str], None],
    ) -> None:
        self._arguments = tuple(arguments)
        self._config = config
        self._address = address
        self._parallel = parallel
        self._notify = notify
        self._cluster: Cluster | None = None
        self._running: dict[str, tuple[RemoteJob, asyncio.Task[JobResult]]] = {}

    async def open(self) -> None:
        self._cluster = await asyncio.wrap_future(self._connected())

    async def submit(self, job: BatchJob) -> JobResult:
        assert self._cluster is not None, "open was not called"
        request = NodeRequest(
            job=job,
            arguments=self._arguments,
            environ=self._cluster.environ_for(job.env),
            version=__version__,
            host=socket.gethostname(),
        )
        remote = RemoteJob(request)
        work = asyncio.ensure_future(remote.run())
        self._running[job.id] = remote, work
        try:
            return await work
        finally:
            del self._running[job.id]

    def cancel(self, job_id: str) -> None:
        if job_id in self._running:
            self._running[job_id][0].cancel()

    async def close(self) -> None:
        works = [work for _, work in self._running.values()]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        if self._cluster is not None:
            await asyncio.to_thread(disconnect)

    def _connected(self) -> Future[Cluster]:
        """Connect in a thread, as that takes seconds. It cannot be interrupted, so the process does not wait
        for its end. It lives as long as the process, since a cluster that is started here ends with it."""
        found: Future[Cluster] = Future()

        def run() -> None:
            try:
                cluster = connect(self._address, self._parallel, self._config, self._notify)
            except BaseException as error:  # whatever it is, it is raised where it is waited for
                _settle(found, error)
            else:
                _settle(found, cluster)
            threading.Event().wait()

        threading.Thread(target=run, name="ray", daemon=True).start()
        return found


def _settle(future: Future[Cluster], outcome: Cluster | BaseException) -> None:
    with contextlib.suppress(InvalidStateError):  # nobody waits any more
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


@dataclass(slots=True, eq=False)
class RemoteJob:
    """One job while it waits for a node, or runs there."""

    request: NodeRequest
    _actor: Any = None
    _has_started: bool = field(default=False, init=False)
    _is_cancelled: bool = field(default=False, init=False)

    async def run(self) -> JobResult:
        """Run the job to its end, and write its files. Never raises for a failure of the job."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        if self._is_given_up():
            return JobResult(exit_code=int(ExitCode.INTERRUPTED))
        remote = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")
        self._actor = remote(NodeJob).remote()
        try:
            return await self._followed()
        except RayTaskError as error:
            return JobResult(exit_code=int(ExitCode.CRASH), notes=(f"it crashed: {_reason(error)}",))
        except RayError as error:
            if self._is_given_up():
                return JobResult(exit_code=int(ExitCode.INTERRUPTED))
            note = f"it was cut off: {_reason(error)}"
            return JobResult(exit_code=int(ExitCode.CRASH), notes=(note,), is_lost=True)
        except OSError as error:
            note = f"{str(error.filename)!r} cannot be written: {error.strerror}"
            return JobResult(exit_code=int(ExitCode.CRASH), notes=(note,), is_lost=True)
        finally:
            ray.kill(self._actor)  # and with it all that it still runs

    def cancel(self) -> None:
        """Interrupt the job as Ctrl-C does; one that waits for a node is given up."""
        import ray

        self._is_cancelled = True
        if self._has_started:
            self._actor.cancel.remote()
        elif self._actor is not None:
            ray.kill(self._actor)

    def _is_given_up(self) -> bool:
        """Return whether it was interrupted before it ran on a node."""
        return self._is_cancelled and not self._has_started

    async def _followed(self) -> JobResult:
        folder = Path(self.request.job.folder)
        async for reference in self._actor.run.remote(self.request):
            item = await reference
            if isinstance(item, JobResult):
                return item
            self._has_started = True
            await asyncio.to_thread(_append, folder, item)
        raise AssertionError("a job has ended without a result")


def _append(folder: Path, part: FilePart) -> None:
    if part.name in JOB_FILES:
        with (folder / part.name).open("ab") as file:
            file.write(part.data)


def _reason(error: Exception) -> str:
    """Return the end of the text of an error of Ray: the lines above it are a traceback, or figures."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return safe_line(lines[-1]) if lines else type(error).__name__
