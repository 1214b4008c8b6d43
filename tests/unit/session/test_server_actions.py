"""What the user does with an MCP server in a session: sign in and out, revoke an approval, switch tools."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.commands.mcp_command import load_page, mcp
from forge_core.commands.result import CommandNotice, ShowServers
from forge_core.commands.server_page import ServerAction, ServerPage, SwitchState, switch_tool
from forge_core.config.project_state import read_project_state
from forge_core.errors import ConfigError
from forge_core.mcp.sign_in_attempt import SignInState
from forge_core.session.session import ForgeSession
from tests.support.mcp_oauth_server import OAuthMcpServer, browse
from tests.support.server_sessions import declare, server_session
from tests.support.sessions import scripted_session


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def page_of(session: ForgeSession, name: str) -> ServerPage:
    page = await load_page(session, name)
    assert page is not None
    return page


async def session_with(root: Path, server: OAuthMcpServer) -> ForgeSession:
    """A session whose server `docs` wants a sign-in."""
    (root / "own").mkdir()
    (root / "own/mcp.json").write_text(json.dumps({"mcpServers": {"docs": {"url": server.url}}}))
    session = scripted_session(root, [["ok"]])
    await session.hooks.begin()
    assert await session.servers.settled(60) == ["docs"]
    return session


async def test_the_user_signs_in_and_out_and_the_server_connects_by_itself(tmp_path: Path) -> None:
    with OAuthMcpServer() as server:
        session = await session_with(tmp_path, server)
        servers = session.servers
        [notice] = [one.text for one in session.waiting_notices()]
        assert notice == (
            "The MCP server 'docs' needs a sign-in: /mcp login docs, or in a shell forge mcp login docs."
        )
        page = await page_of(session, "docs")
        assert (page.row.sign, page.row.state) == ("!", "needs sign-in")
        assert page.actions == (ServerAction.SIGN_IN, ServerAction.RESTART)

        opened: list[str] = []

        async def open_page(url: str) -> bool:
            opened.append(url)
            return (await asyncio.to_thread(browse, url))[0] == 200

        servers.open_page = open_page
        attempt = servers.sign_in("docs")
        assert servers.sign_in("docs") is attempt
        await until(lambda: attempt.state is SignInState.WAITING)
        assert (opened, attempt.host) == ([], "127.0.0.1")  # no browser by itself
        attempt.paste("http://127.0.0.1:1/callback?code=x&state=other")
        await until(lambda: attempt.refusal)
        assert await attempt.open_page() and opened == [attempt.url]
        await until(lambda: attempt.is_over)
        assert attempt.report.startswith("Signed in to docs (loopback). It grants: read. Kept in a file")
        await until(lambda: servers.statuses["docs"].is_ready)
        page = await page_of(session, "docs")
        assert page.actions == (ServerAction.RESTART, ServerAction.SIGN_IN, ServerAction.SIGN_OUT)
        assert [name for name, _ in page.facts if name == "signed in"]

        await mcp("logout docs", session)
        await until(lambda: servers.statuses["docs"].report.state == "needs sign-in")
        again = await mcp("logout docs", session)
        assert isinstance(again, CommandNotice) and again.text == "There is no sign-in to docs."
        await session.aclose()


@pytest.mark.parametrize("ends", ["cancel", "aclose", "denies"])
async def test_a_sign_in_ends_without_tokens(tmp_path: Path, ends: str) -> None:
    with OAuthMcpServer(*([ends] if ends == "denies" else [])) as server:
        session = await session_with(tmp_path, server)
        attempt = session.servers.sign_in("docs")
        await until(lambda: attempt.state is SignInState.WAITING)
        if ends == "cancel":
            await attempt.cancel()
            await attempt.cancel()
        elif ends == "denies":
            await asyncio.to_thread(browse, attempt.url)
            await until(lambda: attempt.is_over)
        await session.aclose()
        expected = SignInState.FAILED if ends == "denies" else SignInState.CANCELLED
        assert attempt.state is expected and not server.tokens
        assert ("(access_denied): the user said no" in attempt.report) is (ends == "denies")


async def test_only_a_server_with_a_url_has_a_sign_in(tmp_path: Path) -> None:
    async with server_session(tmp_path) as session:
        for name, why in (("bench", "'bench' is a program"), ("other", "no server 'other' that may start")):
            with pytest.raises(ConfigError, match=why):
                await mcp(f"login {name}", session)


async def test_a_revoked_approval_ends_the_server_and_is_asked_for_again(tmp_path: Path) -> None:
    declare(tmp_path)
    (tmp_path / "own/mcp.json").rename(tmp_path / ".mcp.json")
    session = scripted_session(tmp_path, [["ok"]], is_trusted=True)
    await session.hooks.begin()
    assert (await page_of(session, "bench")).actions == (ServerAction.APPROVE,)
    assert await session.programs.decide(session.programs.waiting(), {0}) == 1
    assert await session.servers.settled(60) == []
    page = await page_of(session, "bench")
    [approved] = [text for name, text in page.facts if name == "approved"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d, fingerprint [0-9a-f]{12}", approved)
    assert page.actions == (ServerAction.RESTART, ServerAction.REVOKE)

    done = await mcp("revoke bench", session)

    assert isinstance(done, CommandNotice) and "was stopped" in done.text
    assert [one.name for one in session.programs.waiting()] == ["bench"]
    await until(lambda: "mcp__bench__echo" not in session.tools)
    await session.aclose()
    again = scripted_session(tmp_path, [["ok"]], is_trusted=True)
    await again.hooks.begin()
    assert [one.name for one in again.programs.waiting()] == ["bench"]
    await again.aclose()


async def test_a_tool_that_is_switched_off_stays_so_in_the_folder(tmp_path: Path) -> None:
    async with server_session(tmp_path) as session:
        config = session.config

        async def states() -> dict[str, SwitchState]:
            return {tool.title: tool.state for tool in (await page_of(session, "bench")).tools}

        def kept() -> tuple[str, ...]:
            return read_project_state(config.state_dir, config.working_dir)[0].deny

        session.policy.add("allow", "mcp__bench__echo")
        session.policy.add("deny", "mcp__bench")
        assert {*(await states()).values()} == {SwitchState.DENIED}
        session.policy.remove("mcp__bench")
        assert {*(await states()).values()} == {SwitchState.ON}
        assert switch_tool(session, "mcp__bench__echo", is_on=False) == ""
        assert "mcp__bench__echo" not in session.tools and (await states())["echo"] is SwitchState.OFF
        page = await page_of(session, "bench")
        assert page.tools_head.startswith("Tools, 10 of 11 on, ") and "(off)" in page.text()
        assert kept() == ("mcp__bench__echo",)

        assert switch_tool(session, "mcp__bench__echo", is_on=True) == ""
        assert "mcp__bench__echo" in session.tools and (await states())["echo"] is SwitchState.ON
        assert kept() == ()
        assert ("allow", "mcp__bench__echo") in session.policy.rules()


async def test_the_list_and_the_page_are_shown(tmp_path: Path) -> None:
    async with server_session(tmp_path) as session:
        listed, page = await mcp("", session), await mcp("bench", session)
    assert isinstance(listed, ShowServers) and (listed.server, listed.title) == ("", "MCP servers")
    assert isinstance(page, ShowServers) and page.server == "bench"
