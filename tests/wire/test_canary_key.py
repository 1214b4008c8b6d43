"""The key never leaves its store: a real run whose model tries to find it, and every place that it could reach."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.probing import probe_now
from tests.support.sse_server import SseServer, answer, tool_answer

KEY = "sk-or-v1-canary" + "7" * 40
HUNT = r"""
env
cat /proc/$$/environ /proc/$PPID/environ /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n'
ps -eo args
cat "$HOME"/.bash_history "$HOME"/forge/*/* "$HOME"/forge/*/*/* 2>/dev/null
python3 -c "import os; print(os.environ)"
bash -c 'set; declare -p'
true
"""


@pytest.mark.slow
def test_a_model_searching_for_the_api_key_cannot_find_it(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    state = probe_now("auto", work)
    if state.strength != "full" and os.geteuid() == 0:
        pytest.skip(f"root can look into every process without a full sandbox: {state.reason}")
    calls = [
        ("c1", "bash", {"command": HUNT, "description": "look around"}),
        ("c2", "bash", {"command": HUNT, "description": "in the background", "run_in_background": True}),
        ("c3", "bash", {"command": "sleep 0.7", "description": "wait"}),
    ]
    with SseServer(
        tool_answer(*calls), tool_answer(("c4", "job_output", {"job_id": 1})), answer("done")
    ) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "forge_tui.cli", "run", "hunt", "--base-url", server.base_url),
                *("--model", "test/model", "--permission-mode", "yolo", "--output", "stream-json"),
                *("--log-level", "debug"),
            ],
            cwd=work,
            capture_output=True,
            text=True,
            timeout=180,
            env={**os.environ, "FORGE_HOME": str(home), "FORGE_API_KEY": KEY},
        )
        requests = server.requests
    assert done.returncode == 0, done.stderr
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    told = [message["content"] for message in requests[-1].json["messages"] if message["role"] == "tool"]
    assert "FORGE_CALL=" in told[0], "the hunt did not run"
    assert all(KEY not in str(request.json) for request in requests)
    assert KEY not in done.stdout + done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".jsonl" for path in written), "there is no journal to look into"
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
