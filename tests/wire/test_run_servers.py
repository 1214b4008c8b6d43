"""`forge run` with MCP servers: what it waits for, and what it says about those that are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.test_run_program import forge

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_server.py")


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    path = tmp_path / "servers.json"
    entries = {
        "good": {"command": sys.executable, "args": ["-S", SERVER]},
        "bad": {"command": sys.executable, "args": ["-S", SERVER, "exits"]},
    }
    path.write_text(json.dumps({"mcpServers": entries}))
    return path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    work = folder / "work"
    work.mkdir()
    return forge("run", "hello", *arguments, cwd=work, FORGE_HOME=str(folder / "home"), OPENROUTER_API_KEY="")


def test_a_run_names_the_servers_that_are_missing_in_its_first_record(tmp_path: Path, servers: Path) -> None:
    done = run(tmp_path, "--mcp-config", str(servers), "--output", "stream-json", "--require-mcp", "good")
    first = json.loads(done.stdout.splitlines()[0])
    assert done.returncode == 0, done.stderr
    assert (first["type"], first["data"]["text"]) == (
        "notice",
        "These MCP servers have not connected: bad.",
    )


def test_a_required_server_that_is_missing_ends_a_run_before_anything_is_sent(
    tmp_path: Path, servers: Path
) -> None:
    done = run(tmp_path, "--mcp-config", str(servers), "--require-mcp", "bad")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "The MCP server 'bad' is required (--require-mcp), and has not connected: exited with code 3"
        in done.stderr
    )
