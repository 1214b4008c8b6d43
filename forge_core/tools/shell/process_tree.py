"""Finds the descendants of a process, from the parents that /proc reports.

A supervisor that adopts orphans (see `spawning`) keeps every descendant in its tree, even with a session of
its own, a double fork, a cleared environment or another name.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from forge_core.tools.shell.environment import CALL_VARIABLE

_PROC = Path("/proc")
_MAX_SCANS = 5
_MAX_SHOWN = 200
_PS_TIMEOUT_S = 5
_UNREADABLE_S = 1.0
"""How long a look for marked processes waits, in all, for those whose environment cannot be read yet."""
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the kernel's flags of a process."""


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A live process."""

    pid: int
    command: str
    started: int = 0
    """Clock ticks since boot, which distinguish it from a later process with the same id. 0 if unknown."""


@dataclass(frozen=True, slots=True)
class _Status:
    parent: int
    started: int
    is_alive: bool
    is_kernel_thread: bool
    environment: tuple[int, int]
    """Addresses of its start and end; zeros for a process without memory."""


def descendants(root: int, besides: str = "") -> list[RunningProcess]:
    """Return the live processes below `root`, itself and those with the argument `besides` left out. Where
    there is no /proc, what `ps` lists of its tree and its process group."""
    if not _PROC.is_dir():
        return _listed_by_ps(root)
    table: dict[int, _Status] = {}
    found: list[int] = []
    for _ in range(_MAX_SCANS):
        before = found
        table, is_whole = _table()
        found = _below(root, table)
        # One that has just ended may have left a child which was born after the ids were listed: a look that
        # meets a dead process counts only when the next one sees the same.
        if is_whole and (found == before or all(table[pid].is_alive for pid in found)):
            break
    alive = [(pid, _words(pid)) for pid in found if table[pid].is_alive]
    return [
        RunningProcess(pid, _shown(words), table[pid].started)
        for pid, words in alive
        if not besides or besides.encode() not in words
    ]


def process_ids(root: int) -> list[int]:
    """Return the ids of `root` and its descendants, for sampling: while some processes end, others may be
    missed."""
    if not os.path.exists(f"/proc/{root}/task/{root}/children"):  # noqa: PTH110  sampled
        return [root, *_below(root, _table()[0])]
    found = [root]
    for pid in found:  # grows meanwhile
        with contextlib.suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  sampled
            found += [child for thread in threads for child in _children_of_thread(pid, thread)]
    return found


def only_child(pid: int) -> int | None:
    """Return the only child of a program with one thread; None if it cannot be determined."""
    try:
        children = _children(pid)
    except OSError:
        return None
    return int(children[0]) if len(children) == 1 else None


def first_child(pid: int) -> int | None:
    """Return the oldest child of a program with one thread: of a supervisor, the program that it runs. None
    if there is none, or it cannot be determined."""
    try:
        children = _children(pid)
    except OSError:
        return None
    return int(children[0]) if children else None


def has_only_chain(root: int, depth: int) -> bool:
    """Return whether below `root` there is a chain of `depth` processes and nothing else, by a look at those
    alone. False also where the kernel does not list children."""
    pid: int | None = root
    for _ in range(depth):
        pid = only_child(pid) if pid is not None else None
    try:
        return pid is not None and not _children(pid)
    except OSError:
        return False


def processes_of_call(call: str) -> list[RunningProcess]:
    """Return the live processes that carry the mark of `call` in their environment: what can still be found
    when the supervisor itself was killed.

    The environment of a process that calls execve, or that exits and still has files open, is empty for a
    moment. Either is awaited, for a second in all: in the first case the mark appears, in the second the
    process ends.
    """
    mark = f"{CALL_VARIABLE}={call}".encode()
    deadline = time.monotonic() + _UNREADABLE_S
    found: list[RunningProcess] = []
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            is_marked = mark in _environment(pid, deadline)
            if is_marked and (status := _status(pid)).is_alive:
                found.append(RunningProcess(pid, _shown(_words(pid)), status.started))
    return found


def _environment(pid: int, deadline: float) -> list[bytes]:
    """Return the environment of a process, once it has one; empty for one that exits or was given none."""
    ends: tuple[int, int] | None = None
    while not (environment := _environment_now(pid)):
        status = _status(pid)
        if status.is_kernel_thread or not status.is_alive or time.monotonic() > deadline:
            break
        # The kernel has no addresses while it replaces the program, and random ones for the next program: the
        # same empty range in two looks means that there is none.
        start, end = status.environment
        if end and start == end and status.environment == ends:
            break
        ends = status.environment
        time.sleep(0.001)
    return environment.split(b"\0")


def _environment_now(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except ProcessLookupError:  # newer kernels, of a process without memory
        return b""


def send_signal(one: RunningProcess, number: signal.Signals) -> None:
    """Send a signal to that process, and to no later one with its id."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        if not hasattr(os, "pidfd_open") or not one.started:
            if not one.started or _status(one.pid).started == one.started:
                os.kill(one.pid, number)
            return
        # The start time is compared after the pidfd is open: from then on the id means no other process.
        descriptor = os.pidfd_open(one.pid)
        try:
            if _status(one.pid).started == one.started:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _listed_by_ps(root: int) -> list[RunningProcess]:
    """List the process group and its descendants by `ps`: without adopted orphans, the best that can be
    done."""
    columns = ["/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "args="]
    try:
        listing = subprocess.run(columns, capture_output=True, check=False, timeout=_PS_TIMEOUT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    # Parents may be listed after their children, so the rows are read until no new member is found.
    family, found = {root}, dict[int, RunningProcess]()
    rows = [
        row
        for line in listing.decode("utf-8", "replace").splitlines()
        if len(row := line.split(None, 4)) == 5
    ]
    while True:
        new = [
            row
            for row in rows
            if int(row[0]) not in family and (int(row[1]) in family or int(row[2]) == root)
        ]
        if not new:
            return [found[pid] for pid in sorted(found)]
        for pid, _, _, state, command in new:
            family.add(int(pid))
            if not state.startswith("Z"):
                found[int(pid)] = RunningProcess(int(pid), command[:_MAX_SHOWN])


def _below(root: int, table: dict[int, _Status]) -> list[int]:
    """Return the ids of all that descend from `root`, sorted."""
    children: dict[int, list[int]] = {}
    for pid, status in table.items():
        children.setdefault(status.parent, []).append(pid)
    below, found = [root], list[int]()
    while below:
        for pid in children.get(below.pop(), ()):
            below.append(pid)
            found.append(pid)
    return sorted(found)


def _table() -> tuple[dict[int, _Status], bool]:
    """Return every process, and whether the listing is complete enough to rule out a hidden descendant."""
    table: dict[int, _Status] = {}
    is_whole = True
    for pid in _pids():
        try:
            table[pid] = _status(pid)
        except (OSError, ValueError, IndexError):
            is_whole = False
    return table, is_whole and all(one.parent in table or one.parent == 0 for one in table.values())


def _children_of_thread(pid: int, thread: str) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123  sampled
            return [int(one) for one in file.read().split()]
    except OSError:
        return []


def _children(pid: int) -> list[bytes]:
    """Return the children of a program's first thread, for programs with only one.

    The kernel may miss some while others end, but never reports none, or only the one that survives, if there
    are more.
    """
    with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:  # noqa: PTH123  a hot path
        return file.read().split()


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208  4 times as fast
    except OSError:
        return []


def _status(pid: int) -> _Status:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  read for every process of the machine
        fields = file.read().rpartition(b")")[2].split()
    is_alive, is_kernel_thread = fields[0] not in (b"Z", b"X"), bool(int(fields[6]) & _KERNEL_THREAD)
    environment = int(fields[47]), int(fields[48])
    return _Status(int(fields[1]), int(fields[19]), is_alive, is_kernel_thread, environment)


def _words(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _shown(words: list[bytes]) -> str:
    return b" ".join(words).decode("utf-8", "replace").strip()[:_MAX_SHOWN]
