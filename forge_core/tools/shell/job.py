"""One command of the session while it runs and after: in the foreground, or a job with a number."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from enum import StrEnum

from forge_core.durations import time_so_far
from forge_core.sanitize import safe_line
from forge_core.tools.shell.capture import OutputCapture
from forge_core.tools.shell.effects import EffectsWatch
from forge_core.tools.shell.process import ShellProcess, start_process
from forge_core.tools.shell.process_tree import RunningProcess
from forge_core.tools.shell.spawning import LaunchSpec

PIPE_GRACE_S = 0.3
"""How long what the shell left running is awaited after its end."""
_LOOKS = 20
"""Checks for remaining processes, at most: a process that hangs in the kernel may never end."""
_SHOWN_COMMAND = 60
_SHOWN_LINE = 120
_SHOWN_PROCESSES = 5


class JobState(StrEnum):
    RUNNING = "running"
    EXITED = "exited"
    STOPPED = "stopped"
    TIMED_OUT = "timed out"


class Job:
    """A command; nothing runs before `begin`. Command and output are foreign text."""

    def __init__(
        self,
        spec: LaunchSpec,
        capture: OutputCapture,
        watch: EffectsWatch,
        *,
        call_id: str,
        timeout_s: float | None,
    ) -> None:
        self.process: ShellProcess
        self.id = 0
        """Its number once it is in the background; 0 in the foreground."""
        self.spec = spec
        self.capture = capture
        self.watch = watch
        self.call_id = call_id
        self.timeout_s = timeout_s
        """After this time, counted from its start, it is stopped; None: with the session."""
        self.state = JobState.RUNNING
        self.notes: list[str] = []
        """Notes for the model with the next output."""
        self.end_reported = asyncio.Event()
        """Set when it has ended as a job and everything about that is known."""
        self.is_end_reported = False
        """Whether the model knows of its end."""
        self.output_arrived = asyncio.Event()
        """Set by each piece of output; cleared by who waits for it."""
        self.changed = asyncio.Event()
        """Set when its state next changes; replaced then. Take it before looking at the state."""
        self._started = time.monotonic()
        self._ended: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        """Start it, once. Raise ToolError when that fails."""
        self.process = await start_process(self.spec, self._take)
        if self.timeout_s is not None:
            self._timer = asyncio.get_running_loop().call_later(self.timeout_s, self.end, JobState.TIMED_OUT)

    @property
    def duration_s(self) -> float:
        return (self._ended or time.monotonic()) - self._started

    @property
    def label(self) -> str:
        """ "job 2 (npm run dev)"."""
        return f"job {self.id} ({shorten(self.spec.command)})"

    @property
    def outcome(self) -> str:
        """The state in words: "running for 5 s", "ended: exit code 0 after 34 s"."""
        took = time_so_far(self.duration_s)
        # The shell may have ended while what it started runs on.
        code = "" if self.process.exit_code is None else exit_code_text(self.process.exit_code)
        match self.state:
            case _ if self.process.stopped_because:
                return f"stopped: {self.process.stopped_because}"
            case JobState.RUNNING if code:
                return f"its shell ended: {code}; still running: {processes_text(self.process.left)}"
            case JobState.RUNNING:
                return f"running for {took}"
            case JobState.EXITED:
                return f"ended: {code} after {took}"
            case JobState.STOPPED:
                return f"stopped after {took}"
            case JobState.TIMED_OUT:
                return f"timed out after {took} and was ended"

    @property
    def report(self) -> str:
        """One line for the user: the state and the last line of output."""
        lines = [line for line in self.capture.recent().splitlines() if line.strip()]
        last = f"; last line: {shorten(lines[-1], _SHOWN_LINE)}" if lines else ""
        return f"{self.label} {safe_line(self.outcome)}{last}"

    def announce_change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def forget_timeout(self) -> None:
        """Let it run without limit of time."""
        self.timeout_s = None
        if self._timer is not None:
            self._timer.cancel()

    def end(self, state: JobState) -> None:
        """Set its last state, once. If it still runs, send SIGTERM now and SIGKILL two seconds later.
        Does not wait."""
        if self.state is not JobState.RUNNING:
            return
        self.state = state
        self._ended = time.monotonic()
        if self._timer is not None:
            self._timer.cancel()
        self.announce_change()
        if state is not JobState.EXITED:
            self.process.terminate()

    async def shell_done(self) -> bool:
        """Wait for the shell's end and a moment longer; whether all of it has ended then. Where nothing is
        seen running, its end is on the way, and is awaited."""
        await self.process.shell_ended.wait()
        for _ in range(_LOOKS):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.all_ended.wait(), PIPE_GRACE_S)
                return True
            self.process.read_rest()
            await self.process.look()
            if self.process.left:
                break
        return self.process.all_ended.is_set()

    def _take(self, data: bytes) -> None:
        self.capture.feed(data)
        if self.capture.has_news:
            self.output_arrived.set()


def shorten(text: str, length: int = _SHOWN_COMMAND) -> str:
    """Return the first line of a command or of output, cut, with nothing in it that steers a terminal."""
    line = safe_line(text.strip().partition("\n")[0])
    more = len(line) > length or "\n" in text.strip()
    return line[:length] + ("..." if more else "")


def exit_code_text(code: int) -> str:
    """Return "exit code 137 (SIGKILL)"."""
    try:
        name = f" ({signal.Signals(code - 128).name})" if code > 128 else ""
    except ValueError:
        name = ""
    return f"exit code {code}{name}"


def processes_text(left: tuple[RunningProcess, ...]) -> str:
    names = "; ".join(f"{one.pid} {one.command}" for one in left[:_SHOWN_PROCESSES])
    return names + (f" and {len(left) - _SHOWN_PROCESSES} more" if len(left) > _SHOWN_PROCESSES else "")
