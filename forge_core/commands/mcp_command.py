"""`/mcp`: the MCP servers of the session, their tools, and which wait for approval."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forge_core.commands.columns import columns, left_columns
from forge_core.commands.result import ApprovePrograms, CommandNotice, CommandResult, Failure, Text
from forge_core.sanitize import safe_line, safe_text
from forge_core.session.session import ForgeSession

if TYPE_CHECKING:
    from forge_core.mcp.mcp_tool import McpTool
    from forge_core.mcp.server_files import ServerEntry
    from forge_core.mcp.servers import ServerStatus

_STATES = {
    "new": "not approved: /mcp approve",
    "changed": "changed since it was approved: /mcp approve",
    "declined": "declined",
}
_SIGNS = {"ready": "✓", "failed": "✗", "needs sign-in": "!"}
_DEFERRED = "\nDeferred tools are not sent with requests: the model finds them with tool_search."
_ERROR_CHARS = 160
_URI_CHARS = 120
_LOG_LINES = 12


async def mcp(argument: str, session: ForgeSession) -> CommandResult:
    """List the servers, show or restart one, or ask about those that wait."""
    word, _, name = argument.strip().partition(" ")
    if word == "approve":
        await session.servers.reload()
        waiting = session.programs.waiting()
        return ApprovePrograms(tuple(waiting)) if waiting else CommandNotice("No server waits for approval.")
    if word == "restart":
        await session.servers.restart(name.strip())
        return CommandNotice(f"The server {safe_line(name)} is started again.")
    await session.servers.begin()
    await asyncio.to_thread(lambda: [tool.tokens for tool in session.servers.tools])  # counted once
    approvals = session.servers.approvals
    if approvals is None:
        config_dir = safe_line(str(session.config.config_dir))
        return Text(f"There are no MCP servers. Your own go into {config_dir}/mcp.json.", "MCP servers")
    if word:
        entry = next((one for one in approvals.table.servers if one.name == word), None)
        if entry is None:
            return Failure(f"There is no server {safe_line(word)!r}; /mcp lists them.")
        return Text("\n\n".join(_details(session, entry)), f"MCP server {entry.name}")
    rows = [_row(session, entry) for entry in approvals.table.servers]
    rows += [
        (f"✗ {one.name}", "cannot be used", f"{one.reason} ({one.source.label})")
        for one in approvals.table.unusable
    ]
    deferred = [_DEFERRED] if session.tools.deferred else []
    return Text("\n".join([left_columns(rows), *approvals.table.problems, *deferred]), "MCP servers")


def _row(session: ForgeSession, entry: ServerEntry) -> tuple[str, ...]:
    """Return sign and name, state, and what it offers or why it does not."""
    status = session.servers.statuses.get(entry.name)
    state = server_state(session, entry)
    sign = _SIGNS.get(state, "·")
    if status is None:
        return f"{sign} {entry.name}", state, entry.source.label
    tools = _tools(session, entry)
    calls = f", {status.calls} call{'s'[: status.calls != 1]}" if status.calls else ""
    offer = f"{len(tools)} tool{'s'[: len(tools) != 1]}, {_cost(session, tools)}{calls}" if tools else ""
    return f"{sign} {entry.name}", state, offer or safe_line(status.report.error)[:_ERROR_CHARS]


def server_state(session: ForgeSession, entry: ServerEntry) -> str:
    """Return the state of a server in a few words."""
    approvals = session.servers.approvals
    assert approvals is not None
    if entry.is_disabled:
        return "disabled"
    if text := _STATES.get(str(approvals.state(entry))):
        return text
    status = session.servers.statuses.get(entry.name)
    return "starting" if status is None else str(status.report.state)


def _details(session: ForgeSession, entry: ServerEntry) -> Iterator[str]:
    """Yield the parts of the page about a server."""
    status = session.servers.statuses.get(entry.name)
    rows = [("state", server_state(session, entry)), ("from", entry.source.label)]
    rows.append(("runs" if entry.command else "at", safe_line(entry.command_line)))
    if entry.sandbox:
        rows.append(("sandbox", entry.sandbox))
    if status is not None:
        report = status.report
        rows += [("server", safe_line(report.title))] if report.title else []
        if report.protocol:
            rows.append(("protocol", f"{report.protocol}, connected in {report.connect_ms:,} ms"))
        rows += [("error", safe_line(report.error))] if report.error else []
        rows += [("warning", safe_line(report.warning))] if report.warning else []
    rows += [("warning", warning) for warning in entry.warnings]
    yield columns(rows)
    if status is not None:
        yield from _offer(session, entry, status)


def _offer(session: ForgeSession, entry: ServerEntry, status: ServerStatus) -> Iterator[str]:
    if tools := _tools(session, entry):
        lines = [(f"  {safe_line(tool.listed.name)}", _first_line(tool.listed.description)) for tool in tools]
        yield f"Tools, {_cost(session, tools)}\n{columns(lines)}"
    prompts = [one for one in session.servers.offers.prompts if one.server == entry.name]
    if prompts:
        yield "Prompts\n" + columns(
            [(f"  /{one.command} {one.hint}".rstrip(), one.summary) for one in prompts]
        )
    items = [*status.resources, *status.templates]
    if items:
        found = [
            (f"  @{entry.name}:{_uri(one)}", _first_line(str(one.get("title") or one.get("name") or "")))
            for one in items
        ]
        yield f"Resources\n{columns(found)}"
    written = [safe_line(line) for line in safe_text(status.log).splitlines() if line.strip()]
    if written:
        yield "\n".join(["Standard error", *(f"  {line}" for line in written[-_LOG_LINES:])])


def _tools(session: ForgeSession, entry: ServerEntry) -> list[McpTool]:
    return [tool for tool in session.servers.tools if tool.server.name == entry.name]


def _cost(session: ForgeSession, tools: list[McpTool]) -> str:
    """Return about how many tokens the definitions take in each request, or would take if they were sent."""
    names = {tool.name for tool in session.tools.deferred}
    deferred = [tool for tool in tools if tool.name in names]
    sent = sum(tool.tokens for tool in tools if tool.name not in names)
    saved = f"{sum(tool.tokens for tool in deferred):,} tokens"
    if len(deferred) == len(tools):
        return f"deferred ({saved})"
    return f"{sent:,} tokens" + (f", {len(deferred)} deferred ({saved})" if deferred else "")


def _uri(resource: Mapping[str, Any]) -> str:
    return safe_line(str(resource.get("uri") or resource.get("uriTemplate") or ""))[:_URI_CHARS]


def _first_line(text: str) -> str:
    return safe_line(next((line for line in text.splitlines() if line.strip()), ""))[:100]
