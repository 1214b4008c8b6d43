"""All servers that files declare, those that do not count too, each with its state. Nothing is started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.approvals import ApprovalState, Judgement
from forge_core.mcp.approved_servers import ServerApprovals
from forge_core.mcp.server_files import (
    ServerEntry,
    ServerScope,
    ServerSource,
    ServerTable,
    file_of,
    read_source,
    server_sources,
)
from forge_core.mcp.server_launch import LaunchSettings, UnresolvedServerError, launch_of


class DeclaredState(StrEnum):
    """Whether a session starts a declared server."""

    ENABLED = "enabled"
    """It needs no approval."""
    APPROVED = "approved"
    PENDING = "pending approval"
    CHANGED = "changed"
    """It is another one than that about which the user decided: it waits for approval again."""
    DECLINED = "declined"
    DISABLED = "disabled"
    """Its entry says so."""
    OVERRIDDEN = "overridden"
    """A stronger file declares the same name."""
    UNTRUSTED = "folder not trusted"
    UNUSABLE = "cannot be used"


_OF_APPROVAL = {
    None: DeclaredState.ENABLED,
    ApprovalState.APPROVED: DeclaredState.APPROVED,
    ApprovalState.NEW: DeclaredState.PENDING,
    ApprovalState.CHANGED: DeclaredState.CHANGED,
    ApprovalState.DECLINED: DeclaredState.DECLINED,
}


MAY_START = (DeclaredState.ENABLED, DeclaredState.APPROVED)
"""The states in which a session starts a server."""
_ADVICE = {
    DeclaredState.PENDING: "forge mcp approve {}",
    DeclaredState.CHANGED: "forge mcp approve {}",
    DeclaredState.DECLINED: "forge mcp approve {}",
    DeclaredState.UNTRUSTED: "--trust",
}


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A declared server."""

    name: str
    """Safe to display."""
    source: ServerSource
    state: DeclaredState
    reason: str = ""
    """Why it cannot be used, or would not start once it is approved; safe to display."""
    entry: ServerEntry | None = None
    """None for an entry that is no server."""
    judgement: Judgement | None = None
    """Of a server that needs approval."""

    @property
    def advice(self) -> str:
        """What makes a session start it; empty if it does, or if its entry keeps it from that."""
        return _ADVICE.get(self.state, "").format(self.name)

    @property
    def counts(self) -> bool:
        """Whether it is the server of its name."""
        return (
            self.state not in (DeclaredState.OVERRIDDEN, DeclaredState.UNTRUSTED) and self.entry is not None
        )


@dataclass(frozen=True, slots=True)
class ServerListing:
    """All declared servers, those of the weakest scope first."""

    servers: tuple[ListedServer, ...]
    problems: tuple[str, ...]
    """Files that could not be read, as sentences; safe to display."""
    approvals: ServerApprovals

    @classmethod
    def load(cls, config: ForgeConfig, settings: LaunchSettings) -> Self:
        """Return the servers as they are now. Blocks while it reads."""
        approvals = ServerApprovals.load(config)
        untrusted = untrusted_sources(config)
        tables = [(source, read_source(source)) for source in (*server_sources(config), *untrusted)]
        servers = (
            one
            for source, table in tables
            for one in _listed(table, approvals, settings, is_trusted=source not in untrusted)
        )
        problems = (problem for _, table in tables for problem in table.problems)
        return cls(tuple(servers), tuple(problems), approvals)

    def named(self, name: str) -> list[ListedServer]:
        """Return all servers of a name, the one that counts first."""
        found = [one for one in self.servers if one.name == name]
        return sorted(found, key=lambda one: not one.counts)


def untrusted_sources(config: ForgeConfig) -> list[ServerSource]:
    """Return the file of the project if it does not count because the user does not trust the folder."""
    project = file_of(ServerScope.PROJECT, config)
    counts = project in server_sources(config)
    return [] if counts or config.safe or not project.path.exists() else [project]


def _listed(
    table: ServerTable, approvals: ServerApprovals, settings: LaunchSettings, *, is_trusted: bool
) -> Iterator[ListedServer]:
    winners = {one.name: one.source for one in approvals.table.servers}
    unusable = {(one.name, one.source.path): one.reason for one in approvals.table.unusable}
    for server in table.servers:
        winner = winners.get(server.name, server.source)
        judged = approvals.judged.get(server.name)
        judgement = judged.judgement if judged is not None and winner == server.source else None
        reason = unusable.get((server.name, server.source.path)) or _unresolved(server, settings)
        if not is_trusted:
            state = DeclaredState.UNTRUSTED
        elif winner != server.source:
            state, reason = DeclaredState.OVERRIDDEN, f"{winner.label} declares the same name"
        elif server.is_disabled:
            state = DeclaredState.DISABLED
        else:
            state = _OF_APPROVAL[approvals.state(server)]
            is_allowed = state in (DeclaredState.ENABLED, DeclaredState.APPROVED)
            state = DeclaredState.UNUSABLE if reason and is_allowed else state
        yield ListedServer(server.name, server.source, state, reason, server, judgement)
    for one in table.unusable:
        yield ListedServer(one.name, one.source, DeclaredState.UNUSABLE, one.reason)


def _unresolved(server: ServerEntry, settings: LaunchSettings) -> str:
    try:
        launch_of(server, settings)
    except UnresolvedServerError as error:
        return str(error)
    return ""
