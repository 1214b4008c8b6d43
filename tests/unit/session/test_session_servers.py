"""MCP servers in sessions: approval, tools, calls, failures, and what is left at the end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer
from forge_core.commands.mcp_command import mcp
from forge_core.commands.result import ApprovePrograms, ShowServers
from forge_core.events import AgentEvent, Notice, ToolEnd
from forge_core.session.session import ForgeSession
from tests.support.hooks import declared, running_in, write_hooks
from tests.support.scripted_llm import Call
from tests.support.sessions import Answering, scripted_session

pytestmark = pytest.mark.usefixtures("preloaded_bridge")

SERVER = str(Path(__file__).parents[2] / "support" / "mcp_server.py")


def entry(*faults: str, **fields: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", SERVER, *faults], **fields}


def write(path: Path, **servers: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))


def session_in(root: Path, *replies: Any, **options: Any) -> ForgeSession:
    options.setdefault("approver", Answering(Answer.ONCE))
    return scripted_session(root, [list(reply) for reply in replies] or [["ok"]], **options)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def turn(session: ForgeSession) -> list[AgentEvent]:
    return [event async for event in session.send("go")]


async def test_the_tools_of_the_user_s_server_can_be_called(tmp_path: Path) -> None:
    write(tmp_path / "own/mcp.json", bench=entry("leaves-child", tools={"deny": ["hang"]}))
    call = Call("mcp__bench__echo", {"text": "hi"})
    session = session_in(tmp_path, [call], ["done"])
    await session.hooks.begin()
    assert await session.servers.settled(60) == []

    events = await turn(session)

    [end] = [event for event in events if isinstance(event, ToolEnd)]
    assert (end.success, end.result) == (True, "hi")
    assert "mcp__bench__echo" in session.tools and "mcp__bench__hang" not in session.tools
    listed, shown = await mcp("", session), await mcp("bench", session)
    assert isinstance(listed, ShowServers) and "✓ bench" in listed.body and "1 call" in listed.body
    assert isinstance(shown, ShowServers) and "Return the text." in shown.body and "greet" in shown.body
    await session.aclose()
    await until(lambda: not running_in(tmp_path))


async def test_a_project_s_server_starts_only_after_the_user_has_approved_it(tmp_path: Path) -> None:
    write(tmp_path / ".mcp.json", bench=entry())
    write_hooks(tmp_path / ".claude/settings.json", declared("SessionStart", "touch ran"))
    untrusted = session_in(tmp_path)
    await untrusted.hooks.begin()
    assert (untrusted.programs.waiting(), untrusted.servers.statuses) == ([], {})
    await untrusted.aclose()

    session = session_in(tmp_path, is_trusted=True)
    notices = [event.text for event in await turn(session) if isinstance(event, Notice)]
    assert [text for text in notices if "bench (.mcp.json)" in text and "SessionStart:" in text]
    assert session.servers.statuses == {}
    asked = await mcp("approve", session)
    assert isinstance(asked, ApprovePrograms)
    assert [one.name for one in asked.programs] == ["SessionStart:touch", "bench"]
    assert asked.programs[1].command_line == f"{sys.executable} -S {SERVER}"

    assert await session.programs.decide(asked.programs, {1}) == 1
    assert await session.servers.settled(60) == []
    assert "mcp__bench__echo" in session.tools and not (tmp_path / "ran").exists()
    await session.aclose()

    again = session_in(tmp_path, is_trusted=True)
    await again.hooks.begin()
    assert await again.servers.settled(60) == []
    assert "mcp__bench__echo" in again.tools
    write(tmp_path / ".mcp.json", bench=entry("pages"))
    await again.programs.reload()
    assert [one.name for one in again.programs.waiting()] == ["bench"]
    await until(lambda: "mcp__bench__echo" not in again.tools)
    await again.aclose()


async def test_the_user_s_server_runs_no_file_of_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "work" / "state"
    write(work / "own/mcp.json", bench={"command": sys.executable, "args": ["-m", "notes"]})
    (work / "notes.py").write_text("open('ran', 'w')")
    session = session_in(work)
    await session.hooks.begin()
    assert await session.servers.settled(60) == ["bench"]
    await session.aclose()
    assert not [*tmp_path.rglob("ran")] and [*state.glob("mcp-untrusted/*")] == []

    session = session_in(work, is_trusted=True)
    await session.hooks.begin()
    await session.servers.settled(60)
    await session.aclose()
    assert (work / "ran").exists()


async def test_the_prompt_shows_what_a_server_is_given(tmp_path: Path) -> None:
    given = {"env": {"LD_PRELOAD": "./x.so", "API_KEY": "sk-0123456789abcdef0123"}, "cwd": "sub"}
    write(
        tmp_path / ".mcp.json",
        bench=entry(**given),
        docs={"url": "https://a.example", "headers": {"X": "${T}"}},
    )
    session = session_in(tmp_path, is_trusted=True)
    await session.hooks.begin()
    bench, docs = (one.lines for one in session.programs.waiting())
    assert bench[1:4] == ["with LD_PRELOAD=./x.so", "with API_KEY=[redacted]", "in the folder sub"]
    assert docs[:2] == ["https://a.example", "with the header X: ${T}"]
    assert "given the values of T" in docs[2]
    await session.aclose()


async def test_a_server_that_fails_is_reported_once_and_can_be_restarted(tmp_path: Path) -> None:
    script = tmp_path / "own/script.json"
    write(tmp_path / "own/mcp.json", bad=entry("exits"), bench=entry(f"script={script}"))
    script.write_text(json.dumps({"prompts/list": {"result": {"prompts": [{}, {"name": "greet"}]}}}))
    session = session_in(tmp_path)
    await session.hooks.begin()
    assert await session.servers.settled(60) == ["bad"]

    reported = {notice.text for notice in session.waiting_notices()}
    assert reported == {
        "The MCP server 'bad' failed: exited with code 3 before answering: fatal: not a repository. "
        "/mcp shows it.",
        "Of the MCP server 'bench', 1 prompt is left out, as the protocol does not allow it (number 1: name: "
        "Field required).",
    }
    page = await mcp("bench", session)
    assert isinstance(page, ShowServers) and "warning  " in page.body
    listed = await mcp("", session)
    assert isinstance(listed, ShowServers) and "✗ bad" in listed.body and "✓ bench" in listed.body
    await mcp("restart bad", session)
    await until(session.waiting_notices)
    await session.aclose()


async def test_arguments_that_do_not_fit_are_refused_without_a_call(tmp_path: Path) -> None:
    write(tmp_path / "own/mcp.json", bench=entry())
    approver = Answering(Answer.ONCE)
    session = session_in(tmp_path, [Call("mcp__bench__echo", {"text": 1})], ["done"], approver=approver)
    await session.hooks.begin()
    await session.servers.settled(60)

    [end] = [event for event in await turn(session) if isinstance(event, ToolEnd)]

    assert not end.success and "text: 1 is not of type 'string'" in str(end.result)
    assert session.servers.statuses["bench"].calls == 0
    await session.aclose()


async def test_a_session_without_servers_starts_nothing(tmp_path: Path) -> None:
    session = session_in(tmp_path)
    await turn(session)
    assert (session.servers.approvals, session.servers.statuses) == (None, {})
    await session.aclose()
