"""Finding and ending everything a command has started, however it hides."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from forge_core.tools.shell.environment import CALL_VARIABLE

KILL_AFTER_S = 2.0
"""Between TERM and KILL."""

_POLL_S = 0.1
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Running:
    """A process that a command has left running."""

    pid: int
    command: str
    started: int = 0
    """Clock ticks since boot: tells it from a later process with the same id."""


def processes_of(call: str, session: int) -> list[Running]:
    """The live processes of the call marked `call` or in the session `session` (a process id).

    The mark in the environment also finds children that made a session of their own and daemons that were
    adopted by init. Empty where there is no /proc.
    """
    if not _PROC.is_dir():
        return []
    mark = f"{CALL_VARIABLE}={call}".encode()
    found: list[Running] = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, sid, started = _state(entry)
            if state in "ZX":
                continue
            if sid == session or mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(Running(int(entry.name), _command_line(entry), started))
    return found


def send(call: str, group: int, number: signal.Signals) -> None:
    """Sends a signal to the process group and to every process of the call outside it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for one in processes_of(call, group):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one.pid, number)


class Reaper:
    """Ends calls: TERM at once, KILL two seconds later, without anybody waiting for it."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], tuple[str, subprocess.Popen[bytes]]] = {}
        self._left: dict[str, tuple[Running, ...]] = {}

    def end(self, call: str, process: subprocess.Popen[bytes]) -> None:
        send(call, process.pid, signal.SIGTERM)
        task = asyncio.get_running_loop().create_task(self._kill_later(call, process))
        self._tasks[task] = (call, process)
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def remember(self, call: str, left: tuple[Running, ...]) -> None:
        """Notes what runs on though its shell has ended; `close` ends it."""
        self._left[call] = left

    async def close(self) -> None:
        """Ends at once whatever still runs. Nothing is left afterwards."""
        pending = dict(self._tasks)
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)
        for call, process in pending.values():
            _kill(call, process)
        for call, left in self._left.items():
            _kill_left(call, left)
        self._left.clear()

    async def _kill_later(self, call: str, process: subprocess.Popen[bytes]) -> None:
        for _ in range(round(KILL_AFTER_S / _POLL_S)):
            await asyncio.sleep(_POLL_S)
            if process.poll() is not None and not processes_of(call, process.pid):
                return
        _kill(call, process)


def _kill(call: str, process: subprocess.Popen[bytes]) -> None:
    send(call, process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)


def _kill_left(call: str, left: tuple[Running, ...]) -> None:
    """Kills by mark and by (id, start): the shell's own id may long belong to a stranger."""
    marked = {one.pid for one in processes_of(call, session=-1)}
    for one in left:
        with contextlib.suppress(OSError, ValueError, IndexError):
            if _state(_PROC / str(one.pid))[2] == one.started:
                marked.add(one.pid)
    for pid in marked:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _state(entry: Path) -> tuple[str, int, int]:
    """Its state's letter, its session and its start."""
    fields = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return fields[0], int(fields[3]), int(fields[19])


def _command_line(entry: Path) -> str:
    words = (entry / "cmdline").read_bytes().split(b"\0")
    return b" ".join(words).decode("utf-8", "replace").strip()[:200]
