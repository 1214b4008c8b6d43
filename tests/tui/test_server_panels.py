"""The panels of `/mcp`: the list, the page of a server, and signing in."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from forge_core.config.forge_config import ForgeConfig
from forge_core.session.session import ForgeSession
from forge_tui.screens.panels.servers.server_panel import ServerPanel
from forge_tui.screens.panels.servers.servers_panel import ServersPanel
from forge_tui.screens.panels.servers.sign_in_panel import SignInPanel
from tests.support.chat_app import ChatApp, make_app, press_until, ready, say, shown, until
from tests.support.mcp_bench import SERVER
from tests.support.mcp_oauth_server import OAuthMcpServer, browse
from tests.support.sessions import scripted_session

ODD = "an odd\x1b[31m tool \u202e[red]name[/red] " + "x" * 90


@asynccontextmanager
async def app_with(
    config: ForgeConfig, root: Path, servers: dict[str, Any], size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Pilot[None], ChatApp, ForgeSession]]:
    """The app around a real session with servers of the user, all of which have settled."""
    (root / "own").mkdir(parents=True)
    (root / "own/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    session = scripted_session(root, [["ok"]])
    await session.hooks.begin()
    await session.servers.settled(60)
    app = make_app(config, make_session=lambda responder, scripted: session)
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        yield pilot, app, session


def bench(*faults: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", SERVER, *faults]}


def is_open(app: ChatApp, kind: type) -> bool:
    return isinstance(app.screen, kind)


async def test_servers_of_a_folder_that_is_not_trusted_and_broken_files_are_listed(
    config: ForgeConfig, tmp_path: Path
) -> None:
    (tmp_path / ".mcp.json").write_text(
        '{"mcpServers": {"git": {"command": "uvx"}, "a b": {"command": "x"}}}'
    )
    (tmp_path / "own").mkdir()
    (tmp_path / "own/mcp.json").write_text('"mcpServers": {}')
    session = scripted_session(tmp_path, [["ok"]])
    app = make_app(config, make_session=lambda responder, scripted: session)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/mcp")
        await until(pilot, lambda: is_open(app, ServersPanel) and "put { before it" in shown(app))
        assert "· git  folder not trusted: /trust yes · .mcp.json" in shown(app)
        assert "· a b  folder not trusted: /trust yes" in shown(app)


async def test_the_list_opens_a_page_whose_tools_can_be_switched(config: ForgeConfig, tmp_path: Path) -> None:
    tools = [
        {"name": ODD, "description": "\x1b]0;owned\x07 [bold]x[/bold]", "inputSchema": {"type": "object"}},
        {"name": "echo", "description": "Return the text.", "inputSchema": {"type": "object"}},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"tools/list": {"result": {"tools": tools}}}))
    servers = {
        "good": bench(f"script={script}"),
        "a-rather-long-name-of-32-letters": bench("exits"),
        "not a name \x1b[31m": bench(),
    }
    async with app_with(config, tmp_path, servers) as (pilot, app, session):
        await say(pilot, "/mcp")
        await until(pilot, lambda: is_open(app, ServersPanel))
        await until(pilot, lambda: "MCP servers (1 of 3 ready)" in shown(app))
        text = shown(app)
        assert "✓ good" in text and "ready · 2 tools · " in text
        assert "✗ a-rather-long-name-of-32-letters" in text
        await pilot.press("down")
        await until(pilot, lambda: "fatal: not a repository" in shown(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "must be 1 to 32 letters" in shown(app))
        assert is_open(app, ServersPanel)  # what cannot be used has no page

        await pilot.press("pageup")
        await until(pilot, lambda: "❯ ✓ good" in shown(app))
        await pilot.press("k", "pagedown", "pageup", "enter")
        await until(pilot, lambda: is_open(app, ServerPanel) and "Restart" in shown(app))
        assert "it needs no approval" in shown(app)
        await pilot.press("down")
        await until(pilot, lambda: "Enter switch it off" in shown(app))
        assert "\x1b" not in shown(app) and "\u202e" not in shown(app)
        wrapped = "".join(line.strip("│ ❯") for line in shown(app).splitlines())
        assert "[red]name[/red]" in wrapped and wrapped.count("x") > 90
        await pilot.press("down", "enter")
        await until(pilot, lambda: "[ ] echo" in shown(app))
        assert "mcp__good__echo" not in session.tools
        assert "echo is off in this folder, from now on" in shown(app)
        await pilot.press("space")
        await until(pilot, lambda: "[x] echo" in shown(app))
        assert "mcp__good__echo" in session.tools
        await pilot.press("pagedown")
        await until(pilot, lambda: "state" not in shown(app))
        await pilot.press("pageup")
        await until(pilot, lambda: "state" in shown(app))
        await pilot.press("q")
        await until(pilot, lambda: is_open(app, ServersPanel))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_signing_in_from_the_page(config: ForgeConfig, tmp_path: Path) -> None:
    with OAuthMcpServer() as server:
        entry = {"docs": {"url": server.url}}
        async with app_with(config, tmp_path, entry, (120, 36)) as (pilot, app, session):
            await until(pilot, lambda: "needs a sign-in: /mcp login docs" in shown(app))
            opened: list[str] = []

            async def open_page(url: str) -> bool:
                opened.append(url)
                await asyncio.to_thread(browse, url)
                return True

            async def has_browser() -> bool:
                return True

            session.servers.open_page, session.servers.has_browser = open_page, has_browser
            await say(pilot, "/mcp docs")
            await until(pilot, lambda: "❯ Sign in" in shown(app))

            # Esc cancels
            await pilot.press("enter")
            await until(pilot, lambda: "Sign in at 127.0.0.1." in shown(app))
            attempt = session.servers.sign_in("docs")
            await pilot.press("escape")
            await until(pilot, lambda: is_open(app, ServerPanel))
            assert (attempt.state, opened) == ("cancelled", [])

            # a wrong address is refused, and the browser opens only when that is chosen
            await pilot.press("enter")
            await until(pilot, lambda: is_open(app, SignInPanel) and app.screen.has_class("-waiting"))
            app.clock.pass_(2)
            field = app.screen.query_one(Input)
            field.value = "http://127.0.0.1:1/callback?code=1&state=2"
            await pilot.press("enter")
            await until(pilot, lambda: "does not end the sign-in" in shown(app))
            assert opened == []
            styles = [
                segment.style
                for strip in app.screen._compositor.render_strips()
                for segment in strip
                if segment.style and segment.style.link
            ]
            url = session.servers.sign_in("docs").url
            assert {style.link for style in styles} == {url} and len(
                {style._link_id for style in styles}
            ) == 1
            await pilot.press("enter")
            await until(pilot, lambda: is_open(app, ServerPanel) and "Signed in to docs" in shown(app))
            assert opened == [url]
            await until(pilot, lambda: session.servers.statuses["docs"].is_ready)
            await until(pilot, lambda: "Sign out" in shown(app))
            await press_until(pilot, "escape", lambda: app.screen is app.chat)
            await until(pilot, lambda: "Signed in to docs (loopback)" in shown(app))


async def test_a_sign_in_that_fails_can_be_tried_again_and_goes_on_without_its_panel(
    config: ForgeConfig, tmp_path: Path
) -> None:
    with OAuthMcpServer("denies") as server:
        async with app_with(config, tmp_path, {"docs": {"url": server.url}}) as (pilot, app, session):
            await say(pilot, "/mcp login docs")
            await until(pilot, lambda: is_open(app, SignInPanel) and app.screen.has_class("-waiting"))
            assert "No browser can be opened from here" in shown(app)
            first = session.servers.sign_in("docs")
            await asyncio.to_thread(browse, first.url)
            await until(pilot, lambda: "access_denied" in shown(app) and "Try again" in shown(app))
            app.clock.pass_(2)
            await pilot.press("enter")
            await until(pilot, lambda: app.screen.has_class("-waiting"))
            second = session.servers.sign_in("docs")
            assert second is not first
            app.screen.withdraw()  # as for a prompt
            await until(pilot, lambda: is_open(app, ServerPanel))
            assert second.state == "waiting"
