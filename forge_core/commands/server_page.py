"""What `/mcp` shows of the MCP servers of a session: a line for each, and a page about one.

All texts are safe to display; names, descriptions and what a server has written are its own claims.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from forge_core.commands.columns import columns
from forge_core.config.save import forget_project_rule, save_project_rule
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line, safe_text
from forge_core.session.session import ForgeSession

if TYPE_CHECKING:
    from forge_core.mcp.mcp_tool import McpTool
    from forge_core.mcp.server_files import ServerEntry
    from forge_core.mcp.servers import ServerStatus

CONNECTING = ("starting", "restarting")
"""The states that do not last."""
_STATES = {
    "new": "not approved: /mcp approve",
    "changed": "changed since it was approved: /mcp approve",
    "declined": "declined",
}
_UNTRUSTED = "folder not trusted: /trust yes"
_SIGNS = {"ready": "✓", "failed": "✗", "cannot be used": "✗", "needs sign-in": "!"} | dict.fromkeys(
    (_STATES["new"], _STATES["changed"]), "!"
)
_ERROR_CHARS = 400
_URI_CHARS = 400
_SUMMARY_CHARS = 200
_LOG_LINES = 12


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One server in the list."""

    name: str
    sign: str
    state: str
    facts: tuple[str, ...] = ()
    """What it offers, and how often it was called."""
    error: str = ""
    """The last one, or why it cannot be used."""
    source: str = ""
    """The file that declares it."""
    has_page: bool = True

    @property
    def summary(self) -> str:
        """All but the name, in one line."""
        about = self.facts or (() if self.error else (self.source,))
        error = f"last error: {self.error}" if self.facts and self.error else self.error
        return " · ".join(filter(None, (self.state, *about, error)))


class ServerAction(StrEnum):
    """What can be done with a server; the value is its label."""

    APPROVE = "Approve …"
    RESTART = "Restart"
    SIGN_IN = "Sign in …"
    SIGN_OUT = "Sign out"
    REVOKE = "Revoke the approval, and stop it"


class SwitchState(StrEnum):
    """Whether the model is offered a tool."""

    ON = "on"
    OFF = "off"
    """The user has switched it off."""
    DENIED = "denied by another rule: /permissions"
    LEFT_OUT = "left out by the entry's tools"


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool of a server."""

    title: str
    """Its own name."""
    name: str
    """The one for the model, and for rules; empty for a tool that the entry leaves out."""
    summary: str
    state: SwitchState

    @property
    def can_be_switched(self) -> bool:
        return self.state in (SwitchState.ON, SwitchState.OFF)


@dataclass(frozen=True, slots=True)
class ServerPage:
    """All about one server."""

    row: ServerRow
    facts: tuple[tuple[str, str], ...]
    """Names and texts."""
    actions: tuple[ServerAction, ...]
    tools: tuple[ToolRow, ...]
    cost: str
    """What the definitions of the tools take."""
    prompts: tuple[tuple[str, str], ...]
    """Each as it is typed, and what it does."""
    resources: tuple[tuple[str, str], ...]
    """Each as it is typed, and its title."""
    log: tuple[str, ...]
    """The last lines that it has written to standard error."""

    @property
    def tools_head(self) -> str:
        on = sum(tool.state is SwitchState.ON for tool in self.tools)
        count = "" if on == len(self.tools) else f"{on} of {len(self.tools)} on, "
        return f"Tools, {count}{self.cost}"

    def text(self) -> str:
        """Return the page as plain text."""
        return "\n\n".join(self._parts())

    def _parts(self) -> Iterator[str]:
        yield columns(self.facts)
        if self.tools:
            rows = [
                (f"  {one.title}", one.summary if one.state is SwitchState.ON else f"({one.state})")
                for one in self.tools
            ]
            yield f"{self.tools_head}\n{columns(rows)}"
        for head, found in (("Prompts", self.prompts), ("Resources", self.resources)):
            if found:
                yield f"{head}\n" + columns([(f"  {name}", about) for name, about in found])
        if self.log:
            yield "\n".join(["Standard error", *(f"  {line}" for line in self.log)])


def server_rows(session: ForgeSession) -> list[ServerRow]:
    """Return all declared servers, those that cannot be used last."""
    approvals = session.servers.approvals
    if approvals is None:
        return []
    rows = [_row(session, entry) for entry in approvals.table.servers]
    for one in approvals.table.unusable:
        state = "cannot be used"
        error = f"{one.reason} ({one.source.label})"
        rows.append(ServerRow(one.name, _SIGNS[state], state, error=error, has_page=False))
    for table in session.servers.untrusted:
        named = [(one.name, one.source) for one in table.servers]
        named += [(one.name, one.source) for one in table.unusable]
        rows += [ServerRow(name, "·", _UNTRUSTED, source=at.label, has_page=False) for name, at in named]
    return rows


def file_problems(session: ForgeSession) -> list[str]:
    """Return what is wrong with the files that declare servers, as sentences."""
    servers = session.servers
    counting = servers.approvals.table.problems if servers.approvals is not None else ()
    return [*counting, *(problem for table in servers.untrusted for problem in table.problems)]


def server_page(session: ForgeSession, name: str) -> ServerPage | None:
    """Return the page about a server; None if no file declares it. Blocks while it reads files."""
    approvals = session.servers.approvals
    entry = next((one for one in approvals.table.servers if one.name == name), None) if approvals else None
    if entry is None:
        return None
    status = session.servers.statuses.get(name)
    signed_in_at = session.servers.signed_in_at(name)
    offered = _tools(session, entry)
    return ServerPage(
        _row(session, entry),
        tuple(_facts(session, entry, status, signed_in_at)),
        tuple(_actions(session, entry, signed_in_at)),
        tuple(_tool_rows(session, status, offered)),
        _cost(session, offered),
        tuple(
            (f"/{one.command} {one.hint}".rstrip(), one.summary)
            for one in session.servers.offers.prompts
            if one.server == name
        ),
        tuple(_resources(entry, status)),
        tuple(_log(status)),
    )


def page_version(session: ForgeSession, name: str) -> Hashable:
    """Return a value that differs once the page about a server may differ, except in the date of the sign-in.
    O(rules), whatever the server offers."""
    status = session.servers.statuses.get(name)
    approvals, rules = session.servers.approvals, session.policy.rules()
    if status is None:
        return id(approvals), rules
    sizes = (id(status.tools), id(status.prompts), id(status.resources), len(status.log))
    return id(approvals), rules, status.report, status.calls, status.last_error, sizes


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


def switch_tool(session: ForgeSession, name: str, *, is_on: bool) -> str:
    """Let the model be offered a server's tool by this name, or not any more; return why that is not kept for
    later sessions in this folder, empty if it is."""
    config = session.config
    if is_on:
        session.policy.remove(name, "deny")
    else:
        session.policy.add("deny", name)
    session.rules_changed()
    try:
        if is_on:
            forget_project_rule(config.state_dir, config.working_dir, name, ("deny",))
        else:
            save_project_rule(config.state_dir, config.working_dir, name, "deny")
    except ConfigError as error:
        return str(error)
    return ""


def _row(session: ForgeSession, entry: ServerEntry) -> ServerRow:
    status = session.servers.statuses.get(entry.name)
    state = server_state(session, entry)
    sign = _SIGNS.get(state, "·")
    if status is None:
        return ServerRow(entry.name, sign, state, source=entry.source.label)
    tools = _tools(session, entry)
    facts = (_count(len(tools), "tool"), _cost(session, tools)) if tools else ()
    calls = (_count(status.calls, "call"),) if status.calls else ()
    error = safe_line(status.last_error)[:_ERROR_CHARS]
    return ServerRow(entry.name, sign, state, (*facts, *calls), error, entry.source.label)


def _facts(
    session: ForgeSession, entry: ServerEntry, status: ServerStatus | None, signed_in_at: float
) -> Iterator[tuple[str, str]]:
    yield "state", server_state(session, entry)
    yield "from", entry.source.label
    yield "runs" if entry.command else "at", safe_line(entry.command_line)
    if entry.sandbox:
        yield "sandbox", entry.sandbox
    approvals = session.servers.approvals
    assert approvals is not None
    if entry.name in approvals.named:
        yield "approved", "for this run, with --approve"
    elif (judged := approvals.judged.get(entry.name)) is None:
        yield "approved", "it needs no approval: the file is yours"
    elif approvals.may_start(entry) and judged.judgement.at is not None:
        yield "approved", f"{_date(judged.judgement.at)}, fingerprint {judged.judgement.seen.digest[:12]}"
    if signed_in_at:
        yield "signed in", _date(signed_in_at)
    if status is not None:
        report = status.report
        if report.title:
            yield "server", safe_line(report.title)
        if report.protocol:
            yield "protocol", f"{report.protocol}, connected in {report.connect_ms:,} ms"
        if status.calls:
            yield "calls", f"{status.calls:,}"
        if status.last_error:
            yield "error" if report.error else "last error", safe_line(status.last_error)
        if report.warning:
            yield "warning", safe_line(report.warning)
    for warning in entry.warnings:
        yield "warning", warning


def _actions(session: ForgeSession, entry: ServerEntry, signed_in_at: float) -> Iterator[ServerAction]:
    approvals = session.servers.approvals
    assert approvals is not None
    if entry.is_disabled:
        return
    if not approvals.may_start(entry):
        if any(one.server.name == entry.name for one in approvals.waiting):
            yield ServerAction.APPROVE
        return
    if entry.url and not entry.command:
        status = session.servers.statuses.get(entry.name)
        needs_sign_in = status is not None and status.report.state == "needs sign-in"
        if needs_sign_in:
            yield ServerAction.SIGN_IN
            yield ServerAction.RESTART
        else:
            yield ServerAction.RESTART
            yield ServerAction.SIGN_IN
        if signed_in_at:
            yield ServerAction.SIGN_OUT
    else:
        yield ServerAction.RESTART
    if entry.name in approvals.judged and entry.name not in approvals.named:
        yield ServerAction.REVOKE


def _tool_rows(
    session: ForgeSession, status: ServerStatus | None, offered: list[McpTool]
) -> Iterator[ToolRow]:
    by_name = {tool.listed.name: tool for tool in offered}
    own = {entry.rule for entry in session.policy.rules() if entry.origin == "deny"} - {*session.config.deny}
    for listed in status.tools if status is not None else ():
        title, summary = safe_line(listed.name), _first_line(listed.description)
        tool = by_name.get(listed.name)
        if tool is None:
            yield ToolRow(title, "", summary, SwitchState.LEFT_OUT)
            continue
        state = SwitchState.ON
        if tool.name in own:
            state = SwitchState.OFF
        elif session.policy.denies(tool.name, tool.judged):
            state = SwitchState.DENIED
        yield ToolRow(title, tool.name, summary, state)


def _resources(entry: ServerEntry, status: ServerStatus | None) -> Iterator[tuple[str, str]]:
    for one in (*status.resources, *status.templates) if status is not None else ():
        yield f"@{entry.name}:{_uri(one)}", _first_line(str(one.get("title") or one.get("name") or ""))


def _log(status: ServerStatus | None) -> Iterator[str]:
    lines = safe_text(status.log).splitlines() if status is not None else []
    yield from [safe_line(line) for line in lines if line.strip()][-_LOG_LINES:]


def _tools(session: ForgeSession, entry: ServerEntry) -> list[McpTool]:
    return [tool for tool in session.servers.tools if tool.server.name == entry.name]


def _cost(session: ForgeSession, tools: list[McpTool]) -> str:
    """Return about how many tokens the definitions take in each request, or would take if they were sent."""
    names = {tool.name for tool in session.tools.deferred}
    tools = [tool for tool in tools if not session.policy.denies(tool.name, tool.judged)]
    deferred = [tool for tool in tools if tool.name in names]
    sent = sum(tool.tokens for tool in tools if tool.name not in names)
    saved = f"{sum(tool.tokens for tool in deferred):,} tokens"
    if deferred and len(deferred) == len(tools):
        return f"deferred ({saved})"
    return f"{sent:,} tokens" + (f", {len(deferred)} deferred ({saved})" if deferred else "")


def _date(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s'[: number != 1]}"


def _uri(resource: Mapping[str, Any]) -> str:
    return safe_line(str(resource.get("uri") or resource.get("uriTemplate") or ""))[:_URI_CHARS]


def _first_line(text: str) -> str:
    return safe_line(next((line for line in text.splitlines() if line.strip()), ""))[:_SUMMARY_CHARS]
