"""The limits of commands: the memory that they use together, their number of processes, the size of a file,
the number of open files.

The last two are limits of the kernel, which the supervisor sets (setrlimit). The first two have none that
suit: a limit of the address space breaks programs that reserve much and use little (Java, Go, Node), and the
kernel's limit of processes counts all of a user's threads, and none of root's. So the memory in use and the
processes are sampled, and the command with most is stopped when all of a session together have too much.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.config.settings import SETTINGS
from forge_core.tools.shell.memory_usage import MemoryUsage

if TYPE_CHECKING:
    from forge_core.tools.shell.process import ShellProcess

GB = 10**9
SAMPLED_EACH_S = 0.25
"""A program fills about 1 GB in that time, or starts a thousand others."""
_SAMPLED_SOON_S = 0.05
"""The same while there are many processes: a fork bomb doubles within milliseconds."""
_MANY = 0.125
"""Of the limit of processes."""
_ULIMIT_BLOCK = 512
"""Bytes: the unit of `ulimit -f` in a POSIX shell."""
_OOM_SCORE = 500
"""Of 1000: makes the kernel end a command rather than Forge when memory runs out."""
_GONE_WITHIN_S = 2.0
_LIMITS_OF_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def default_memory_bytes() -> int:
    """Return half of the machine's memory, or of what its container may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in _LIMITS_OF_CONTAINERS:
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(name).read_text()))
    return total // 2


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """What commands may use."""

    memory_bytes: int = field(default_factory=default_memory_bytes)
    """All running commands of a session together, with what is in their private /tmp."""
    file_bytes: int = int(SETTINGS["command_file_gb"].default * GB)
    """The largest file that a command may write."""
    processes: int = SETTINGS["command_processes"].default
    """All running commands of a session together."""
    open_files: int = SETTINGS["command_open_files"].default
    """Per process; a lower limit of Forge's own environment stays."""

    def shell_text(self) -> str:
        """Return the shell commands that set the limits of the kernel for what the shell runs."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limits = [f"ulimit -f {max(1, self.file_bytes // _ULIMIT_BLOCK)}"]
        # The soft limit first: it must not be above the hard one, and it is never raised.
        if soft == resource.RLIM_INFINITY or soft > self.open_files:
            limits.append(f"ulimit -Sn {self.open_files}")
        if hard == resource.RLIM_INFINITY or hard > self.open_files:
            limits.append(f"ulimit -Hn {self.open_files}")
        limits.append(f"echo {_OOM_SCORE} > /proc/self/oom_score_adj")
        return "{ " + "; ".join(limits) + "; } 2>/dev/null"


@dataclass(frozen=True, slots=True)
class Excess:
    """Why a command is stopped."""

    process: ShellProcess
    reason: str
    summary: str
    """In two or three words, for its card."""


class UsageWatch:
    """Stops the command that uses most memory, or has most processes, when all together exceed the limit.

    Sampling begins a moment after a command has started, so a short one costs nothing.
    """

    def __init__(self, limits: CommandLimits) -> None:
        self._limits = limits
        self._usages: dict[ShellProcess, MemoryUsage] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, process: ShellProcess) -> None:
        """Count the command from now on, until nothing is left of it."""
        self._usages[process] = MemoryUsage(process.pid, with_private_folders=process.is_contained)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while self._usages:
            running = sum(usage.processes for usage in self._usages.values())
            has_many = running > self._limits.processes * _MANY
            await asyncio.sleep(_SAMPLED_SOON_S if has_many else SAMPLED_EACH_S)
            for process in [one for one in self._usages if one.all_ended.is_set()]:
                del self._usages[process]
            excess = await asyncio.to_thread(self._excess, dict(self._usages))
            if excess is not None:
                excess.process.stop(excess.reason, excess.summary)
                # The next sample must not count what is about to be freed.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(excess.process.all_ended.wait(), _GONE_WITHIN_S)

    def _excess(self, usages: Mapping[ShellProcess, MemoryUsage]) -> Excess | None:
        """Return the command that has most when all have too much; runs in a thread."""
        most = self._limits.memory_bytes
        upper_bound = sum(usage.upper_bound() for usage in usages.values())
        processes = {process: usage.processes for process, usage in usages.items()}
        # First: a count costs nothing more, and the exact use of memory is slow to read of many processes.
        if sum(processes.values()) > self._limits.processes:
            process = max(processes, key=lambda one: processes[one])
            reason = f"it had {processes[process]:,} processes; the limit is {self._limits.processes:,}"
            return Excess(process, f"{reason} (command_processes)", "too many processes")
        if upper_bound <= most:
            return None
        used = {process: usage.exact() for process, usage in usages.items()}
        if sum(used.values()) <= most:
            return None
        process = max(used, key=lambda one: used[one])
        reason = f"it used {_gigabytes(used[process])} of memory; the limit is {_gigabytes(most)}"
        return Excess(process, reason, "out of memory")


def _gigabytes(count: int) -> str:
    """Return "12.1 GB", "12 GB"."""
    return f"{count / GB:.1f}".removesuffix(".0") + " GB"
