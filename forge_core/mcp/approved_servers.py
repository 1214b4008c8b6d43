"""Which declared servers may start, and what the user is shown of those that wait for approval."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.approvals import (
    ApprovalState,
    ApprovalStore,
    DeclaredProgram,
    Judgement,
    ProgramKind,
    SeenProgram,
    WaitingProgram,
)
from forge_core.extensions.program_files import UncheckableError, words_of_arguments
from forge_core.mcp.literal_secrets import mask_entry
from forge_core.mcp.server_files import (
    SAMPLING_TEXT,
    ServerEntry,
    ServerTable,
    Transport,
    UnusableServer,
    load_servers,
)
from forge_core.mcp.server_launch import Expansion, variables_of
from forge_core.mcp.wire import ServerSandbox


@dataclass(frozen=True, slots=True)
class JudgedServer:
    """A server that needs approval."""

    server: ServerEntry
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class ServerApprovals:
    """All servers that were declared, and which of them may start."""

    table: ServerTable
    judged: Mapping[str, JudgedServer]
    """By name; those that need no approval are not in it."""
    named: Collection[str]
    """The names that are approved for this run."""

    @classmethod
    def load(cls, config: ForgeConfig) -> ServerApprovals:
        """Return the servers as they are now. Starts nothing. Blocks while it reads."""
        table, store = load_servers(config), ApprovalStore(config.state_dir)
        judged: dict[str, JudgedServer] = {}
        unusable: dict[str, UnusableServer] = {}
        for server in table.servers:
            if server.needs_approval:
                try:
                    judged[server.name] = JudgedServer(server, store.judge(declared_program(server)))
                except UncheckableError as error:
                    unusable[server.name] = UnusableServer(server.name, server.source, str(error))
        kept = tuple(server for server in table.servers if server.name not in unusable)
        table = replace(table, servers=kept, unusable=(*table.unusable, *unusable.values()))
        return cls(table, judged, frozenset(config.approved_programs))

    def state(self, server: ServerEntry) -> ApprovalState | None:
        """Return whether a server is approved; None where it needs no approval."""
        found = self.judged.get(server.name)
        if found is None:
            return None
        return ApprovalState.APPROVED if server.name in self.named else found.judgement.state

    @property
    def allowed(self) -> list[ServerEntry]:
        """The servers that may start."""
        return [server for server in self.table.servers if not server.is_disabled and self.may_start(server)]

    def may_start(self, server: ServerEntry) -> bool:
        """Return whether a server needs no approval, or has it."""
        return self.state(server) in (None, ApprovalState.APPROVED)

    @property
    def waiting(self) -> list[JudgedServer]:
        """The servers about which the user has not decided as they are now."""
        return [
            one
            for one in self.judged.values()
            if one.judgement.waits and one.server.name not in self.named and not one.server.is_disabled
        ]

    @property
    def shown(self) -> list[WaitingProgram]:
        """What the user is shown of those."""
        return [
            WaitingProgram(
                one.server.source.folder,
                one.server.name,
                one.judgement.seen.digest,
                one.server.source.label,
                _exact_command(one.server),
                _occasion(one.server),
                one.judgement.differences,
                tuple(_details(one.server)),
                is_sandboxed=one.server.sandbox is ServerSandbox.STRICT,
                is_remote=bool(one.server.url),
            )
            for one in self.waiting
        ]

    def decide(
        self, config: ForgeConfig, shown: Sequence[WaitingProgram], approved: Collection[int]
    ) -> list[ServerEntry]:
        """Store the decision about each server that was shown and still waits as it was: it is approved if
        its index is given. Return the approved servers. Raises ConfigError when it cannot be stored."""
        waiting = {one.server.name: one.server for one in self.waiting}
        judged = ((declared_program(one.server), one.judgement) for one in self.waiting)
        agreed = ApprovalStore(config.state_dir).decide_shown(judged, shown, approved)
        return [waiting[program.name] for program in agreed]

    def revoke(self, config: ForgeConfig, server: ServerEntry) -> bool:
        """Forget the user's decision about a server, so that it is asked for again; return whether there was
        one. Raises ConfigError when that fails."""
        return ApprovalStore(config.state_dir).forget(declared_program(server))

    def refusal(self, server: ServerEntry) -> str:
        """Return why a server that was approved must not start now: it or its files have changed meanwhile.
        Blocks while it reads the files."""
        found = self.judged.get(server.name)
        if found is None:
            return ""
        try:
            change = found.judgement.change_in(declared_program(server))
        except UncheckableError as error:
            return str(error)
        return f"{change} since it was approved; /mcp approve shows it again" if change else ""


def declared_program(server: ServerEntry) -> DeclaredProgram:
    """Return a server as what the user approves."""
    words = _named_by(server) if server.transport is Transport.STDIO else ()
    return DeclaredProgram(
        ProgramKind.SERVER, server.name, server.source.folder, server.entry, tuple(dict.fromkeys(words))
    )


def _named_by(server: ServerEntry) -> Iterator[str]:
    """Yield what in the command line and in the variables may name a file, also once they are expanded."""
    folder = str(server.source.folder)
    places = {"FORGE_PROJECT_DIR": folder, "CLAUDE_PROJECT_DIR": folder, "HOME": str(Path.home())}
    argv = [server.command, *server.args, *filter(None, [server.cwd])]
    yield from words_of_arguments(argv, places)
    yield from words_of_arguments([*map(Expansion({**os.environ, **places}).of, argv)], {})
    # The value of a variable such as PATH would name too many folders, so only defaults are inserted.
    values = map(Expansion(places).of, server.environment.values())
    yield from words_of_arguments(["env", "--", *values], {})


def fingerprint_of(server: ServerEntry) -> str:
    """Return what grants for the server's tools are bound to, as sha256 in hex: the path of the file that
    declares it, its entry, and the files in the folder that its words name, whoever declares it. Blocks while
    it reads them."""
    try:
        seen = SeenProgram.of(declared_program(server)).digest
    except UncheckableError as error:
        seen = f"{SeenProgram(server.entry, {}).digest} {error}"
    place = os.path.realpath(server.source.path)
    return hashlib.sha256(
        f"{server.source.scope} {place} {seen}".encode("utf-8", "surrogateescape")
    ).hexdigest()


def _exact_command(server: ServerEntry) -> str:
    """Return the command line, or the URL, in which nothing is expanded."""
    return server.url or shlex.join((server.command, *server.args))


def _details(server: ServerEntry) -> Iterator[str]:
    """Yield what a server is given besides its arguments, secrets masked."""
    masked = mask_entry(server)
    for name, value in masked.environment.items():
        yield f"with {name}={value}"
    for name, value in masked.headers.items():
        yield f"with the header {name}: {value}"
    if server.cwd:
        yield f"in the folder {server.cwd}"
    if server.sandbox is ServerSandbox.STRICT:
        yield "inside the sandbox, without network"
    elif server.sandbox is ServerSandbox.KEYS:
        yield "without a view of Forge's own folders"
    if server.may_sample:
        yield SAMPLING_TEXT


def _occasion(server: ServerEntry) -> str:
    variables = variables_of(server)
    given = f", given the values of {', '.join(variables)}" if variables else ""
    return f"MCP server {server.name}, for the whole session{given}"
