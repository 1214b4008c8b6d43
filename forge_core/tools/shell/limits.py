"""The limits of commands: the memory that they use together, the size of a file, the number of open files.

The last two are limits of the kernel, which the supervisor sets (setrlimit). Memory has none that suits: a
limit of the address space breaks programs that reserve much and use little (Java, Go, Node). So the memory in
use is sampled, and the command that uses most is stopped when all of a session together use too much.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.config.settings import SETTINGS
from forge_core.tools.shell.memory_usage import MemoryUsage

if TYPE_CHECKING:
    from forge_core.tools.shell.process import ShellProcess

GB = 10**9
SAMPLED_EACH_S = 0.25
"""A program fills about 1 GB in that time."""
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


class MemoryWatch:
    """Stops the command that uses most memory when all together use more than the limit.

    Sampling begins a moment after a command has started, so a short one costs nothing.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
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
            await asyncio.sleep(SAMPLED_EACH_S)
            for process in [one for one in self._usages if one.all_ended.is_set()]:
                del self._usages[process]
            largest = await asyncio.to_thread(self._largest_if_too_much, dict(self._usages))
            if largest is not None:
                process, used = largest
                process.stop(
                    f"it used {_gigabytes(used)} of memory; the limit is {_gigabytes(self._limit_bytes)}"
                )
                # The next sample must not count what is about to be freed.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.all_ended.wait(), _GONE_WITHIN_S)

    def _largest_if_too_much(
        self, usages: dict[ShellProcess, MemoryUsage]
    ) -> tuple[ShellProcess, int] | None:
        """Return the command that uses most, and how much, when all use too much; runs in a thread."""
        if sum(usage.upper_bound() for usage in usages.values()) <= self._limit_bytes:
            return None
        used = {process: usage.exact() for process, usage in usages.items()}
        if sum(used.values()) <= self._limit_bytes:
            return None
        return max(used.items(), key=lambda one: one[1])


def _gigabytes(count: int) -> str:
    """Return "12.1 GB", "12 GB"."""
    return f"{count / GB:.1f}".removesuffix(".0") + " GB"
