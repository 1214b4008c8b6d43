"""`forge mcp test`: starts servers, and prints what each offers or what is wrong with it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from forge_core.exit_codes import ExitCode
from forge_core.headless.mcp_output import named_servers
from forge_core.llm.tokens import estimate_tokens
from forge_core.mcp.literal_secrets import is_secret_name
from forge_core.mcp.results import ResultReader
from forge_core.mcp.server_files import ServerEntry
from forge_core.mcp.server_launch import LaunchSettings, UnresolvedServerError, launch_of
from forge_core.mcp.server_listing import MAY_START, DeclaredState, ListedServer, ServerListing
from forge_core.mcp.server_questions import ServerQuestion
from forge_core.mcp.servers import McpServers, ServerHost, ServerStatus
from forge_core.mcp.wire import ServerState
from forge_core.redact import Redactor
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line
from forge_core.tools.shell.environment import network_environment

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

_LIMIT_S = 60.0
"""For all servers together; the bridge gives each 30 s to start and 10 s for its lists."""
_STDERR_LINES = 3
_MAX_CHARS = 300


def run_checks(names: Collection[str], config: ForgeConfig, settings: LaunchSettings) -> int:
    """Start the servers of these names, or all that a session would start, and print how each has come out.
    Return the exit code: 0 if all of them work. Raises ConfigError for an unknown name."""
    listing = ServerListing.load(config, settings)
    if names:
        chosen = [named_servers(listing, name)[0] for name in dict.fromkeys(names)]
    else:
        passive = (DeclaredState.OVERRIDDEN, DeclaredState.DISABLED)
        chosen = [one for one in listing.servers if one.state not in passive]
    starting = [one.entry for one in chosen if one.entry is not None and _may_start(one, listing)]
    redact = _redactor(starting, config, settings)
    check = _Check(listing, settings)
    if starting:
        print(f"Starting {len(starting)} of {len(chosen)} …", file=sys.stderr)
        asyncio.run(check.run(starting))
    for one in chosen:
        status = check.statuses.get(one.name) if one.entry in starting else None
        lines = not_started(one) if status is None else _outcome(status, check)
        print("\n".join(safe_line(redact(line))[:_MAX_CHARS] for line in lines))
    for problem in listing.problems:
        print(problem)
    if not chosen and not listing.problems:
        print("There are no MCP servers to test.")
        return ExitCode.COMPLETE
    working = sum(one.report.state is ServerState.READY for one in check.statuses.values())
    print(f"{working} of {len(chosen)} work." + (f" {check.summary}" if starting else ""))
    return ExitCode.COMPLETE if working == len(chosen) and not listing.problems else ExitCode.USAGE


def _may_start(server: ListedServer, listing: ServerListing) -> bool:
    if server.state is DeclaredState.DISABLED and server.entry is not None and not server.reason:
        return listing.approvals.may_start(server.entry)
    return server.state in MAY_START


@dataclass(slots=True)
class _Check:
    """One start of servers, and what came of it."""

    listing: ServerListing
    settings: LaunchSettings
    statuses: Mapping[str, ServerStatus] = field(default_factory=dict)
    settled_ms: dict[str, int] = field(default_factory=dict)
    """Name → when the server had connected or failed."""
    bridge_ms: int = 0
    end_ms: int = 0
    _began: float = 0.0

    @property
    def summary(self) -> str:
        return f"The bridge started in {self.bridge_ms:,} ms and ended in {self.end_ms:,} ms."

    async def run(self, entries: Sequence[ServerEntry]) -> None:
        """Start the servers, wait until each has connected or failed, and end them."""
        self._began = time.monotonic()
        servers = McpServers(self._host())
        self.statuses = servers.statuses
        try:
            await servers.start(entries)
            self.bridge_ms = self._elapsed_ms()
            await servers.settled(_LIMIT_S)
        finally:
            # The end changes the states.
            self.statuses = {name: replace(one) for name, one in servers.statuses.items()}
            ending = time.monotonic()
            await servers.aclose()
            self.end_ms = round((time.monotonic() - ending) * 1000)

    def _elapsed_ms(self) -> int:
        return round((time.monotonic() - self._began) * 1000)

    def _note_settled(self) -> None:
        for name, status in self.statuses.items():
            if status.is_settled:
                self.settled_ms.setdefault(name, self._elapsed_ms())

    def _host(self) -> ServerHost:
        async def cancel(question: ServerQuestion) -> Any:
            return {"action": "cancel"}

        return ServerHost(
            settings=self.settings,
            bridge_environment=network_environment(),
            reader=lambda: ResultReader(lambda content, ending: None),
            ask=cancel,
            log=lambda name, text: None,
            changed=self._note_settled,
            refusal=self.listing.approvals.refusal,
        )


def not_started(server: ListedServer) -> Iterator[str]:
    """Yield why a server was not started, and what to do, as lines."""
    if server.state is DeclaredState.UNUSABLE:
        yield f"{server.name}: {server.state}: {server.reason}"
        return
    advice = f" ({server.advice})" if server.advice else ""
    yield f"{server.name}: not started: {server.state}{advice}"
    if server.reason:
        yield f"  {server.reason}"


def _outcome(status: ServerStatus, check: _Check) -> Iterator[str]:
    name, report = status.entry.name, status.report
    written = [line.strip() for line in status.log.split("\n") if line.strip()][-_STDERR_LINES:]
    if report.state is not ServerState.READY:
        reason = report.error or ("" if status.is_settled else f"it did not answer within {_LIMIT_S:g} s")
        after = check.settled_ms.get(name, round(_LIMIT_S * 1000)) - check.bridge_ms
        yield f"{name}: {report.state}" + (f": {reason}" if reason else "")
        yield f"  after {max(after, 0):,} ms"
        yield from (f"  stderr: {line}" for line in written if line not in reason)
        return
    yield f"{name}: ready: {report.title or 'no title'}, protocol {report.protocol}"
    counts = [
        f"{_count(len(status.tools), 'tool')} (about {_schema_tokens(status):,} tokens)",
        _count(len(status.prompts), "prompt"),
        _count(len(status.resources) + len(status.templates), "resource"),
    ]
    yield f"  {', '.join(counts)}"
    yield f"  initialized in {report.initialize_ms:,} ms, listed in {_list_ms(status):,} ms"
    if report.warning:
        yield f"  warning: {report.warning}"
    yield from (f"  stderr: {line}" for line in written)


def _list_ms(status: ServerStatus) -> int:
    return status.report.connect_ms - status.report.initialize_ms


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" + ("" if number == 1 else "s")


def _schema_tokens(status: ServerStatus) -> int:
    """Return about how many tokens the schemas of all its tools cost in each request."""
    tools = [[one.name, one.description, one.schema] for one in status.tools]
    return estimate_tokens(json.dumps(tools, ensure_ascii=False)) if tools else 0


def _redactor(entries: Sequence[ServerEntry], config: ForgeConfig, settings: LaunchSettings) -> Redactor:
    """Return what removes the keys that servers are given from what they write."""
    redact = make_redactor(config)
    for entry in entries:
        try:
            launch = launch_of(entry, settings)
        except UnresolvedServerError:
            continue
        own = {name: launch.environment.get(name, "") for name in entry.environment}
        values = [value for name, value in {**own, **launch.headers}.items() if is_secret_name(name)]
        redact.learn(*(word for value in values for word in (value, value.rpartition(" ")[2])))
    return redact
