"""`forge run` killed while an MCP server runs: nothing of the server is left."""

from __future__ import annotations

import json
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

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_server.py")
LEFT_S = 3.0


def test_a_kill_leaves_no_process_of_a_server(tmp_path: Path) -> None:
    if not can_supervise():
        pytest.skip("only Linux has subreapers")
    work = tmp_path / "work"
    work.mkdir()
    write_hooks(tmp_path / "config/hooks.json", declared("UserPromptSubmit", "touch started; sleep 600"))
    entry = {"command": sys.executable, "args": ["-S", SERVER, "leaves-child"]}
    (tmp_path / "config/mcp.json").write_text(json.dumps({"mcpServers": {"bench": entry}}))
    program = subprocess.Popen(
        [sys.executable, "-m", "forge_tui.cli", "run", "hello", "--model", "offline", "--trust"],
        cwd=work,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FORGE_HOME": str(tmp_path)},
    )
    try:
        while not (work / "started").exists():
            assert program.poll() is None
            time.sleep(0.01)
        assert (
            len(running_in(work)) > 5
        )  # Forge, the bridge, supervisors, the hook, the server and its daemon
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
