"""`/mcp`: the MCP servers of the session, and what the user does with one."""

from __future__ import annotations

import asyncio

from forge_core.commands.columns import left_columns
from forge_core.commands.result import (
    ApprovePrograms,
    CommandNotice,
    CommandResult,
    Failure,
    ShowServers,
    Text,
)
from forge_core.commands.server_page import (
    ServerPage,
    ServerRow,
    file_problems,
    server_page,
    server_rows,
)
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession

DEFERRED = "Deferred tools are not sent with requests: the model finds them with tool_search."
_NONE = (
    "There are no MCP servers. In a shell, forge mcp add NAME -- COMMAND or forge mcp add NAME URL declares "
    "one, and forge mcp import takes over those of other programs. Your own are in {}/mcp.json."
)
_PLAIN_SIGN_IN = (
    "Run forge mcp login {} in another terminal. This session connects by itself once you have signed in."
)


async def mcp(argument: str, session: ForgeSession) -> CommandResult:
    """List the servers, show one, or do something with one."""
    word, _, name = argument.strip().partition(" ")
    name = name.strip()
    servers = session.servers
    match word if name or word == "approve" else "":
        case "approve":
            await servers.reload()
            waiting = session.programs.waiting()
            return (
                ApprovePrograms(tuple(waiting)) if waiting else CommandNotice("No server waits for approval.")
            )
        case "restart":
            await servers.restart(name)
            return CommandNotice(f"The server {name} is started again.")
        case "login":
            servers.check_sign_in(name)
            return ShowServers(_PLAIN_SIGN_IN.format(name), "", name, signs_in=True)
        case "logout":
            was_there = await servers.sign_out(name)
            return CommandNotice(f"Signed out of {name}." if was_there else f"There is no sign-in to {name}.")
        case "revoke":
            was_there = await servers.revoke(name)
            done = f"{name} is not approved any more, and was stopped."
            return CommandNotice(done if was_there else f"{name} has no approval that could be revoked.")
    await servers.begin()
    if servers.approvals is None:
        return Text(_NONE.format(safe_line(str(session.config.config_dir))), "MCP servers")
    if word:
        page = await load_page(session, word)
        if page is None:
            return Failure(f"There is no server {safe_line(word)!r}; /mcp lists them.")
        return ShowServers(page.text(), f"MCP server {word}", word)
    rows = await load_rows(session)
    lines = [left_columns([_columns(row) for row in rows]), *file_problems(session)]
    deferred = ["", DEFERRED] if session.tools.deferred else []
    return ShowServers("\n".join([*lines, *deferred]), "MCP servers")


async def load_rows(session: ForgeSession) -> list[ServerRow]:
    """Return the servers in a line each."""
    await _count_tokens(session)
    return server_rows(session)


async def load_page(session: ForgeSession, name: str) -> ServerPage | None:
    """Return the page about a server; None if no file declares it."""
    await _count_tokens(session)
    return await asyncio.to_thread(server_page, session, name)


async def _count_tokens(session: ForgeSession) -> None:
    """Count once what the definitions of the tools take; that of many takes a while."""
    await asyncio.to_thread(lambda: [tool.tokens for tool in session.servers.tools])


def _columns(row: ServerRow) -> tuple[str, ...]:
    about = ", ".join(row.facts) or row.error or row.source
    return f"{row.sign} {row.name}", row.state, about
