"""From a declared server to how the bridge reaches it: variables expanded, environment and folder chosen."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.llm.endpoints import key_variables
from forge_core.mcp.server_files import ServerEntry, ServerScope, Transport, declared_texts
from forge_core.mcp.wire import Protocol, ServerLaunch
from forge_core.tools.shell.environment import child_environment

REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^{}]*))?\}")
"""A variable, with its name and its default. Other forms of the shell, such as `${NAME%x}`, are left as they
are."""


class UnresolvedServerError(ValueError):
    """A server cannot be started as it is declared; the text says why."""


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """What all servers of a session have in common."""

    environment: Mapping[str, str]
    """Forge's own environment: where variables are looked up."""
    child_environment: Mapping[str, str]
    """What programs are given besides their own variables."""
    forge_keys: Collection[str] = ()
    """The names of the variables with Forge's own keys, which no file of a project is given."""
    roots: tuple[str, ...] = ()
    """The folders of the workspace."""
    state_dir: str = ""
    """Forge's state folder, for sign-ins and the sandbox."""
    config_dir: str = ""
    """The folder of the user's settings, for the sandbox."""
    sandbox_read: tuple[str, ...] = ()
    """What a program may read in the sandbox besides."""

    @classmethod
    def of_session(cls, folders: Iterable[Path], config: ForgeConfig) -> Self:
        """Return the settings for a session over these folders."""
        return cls(
            environment=os.environ,
            child_environment=child_environment(),
            forge_keys=key_variables(),
            roots=tuple(map(str, folders)),
            state_dir=str(config.state_dir),
            config_dir=str(config.config_dir),
            sandbox_read=tuple(str(Path(one).expanduser()) for one in config.sandbox_read),
        )


def launch_of(server: ServerEntry, settings: LaunchSettings) -> ServerLaunch:
    """Return how a server is reached. Raises UnresolvedServerError if a variable is not set."""
    folder = str(server.source.folder)
    places = {"FORGE_PROJECT_DIR": folder, "CLAUDE_PROJECT_DIR": folder}
    hidden = settings.forge_keys if server.source.scope is ServerScope.PROJECT else ()
    known = {name: value for name, value in settings.environment.items() if name not in hidden}
    expansion = Expansion({**known, **places})
    argv = tuple(expansion.of(one) for one in (server.command, *server.args)) if server.command else ()
    own = {name: expansion.of(value) for name, value in server.environment.items()}
    headers = {name: expansion.of(value) for name, value in server.headers.items()}
    url, cwd = expansion.of(server.url), expansion.of(server.cwd)
    client_id, client_secret = map(expansion.of, (server.client.client_id, server.client.client_secret))
    if expansion.missing:
        names = ", ".join(expansion.missing)
        kept = [name for name in expansion.missing if name in settings.forge_keys]
        why = "a key of Forge itself, which no server of a project is given" if kept else "not set"
        raise UnresolvedServerError(f"the environment variable {names} is {why}")
    try:
        place = str(Path(folder, Path(cwd).expanduser())) if cwd else folder
    except RuntimeError:
        raise UnresolvedServerError(f"its cwd is {cwd!r}, and there is no such user") from None
    is_program = server.transport is Transport.STDIO
    protocol: Protocol = "legacy" if is_program else "auto"
    return ServerLaunch(
        name=server.name,
        argv=argv if is_program else (),
        environment={**settings.child_environment, **places, **own} if is_program else {},
        folder=place,
        url="" if is_program else url,
        headers=headers,
        is_sse=server.transport is Transport.SSE,
        protocol="2026-07-28" if server.protocol else protocol,
        roots=settings.roots,
        sandbox=server.sandbox,
        config_dir=settings.config_dir if server.sandbox else "",
        sandbox_read=settings.sandbox_read if server.sandbox else (),
        state_dir="" if is_program and not server.sandbox else settings.state_dir,
        may_sample=server.may_sample,
        client_id=client_id,
        client_secret=client_secret,
        client_metadata_url=server.client.metadata_url,
    )


def sign_in_launch(server: ServerEntry, settings: LaunchSettings) -> ServerLaunch:
    """Return how a server is reached to which the user can sign in. Raises ConfigError if it has no sign-in,
    or is not reached."""
    if server.transport is Transport.STDIO:
        raise ConfigError(f"The server {server.name!r} is a program; only servers with a URL have a sign-in.")
    try:
        return launch_of(server, settings)
    except UnresolvedServerError as error:
        raise ConfigError(f"{server.name}: {error}.") from error


def variables_of(server: ServerEntry) -> list[str]:
    """Return the names of the variables whose values a server is given."""
    found = (found[1] for text in declared_texts(server) for found in REFERENCE.finditer(text))
    return list(dict.fromkeys(found))


@dataclass(slots=True)
class Expansion:
    """Expands the texts of one entry, and keeps which variables they name."""

    environment: Mapping[str, str]
    used: dict[str, None] = field(default_factory=dict)
    """The names of variables whose values were inserted, in order."""
    missing: dict[str, None] = field(default_factory=dict)
    """The names of variables that are not set and have no default."""

    def of(self, text: str) -> str:
        """Return a text with the values of its variables; a missing one stays as it is."""

        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            if known := self.environment.get(name):
                self.used[name] = None
                return known
            if default is None:
                self.missing[name] = None
                return found[0]
            return default

        return REFERENCE.sub(value, text)
