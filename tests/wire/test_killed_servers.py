"""`forge run` killed while an MCP server runs: nothing of the server is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.hooks import declared, write_hooks
from tests.support.killed_run import left_after_kill

pytestmark = pytest.mark.slow

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_server.py")


def test_a_kill_leaves_no_process_of_a_server(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    write_hooks(tmp_path / "config/hooks.json", declared("UserPromptSubmit", "touch started; sleep 600"))
    entry = {"command": sys.executable, "args": ["-S", SERVER, "leaves-child"]}
    (tmp_path / "config/mcp.json").write_text(json.dumps({"mcpServers": {"bench": entry}}))

    count, left = left_after_kill(tmp_path, work, ["--trust"])

    assert count > 5  # Forge, the bridge, supervisors, the hook, the server and its daemon
    assert left == []
