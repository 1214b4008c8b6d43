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
            state, sid = _state_and_session(entry)
            if state in "ZX":
                continue
            if sid == session or mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(Running(int(entry.name), _command_line(entry)))
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
        self._left: dict[str, subprocess.Popen[bytes]] = {}

    def end(self, call: str, process: subprocess.Popen[bytes]) -> None:
        send(call, process.pid, signal.SIGTERM)
        task = asyncio.get_running_loop().create_task(self._kill_later(call, process))
        self._tasks[task] = (call, process)
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def remember(self, call: str, process: subprocess.Popen[bytes]) -> None:
        """Notes a call whose shell has ended but whose children run on; `close` ends them."""
        self._left[call] = process

    async def close(self) -> None:
        """Ends at once whatever still runs. Nothing is left afterwards."""
        pending = dict(self._tasks)
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)
        for call, process in [*pending.values(), *self._left.items()]:
            _kill(call, process)
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


def _state_and_session(entry: Path) -> tuple[str, int]:
    fields = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return fields[0], int(fields[3])


def _command_line(entry: Path) -> str:
    words = (entry / "cmdline").read_bytes().split(b"\0")
    return b" ".join(words).decode("utf-8", "replace").strip()[:200]
