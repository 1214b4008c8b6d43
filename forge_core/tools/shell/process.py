"""One shell command as a process: started, watched without blocking, and ended with all that it started.

The methods `communicate()` and `wait()` of asyncio wait for the pipe, which a background child keeps open:
`sleep 7000 & echo done` would take the whole timeout. So the event loop reads the pipes, and ends are watched
through pidfds (threads or polling where there are none).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.shell.environment import child_environment
from forge_core.tools.shell.process_io import (
    PipeReader,
    all_end,
    block_until_readable,
    exit_of,
    output_pipe,
    readable,
    temporary_tasks,
    wait_for_ends,
)
from forge_core.tools.shell.process_tree import (
    RunningProcess,
    descendants,
    has_only_chain,
    only_child,
    processes_of_call,
    send_signal,
)
from forge_core.tools.shell.spawning import EXIT, STARTED, LaunchSpec, spawn, supervised_argv

KILL_AFTER_S = 2.0
"""Between TERM and KILL."""

_MAX_STATUS_BYTES = 64 * 1024
_KILL_ROUNDS = 100
_GONE_WITHIN_S = 2.0
_PAUSE_STEP_S = 0.05
_MAX_PAUSE_S = 1.0
"""Between two checks for what a shell has left, when the first ones kept finding new processes."""
_BLOCKED_S = 0.5
"""How long a closing loop is held up, at most, by an end that it can no longer await."""
_SANDBOX_DEPTH = 2
"""bwrap, the first process of its namespace, the supervisor."""
_EXIT = re.compile(rb"^" + EXIT + rb"(\d+)$", re.MULTILINE)


class ShellProcess:
    """A running command. Make it with `start`, on the event loop's own thread; it ends itself when the loop
    does."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        call: str,
        output: PipeReader,
        status: int,
        resources: ExitStack,
        *,
        is_contained: bool,
    ) -> None:
        self.exit_code: int | None = None
        """Of the shell: 128 + n after signal n."""
        self.shell_ended = asyncio.Event()
        self.all_ended = asyncio.Event()
        """Set when nothing of it is left and all its output was taken."""
        self.left: tuple[RunningProcess, ...] = ()
        """What was seen running after the shell had ended."""
        self.failed_to_start = ""
        """Why the sandbox could not run it; empty when it ran."""
        self.stopped_because = ""
        """Which limit it exceeded; empty when it was not stopped for that."""
        self.stop_summary = ""
        """The same in two or three words."""
        self.has_begun = False
        """Whether the sandbox, if any, is set up, and the command has been started in it."""
        self.pid = process.pid
        """Of the supervisor, or of the sandbox around it."""
        self.is_contained = is_contained
        """Whether it has a process namespace of its own."""
        self._process = process
        self._call = call
        self._output = output
        self._status = bytearray()
        self._is_to_end = False
        """Whether it is being ended: what has not started by then never does."""
        self._namespace: int | None = None
        """A pidfd of its first process."""
        self._exit_reported = asyncio.Event()
        self._status_reader = PipeReader(status, self._read_status)
        self._resources = resources
        """Of the sandbox: let go when the command has ended."""
        self._loop = asyncio.get_running_loop()
        self._kill_timer: asyncio.TimerHandle | None = None
        self._signals: set[asyncio.Future[Any]] = set()
        self._life = self._loop.create_task(self._live())

    def terminate(self) -> None:
        """Send SIGTERM to everything it has started, and SIGKILL two seconds later to what is left.

        Return at once: a thread finds the processes.
        """
        if self.all_ended.is_set() or self._kill_timer is not None:
            return
        self._is_to_end = True
        self._kill_timer = self._loop.call_later(KILL_AFTER_S, self._in_thread, self._kill)
        self._in_thread(self._terminate)

    def stop(self, reason: str, summary: str) -> None:
        """Kill everything that it has started, at once: it has exceeded a limit."""
        if not self.all_ended.is_set():
            self.stopped_because, self.stop_summary = reason, summary
            self._is_to_end = True
            self._in_thread(self._kill)

    async def killed(self) -> None:
        """Kill it and wait until it is gone, two seconds at most: a process that hangs in the kernel cannot
        be ended."""
        if self._life.done():
            return
        self._is_to_end = True
        self._in_thread(self._kill)
        await asyncio.wait({self._life}, timeout=_GONE_WITHIN_S)
        self._life.cancel()
        await asyncio.wait({self._life, *self._signals})

    def read_rest(self) -> None:
        """Take the output that is already in the pipe."""
        self._output.read_rest()

    async def look(self) -> None:
        """Bring `left` up to date: a child has its real name only a moment after its birth."""
        if self.shell_ended.is_set() and not self.all_ended.is_set():
            self.left = tuple(await asyncio.to_thread(self._members))

    async def _live(self) -> None:
        try:
            await self._exit_status_or_end()
            self.shell_ended.set()
            # If short processes keep starting others, the checks become rarer, down to one per second.
            pause_s = 0.0
            while left := await self._left_running():
                self.left = tuple(left)
                await all_end(one.pid for one in left)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s + _PAUSE_STEP_S, _MAX_PAUSE_S)
            self.left = ()
            self._close_input()
            await exit_of(self._process)
            if self._namespace is not None:
                await readable(self._namespace, _GONE_WITHIN_S)
            # The processes have ended, but what they wrote may still be in the pipe.
            self._output.read_rest()
            self._end()
            await asyncio.to_thread(self._resources.close)
        finally:
            self._end()
            self._resources.close()

    async def _left_running(self) -> list[RunningProcess]:
        """Return what the shell has left, found without a look at every process where nothing is."""
        if has_only_chain(self._process.pid, _SANDBOX_DEPTH if self.is_contained else 0):
            return []
        return await asyncio.to_thread(self._members)

    async def _exit_status_or_end(self) -> None:
        """Return when the supervisor has reported the exit code or has ended."""
        with temporary_tasks(self._status_reader.ended.wait(), self._exit_reported.wait()) as tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if self.exit_code is not None:
            return
        code = await exit_of(self._process)
        self.exit_code = 128 - code if code < 0 else code
        if self._is_to_end and not self.has_begun:
            self.exit_code = 128 + signal.SIGTERM
        elif not self.has_begun:
            self.failed_to_start = self._status.decode("utf-8", "replace").strip() or f"exit code {code}"

    def _read_status(self, data: bytes) -> None:
        self._status += data[: _MAX_STATUS_BYTES - len(self._status)]
        if not self.has_begun and STARTED in self._status:
            if self._is_to_end:
                self._close_input()
            else:
                self._begin()
        if self.exit_code is None and (found := _EXIT.search(self._status + data)):
            self.exit_code = int(found[1])
            self._exit_reported.set()

    def _begin(self) -> None:
        """Let the command run, once its end can be detected.

        The first process of a namespace ends only after every other, so its pidfd represents all of them.
        """
        self.has_begun = True
        if self.is_contained and (first := only_child(self._process.pid)) is not None:
            with contextlib.suppress(AttributeError, OSError):
                self._namespace = os.pidfd_open(first)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(b"\n")
                self._process.stdin.flush()

    def _members(self) -> list[RunningProcess]:
        """Return what runs of it, supervisor and sandbox left out."""
        if self._process.returncode is not None:
            return [] if self.is_contained else processes_of_call(self._call)
        return descendants(self._process.pid, besides=self._call if self.is_contained else "")

    def _terminate(self) -> None:
        for one in self._members():
            send_signal(one, signal.SIGTERM)

    def _kill(self) -> Collection[RunningProcess]:
        """Send SIGKILL to everything of it, and return what that is; it may end only later."""
        root = self._process.pid
        if self.is_contained:
            if self._namespace is not None:
                # The kernel then ends everything else in the namespace, however fast it forks.
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self._namespace, signal.SIGKILL)
            members = descendants(root)
            self._signal_group(signal.SIGKILL)
            for one in members:
                send_signal(one, signal.SIGKILL)
            return members
        if self._process.returncode is None:
            # Else it might start the command, or something in a session of its own, after the last look. The
            # whole group: a fork bomb would otherwise start more than a listing finds.
            self._signal_group(signal.SIGSTOP)
        killed: set[RunningProcess] = set()
        # A process may fork between the listing and its SIGKILL; the child is found in the next round.
        for _ in range(_KILL_ROUNDS):
            new = set(self._members()) - killed
            if not new:
                break
            for one in new:
                send_signal(one, signal.SIGKILL)
            killed |= new
        self._signal_group(signal.SIGKILL)
        return killed

    def _in_thread(self, work: Callable[[], object]) -> None:
        """Run `work` beside the loop; it belongs to this process until it is done."""
        if not self.all_ended.is_set():
            future = self._loop.run_in_executor(None, work)
            self._signals.add(future)
            future.add_done_callback(self._signals.discard)

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _end(self) -> None:
        """Leave nothing behind, also when the loop is closing and this was cancelled."""
        if self.all_ended.is_set():
            return
        if self._process.poll() is None:
            killed = self._kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_BLOCKED_S)
            if self._namespace is not None:
                block_until_readable(self._namespace, _BLOCKED_S)
            else:
                wait_for_ends((one.pid for one in killed), _BLOCKED_S)
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        self._close_input()
        self._status_reader.close()
        self._output.close()
        if self._namespace is not None:
            os.close(self._namespace)
            self._namespace = None
        if self.exit_code is None:
            self.exit_code = 128 + signal.SIGKILL
        self.shell_ended.set()
        self.all_ended.set()


async def start_process(spec: LaunchSpec, take: Callable[[bytes], None]) -> ShellProcess:
    """Start the command; its output goes to `take` on the event loop. Raise ToolError when that fails."""
    call = uuid.uuid4().hex
    environment = child_environment(spec.environment, call=call) | dict(spec.variables)
    is_contained = spec.sandbox is not None and spec.sandbox.state.kind == "bubblewrap"
    argv = supervised_argv(
        spec.command, call, spec.folder, environment["PATH"], spec.limits, adopts_orphans=not is_contained
    )
    output_end, output = output_pipe()
    status_end, status = os.pipe()
    resources = ExitStack()
    try:
        process = await spawn(spec, argv, environment, resources, output, status)
    except BaseException as error:
        os.close(output_end)
        os.close(status_end)
        resources.close()
        if not isinstance(error, OSError | ValueError | subprocess.SubprocessError):
            raise
        raise ToolError(f"the command could not be started in {str(spec.folder)!r}: {error}") from error
    finally:
        os.close(output)
        os.close(status)
    reader = PipeReader(output_end, take)
    return ShellProcess(process, call, reader, status_end, resources, is_contained=is_contained)
