"""`forge acp` as editors start it: standard output carries protocol lines only."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import acp
import pytest
from acp import schema

from tests.support.acp_editor import Editor, raw_line

pytestmark = [pytest.mark.network_server, pytest.mark.slow]


def environment(home: Path) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


async def test_the_client_of_the_sdk_drives_the_program(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def f():\n    return 1\n")
    editor = Editor()
    command = (sys.executable, "-m", "forge_tui.cli", "acp", "--model", "offline")
    async with acp.spawn_agent_process(
        editor, *command, env=environment(tmp_path / "home"), cwd=tmp_path, use_unstable_protocol=True
    ) as (agent, process):
        begun = await agent.initialize(protocol_version=1)
        assert begun.protocol_version == 1
        opened = await agent.new_session(cwd=str(folder))
        done = await agent.prompt(
            session_id=opened.session_id, prompt=[acp.text_block("run `echo to the terminal; echo err >&2`")]
        )
        assert done.stop_reason == "end_turn"
        assert process.stdin is not None
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 60) == 0
    (call,) = editor.take(schema.ToolCallStart)
    assert call.kind == "execute"
    assert "to the terminal" in editor.said


def test_initialize_is_answered_before_langchain_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from forge_core.integrations.acp.program import run_acp\n"
        "from forge_core.runtime import load_session_config\n"
        "def load(folder):\n"
        "    print([n for n in ('langchain_core', 'textual', 'httpx') if n in sys.modules], file=sys.stderr)\n"
        "    print('not a protocol line', flush=True)\n"
        "    return load_session_config(folder, flags={'model': 'offline'})\n"
        "sys.exit(run_acp(load))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=raw_line("initialize", protocolVersion=1),
        env=environment(tmp_path / "home"),
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert done.stderr.decode().splitlines() == ["[]", "not a protocol line"]
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["agentInfo"]["name"] == "forge"
