"""`forge run` killed while a hook runs: nothing that the hook has started is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forge_core.tools.shell.supervised import can_supervise
from tests.support.hooks import declared, running_in, write_hooks

pytestmark = pytest.mark.slow

HOOK = """
setsid sh -c 'touch daemon; exec sleep 600' &
env -i /bin/sh -c '(setsid /bin/sleep 600 &) ; touch bare'
until [ -e daemon ] && [ -e bare ]; do sleep 0.01; done
touch started
sleep 600
"""
LEFT_S = 3.0


def test_a_kill_during_a_hook_leaves_no_process(tmp_path: Path) -> None:
    if not can_supervise():
        pytest.skip("only Linux has subreapers")
    work = tmp_path / "work"
    work.mkdir()
    write_hooks(tmp_path / "config/hooks.json", declared("UserPromptSubmit", HOOK))
    program = subprocess.Popen(
        [sys.executable, "-m", "forge_tui.cli", "run", "hello", "--model", "offline"],
        cwd=work,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FORGE_HOME": str(tmp_path)},
    )
    try:
        while not (work / "started").exists():
            assert program.poll() is None
            time.sleep(0.01)
        assert len(running_in(work)) > 3
        program.kill()
        program.wait(30)
        deadline = time.monotonic() + LEFT_S
        while (left := running_in(work)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert left == []
    finally:
        program.kill()
        for pid in running_in(work):
            os.kill(pid, signal.SIGKILL)
