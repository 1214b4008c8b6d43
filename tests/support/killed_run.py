"""`forge run`, killed while it works: what is left of what it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from forge_core.tools.shell.supervised import can_supervise
from tests.support.hooks import running_in

LEFT_S = 3.0
"""How long the processes that are left may take to end."""


def left_after_kill(home: Path, work: Path, arguments: Sequence[str] = ()) -> tuple[int, list[int]]:
    """Run Forge in `work` until the file `started` is there, and kill it. Return how many processes there were,
    and those that are left after a while; they are killed too."""
    if not can_supervise():
        pytest.skip("only Linux has subreapers")
    program = subprocess.Popen(
        [sys.executable, "-m", "forge_tui.cli", "run", "hello", "--model", "offline", *arguments],
        cwd=work,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FORGE_HOME": str(home)},
    )
    try:
        while not (work / "started").exists():
            assert program.poll() is None
            time.sleep(0.01)
        count = len(running_in(work))
        program.kill()
        program.wait(30)
        deadline = time.monotonic() + LEFT_S
        while (left := running_in(work)) and time.monotonic() < deadline:
            time.sleep(0.01)
        return count, left
    finally:
        program.kill()
        for pid in running_in(work):
            os.kill(pid, signal.SIGKILL)
