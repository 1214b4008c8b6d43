"""Definitions whose files take longer to read than a turn waits for them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from forge_core.approval import deny_all
from forge_core.config.project_state import locked
from forge_core.extensions.accepted import record_file
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.session.session_extensions import SessionExtensions
from forge_core.workspace.trust import TrustStore
from tests.support.agent_server import AgentServer, calling, config_for, saying
from tests.support.sse_server import Gate


def write(path: Path, name: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: The late {name}\n---\nLook.")


async def run_turn(session: ForgeSession) -> None:
    async for _ in session.send("go"):
        pass


async def test_what_comes_late_is_in_the_prompt_of_the_next_model_call(tmp_path: Path) -> None:
    gate, read = Gate(), calling("0.01", ("c1", "read", {"file_path": "a.txt"}))
    scripts = {"go": [replace(read, steps=[gate, *read.steps]), saying("0.01", "Done.")]}
    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server, is_trusted=True)
        write(config.working_dir / ".claude/skills/tidy/SKILL.md", "tidy")
        write(config.working_dir / ".claude/agents/scout.md", "scout")
        TrustStore(config.state_dir).decide(config.working_dir, True)
        folder = record_file(config.state_dir, config.working_dir).parent
        folder.mkdir(parents=True, mode=0o700)
        with locked(folder / "lock"):  # the definitions are in use once they are recorded
            session = build_session(config, deny_all)
            turn = asyncio.create_task(run_turn(session))
            assert await asyncio.to_thread(gate.reached.wait, 20)
            assert session.extensions.is_loading
        await session.extensions.loaded()
        gate.open()
        await turn
        await session.aclose()
        bodies = server.bodies("go")
    systems = [str(body["messages"][0]["content"]) for body in bodies]
    tools = [{tool["function"]["name"] for tool in body["tools"]} for body in bodies]
    for line in ("The late tidy", "The late scout"):
        assert [line in system for system in systems] == [False, True]
    assert tools[1] - tools[0] == {"skill"}


async def test_of_two_reloads_at_once_the_later_one_counts(tmp_path: Path) -> None:
    config = load_session_config(tmp_path)
    TrustStore(config.state_dir).decide(tmp_path, True)
    extensions = SessionExtensions.started(config)
    await extensions.loaded()
    record = record_file(config.state_dir, tmp_path)
    with locked(record.parent / "lock"):
        write(tmp_path / ".claude/skills/first/SKILL.md", "first")
        trusted = asyncio.create_task(
            extensions.reload(accepts_all=True)
        )  # waits for the lock once it has read
        while (accepted := extensions._accepted) is None or accepted.accepts_all or not accepted._entries:
            await asyncio.sleep(0)
        write(tmp_path / ".claude/skills/second/SKILL.md", "second")
        reloaded = asyncio.create_task(extensions.reload())
        await asyncio.wait({reloaded}, timeout=0.2)
    await asyncio.gather(trusted, reloaded)

    assert [one.name for one in extensions.catalog.definitions] == ["first"]
    assert [one.definition.name for one in extensions.catalog.pending] == ["second"]
