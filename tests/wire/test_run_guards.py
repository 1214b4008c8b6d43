"""`forge run` where something holds it back: a loop, a folder nobody trusts, a sandbox that is not there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.sse_server import SseServer, answer, tool_answer
from tests.wire.test_run_program import FORGE, at, forge

pytestmark = pytest.mark.network_server


needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_a_looping_model_is_stopped_with_its_exit_code(tmp_path: Path) -> None:
    with SseServer(*(tool_answer((f"c{number}", "ls", {})) for number in range(5))) as server:
        done = forge(*at(server, "go", "--output", "json"), cwd=tmp_path)
        asked = len(server.requests)
    result = json.loads(done.stdout)
    assert (done.returncode, result["stopped_reason"], asked) == (3, "loop", 3)
    assert "same call 3 times" in result["warning"]


def instructed(folder: Path, *flags: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """A run in a folder with instructions; gives it and the system message that was sent."""
    (folder / "AGENTS.md").write_text("Answer in verse.")
    with SseServer(answer("ok")) as server:
        done = forge(*at(server, "hi", *flags), cwd=folder)
        return done, str(server.requests[0].json["messages"][0]["content"])


def test_instructions_are_sent_only_with_trust_and_otherwise_reported(tmp_path: Path) -> None:
    done, system = instructed(tmp_path, "--trust")
    assert "Answer in verse" in system
    assert done.stderr == ""
    done, system = instructed(tmp_path)
    assert "Answer in verse" not in system
    assert "AGENTS.md instructs the model" in done.stderr and "--trust" in done.stderr


def test_a_strict_run_without_a_full_sandbox_exits_with_2_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    done = forge("run", "hi", "--sandbox", "strict", cwd=tmp_path, PATH=str(tmp_path / "bin"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--sandbox strict" in done.stderr and "bwrap" in done.stderr


@needs_bwrap
def test_a_strict_run_with_a_full_sandbox_starts(tmp_path: Path) -> None:
    done = forge("run", "--model", "offline", "--sandbox", "strict", "hi", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_bad_rule_on_the_command_line_is_a_usage_error(tmp_path: Path) -> None:
    done = forge("run", "--model", "offline", "--deny", "bash((", "hi", cwd=tmp_path)
    assert done.returncode == 1
    assert "'bash(('" in done.stderr


def test_a_strict_chat_without_a_full_sandbox_exits_with_2_before_painting(
    tmp_path: Path,
) -> None:
    (tmp_path / "bin").mkdir()
    screen, terminal = os.openpty()
    try:
        done = subprocess.run(
            [*FORGE, "chat", "--sandbox", "strict"],
            cwd=tmp_path,
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            text=True,
            timeout=180,
            env={**os.environ, "PATH": str(tmp_path / "bin"), "TERM": "xterm-256color"},
            check=False,
        )
        os.set_blocking(screen, False)
        with pytest.raises(BlockingIOError):
            os.read(screen, 1)
    finally:
        os.close(screen)
        os.close(terminal)
    assert done.returncode == 2
    assert "--sandbox strict" in done.stderr and "bwrap" in done.stderr
