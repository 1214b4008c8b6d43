"""A job on a node of the cluster: the engine `local` runs it there; its files are sent while they grow."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

from forge_core import __version__
from forge_core.batch.engine import MAX_FILE_BYTES, BatchJob, JobResult
from forge_core.batch.local_engine import LocalEngine
from forge_core.config.load import state_dir
from forge_core.errors import ForgeError
from forge_core.exit_codes import ExitCode
from forge_core.integrations.ray.node_files import JOB_FILES, FilePart, GrowingFile, scratch_folder
from forge_core.runtime import load_session_config

_POLL_S = 0.25
"""Between looks at files that grow."""
_MEGABYTES = MAX_FILE_BYTES // 1_000_000
_RAY_VARIABLES = ("RAY_", "SPT_NOENV", "PYTHONBREAKPOINT")
"""How the names of variables begin that Ray sets for its workers alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequest:
    """What a node needs to run a job."""

    job: BatchJob
    arguments: tuple[str, ...]
    """What follows the path of Python in the argument vector of `forge`."""
    environ: Mapping[str, str] = field(repr=False)
    """Set for Forge in addition to the node's environment, not for `verify`: settings and keys."""
    version: str
    """Of the driver's Forge."""
    host: str
    """The name of the driver's machine."""


class NodeJob:
    """Runs one job, as an actor: in a process of its own, which ends with the driver."""

    def __init__(self) -> None:
        self._is_cancelled = asyncio.Event()

    async def run(self, request: NodeRequest) -> AsyncIterator[FilePart | JobResult]:
        """Run the job to its end: yield the parts of its files in their order, and at last the result."""
        yield FilePart(name="", data=b"")  # says that the job does not wait for a node any more
        if request.version != __version__:
            text = f"this node has Forge {__version__}, the driver {request.version}"
            yield JobResult(exit_code=int(ExitCode.USAGE), notes=(text,))
            return
        own = {name: value for name, value in os.environ.items() if not name.startswith(_RAY_VARIABLES)}
        environ = {**own, **request.environ}
        with scratch_folder(state_dir(environ) / "batch") as scratch:
            try:
                config = await asyncio.to_thread(load_session_config, scratch, environ=environ)
            except ForgeError as error:
                yield JobResult(exit_code=int(ExitCode.USAGE), notes=(str(error),))
                return
            engine = LocalEngine((sys.executable, *request.arguments), config, environ)
            files = [GrowingFile(scratch / name) for name in JOB_FILES]
            work = asyncio.ensure_future(engine.submit(replace(request.job, folder=str(scratch))))
            cancelling = asyncio.ensure_future(self._cancel_when_asked(engine, request.job.id))
            try:
                while True:
                    is_over = work.done()
                    for part in (part for one in files for part in one.read()):
                        yield part
                    if is_over:
                        break
                    await asyncio.wait([work], timeout=_POLL_S)
                notes = [
                    f"{one.path.name} is over {_MEGABYTES} MB, and was cut" for one in files if one.is_cut
                ]
                result = work.result()
                yield replace(
                    result,
                    notes=(*result.notes, *notes),
                    worktree=_at_host(result.worktree, request.host),
                )
            finally:
                cancelling.cancel()
                await engine.close()

    async def cancel(self) -> None:
        """Interrupt the job as Ctrl-C does."""
        self._is_cancelled.set()

    async def _cancel_when_asked(self, engine: LocalEngine, job_id: str) -> None:
        await self._is_cancelled.wait()
        engine.cancel(job_id)


def _at_host(path: str, driver: str) -> str:
    """Return a path as it is found from the driver's machine: HOST:PATH if it is on another one."""
    host = socket.gethostname()
    return f"{host}:{path}" if path and host != driver else path
