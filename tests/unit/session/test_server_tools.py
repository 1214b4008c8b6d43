"""Tools of MCP servers in a session: which of them the model is offered, and what a prompt grants."""

from __future__ import annotations

from pathlib import Path

from forge_core.approval import Answer
from forge_core.commands.result import Text
from forge_core.session.session import ForgeSession
from tests.support.commands import run_command
from tests.support.scripted_llm import Call
from tests.support.server_tools import LOG, Recorder, declared, server_tool
from tests.support.sessions import Answering, scripted_session


def offered(session: ForgeSession) -> list[str]:
    return [tool.name for tool in session.tools]


async def test_a_denied_tool_is_not_offered_to_the_model(tmp_path: Path) -> None:
    server = declared(tmp_path)
    tools = [server_tool(server, Recorder(), {**LOG, "name": name}) for name in ("log", "push")]
    session = scripted_session(tmp_path, [["x"]], tools=tools)
    seen = [offered(session)]
    for line in (
        "add deny mcp__git__push",
        "add deny mcp__git__*",
        "remove mcp__git__*",
        "add ask mcp__git",
        "add allow mcp__git",
        "remove mcp__git__push",
    ):
        assert isinstance(await run_command(f"/permissions {line}", session), Text)
        seen.append(offered(session))
    log, push = "mcp__git__log", "mcp__git__push"
    assert seen == [[log, push], [log], [], [log], [log], [log], [log, push]]


async def test_a_grant_for_the_session_holds_for_the_next_call(tmp_path: Path) -> None:
    caller = Recorder()
    tool = server_tool(declared(tmp_path), caller)
    approver = Answering(Answer.SESSION)
    call = Call(tool.name, {"repo": "."})
    session = scripted_session(tmp_path, [[call], [call], ["done"]], tools=[tool], approver=approver)
    _ = [event async for event in session.send("go")]
    assert len(approver.asked) == 1 and len(caller.calls) == 2
    listing = await run_command("/permissions", session)
    assert isinstance(listing, Text) and "mcp__git__log" in listing.body
