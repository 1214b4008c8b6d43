"""MCP servers that the editor declares."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import acp
import pytest
from acp import schema

from forge_core.integrations.acp.server import declared_servers
from forge_core.runtime import load_session_config
from tests.support.acp_editor import Editor, connected
from tests.support.mcp_bench import SERVER
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.unit.integrations.acp.test_session_state import FORMS
from tests.unit.integrations.acp.test_turns import at


@pytest.mark.slow
async def test_a_server_of_the_editor_runs_for_the_session_each_call_asks_and_it_may_ask_the_user(
    tmp_path: Path,
) -> None:
    editor = Editor(form_answer={"q0": "Ada"})
    mine = schema.McpServerStdio(
        name="My Server",
        command=sys.executable,
        args=["-S", SERVER],
        env=[schema.EnvVariable(name="FROM_EDITOR", value="yes")],
    )
    replies = [
        tool_answer(("m1", "mcp__My-Server__echo", {"text": "hi there"})),
        tool_answer(("m2", "mcp__My-Server__ask", {})),
        answer("ok"),
    ]
    with SseServer(*replies) as server:
        async with connected(editor, flags=at(server), capabilities=FORMS) as agent:
            session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[mine])).session_id
            # a prompt of a server waits until the servers have connected
            await agent.prompt(session_id=session, prompt=[acp.text_block("/mcp__My-Server__nosuch")])
            await agent.prompt(session_id=session, prompt=[acp.text_block("go")])
        results = [str(request.json["messages"][-1]["content"]) for request in server.requests[1:]]
    assert "hi there" in results[0] and '"content": {"name": "Ada"}' in results[1]
    [(message, form)] = editor.forms
    assert "My-Server" in message and "Who?" in str(form)
    (call, _) = editor.asked[0]
    shown = "".join(part.content.text for part in call.content)
    assert "My-Server" in shown and "hi there" in shown


def test_a_server_of_the_editor_never_takes_the_name_of_one_of_the_users(tmp_path: Path) -> None:
    """Rules such as `mcp__git` are about the user's own server."""
    mine = schema.McpServerStdio(name="git", command="x", args=[], env=[])
    assert list(declared_servers([mine, mine], {"git", "git-2"})) == ["git-3", "git-4"]


@pytest.mark.slow
async def test_the_users_server_keeps_its_name(tmp_path: Path) -> None:
    config = load_session_config(tmp_path)
    config.config_dir.mkdir(parents=True, exist_ok=True)
    (config.config_dir / "mcp.json").write_text(
        json.dumps({"mcpServers": {"git": {"command": "/nowhere/own"}}})
    )
    editor = Editor()
    other = schema.McpServerStdio(name="git", command="/nowhere/other", args=[], env=[])
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[other])).session_id
        # a prompt of a server waits until it is known which servers there are
        await agent.prompt(session_id=session, prompt=[acp.text_block("/mcp__git__nosuch")])
        await agent.prompt(session_id=session, prompt=[acp.text_block("/mcp")])
    assert "git-2" in editor.said and "git " in editor.said


def test_servers_are_entries_with_valid_names() -> None:
    header = schema.HttpHeader(name="A", value="b")
    found = declared_servers(
        [
            schema.McpServerStdio(name="a b/c", command="x", args=["1"], env=[]),
            schema.HttpMcpServer(type="http", name="a b c", url="https://h/mcp", headers=[header]),
            schema.SseMcpServer(type="sse", name="é" * 50, url="https://h/sse", headers=[]),
            schema.AcpMcpServer(type="acp", name="inner", server_id="1"),
        ]
    )
    assert found == {
        "a-b-c": {"command": "x", "args": ["1"], "env": {}},
        "a-b-c-2": {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}},
        "server": {"type": "sse", "url": "https://h/sse", "headers": {}},
    }
