"""Reads the files that declare MCP servers. One bad entry never voids its file, and one bad file no other."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forge_core.config.forge_config import ForgeConfig
from forge_core.mcp import commented_json
from forge_core.mcp.wire import ServerSandbox
from forge_core.sanitize import safe_line
from forge_core.workspace.project_files import SERVER_FILE
from forge_core.workspace.trust import is_trusted

EMPTY_FOLDER = "mcp-untrusted"
"""In the state folder. It stays empty, unless a server writes into it."""
OWN_FILE = "mcp.json"
"""In the folder of the user's settings; needs no approval."""
_MAX_BYTES = 1_000_000
_MAX_SERVERS = 100
"""Of one file. The user is shown each of them, or why it cannot be used."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
RESERVED_NAMES = frozenset({"forge", "ide", "workspace"})
MIN_TIMEOUT_MS = 1_000
_PROTOCOLS = ("2026-07-28",)
SAMPLING_ASK = "ask"
SAMPLING_TEXT = "it may ask for answers from your model, each of which asks you"
"""What the field `sampling` means, for whoever approves the entry."""


class ServerScope(StrEnum):
    """Who declares a server, the strongest last."""

    USER = "user"
    PROJECT = "project"
    """A file of the project: it counts once the user trusts the folder and has approved the server."""
    SESSION = "session"
    """A file that an option names; for this run."""


class Transport(StrEnum):
    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    """The transport of the revision 2024-11-05."""


@dataclass(frozen=True, slots=True)
class ServerSource:
    """A file that declares servers."""

    path: Path
    scope: ServerScope
    folder: Path
    """The folder for which its servers are approved, and in which they start: the project, but an empty one
    if the user does not trust the project, as `python3 -m x` and npx run files of the folder."""
    label: str
    """Its path as it is shown; safe to display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """The client as which Forge signs in to a server."""

    client_id: str = ""
    """Of a client that was registered before; empty: Forge registers itself."""
    client_secret: str = ""
    metadata_url: str = ""
    """Of a document about the client."""
    callback_port: int = 0
    """Of the redirect URI; 0: any free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """A server as a file declares it: variables are not expanded. All text in it is untrusted."""

    name: str
    source: ServerSource
    transport: Transport
    entry: Mapping[str, Any]
    """What was declared, for the approval."""
    command: str = ""
    args: tuple[str, ...] = ()
    environment: Mapping[str, str]
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str]
    client: OAuthClient = OAuthClient()
    """How Forge signs in to it; the defaults are for servers that let clients register themselves."""
    timeout_s: float | None = None
    """Of a call; None: the usual limits."""
    always_load: bool = False
    """Its tools are never deferred."""
    is_disabled: bool = False
    allowed_tools: tuple[str, ...] | None = None
    """Names of tools; None: all."""
    denied_tools: tuple[str, ...] = ()
    protocol: str = ""
    """A revision that it speaks; empty: found out."""
    trusts_annotations: bool = False
    """Its hints about tools count."""
    sandbox: ServerSandbox = ServerSandbox.OFF
    may_sample: bool = False
    """It may ask for answers from the model; the user is asked each time."""
    warnings: tuple[str, ...] = ()
    """What is odd about the entry; safe to display."""

    @property
    def needs_approval(self) -> bool:
        return self.source.scope is ServerScope.PROJECT

    @property
    def command_line(self) -> str:
        """What is started, or the URL."""
        return self.url or " ".join((self.command, *self.args))


@dataclass(frozen=True, slots=True)
class UnusableServer:
    """A declared server that cannot be used."""

    name: str
    source: ServerSource
    reason: str
    """Safe to display."""


@dataclass(frozen=True, slots=True)
class ServerTable:
    """All servers that were declared, each name once: the strongest scope wins."""

    servers: tuple[ServerEntry, ...] = ()
    unusable: tuple[UnusableServer, ...] = ()
    problems: tuple[str, ...] = ()
    """Files that could not be read, as sentences; safe to display."""


def server_sources(config: ForgeConfig) -> list[ServerSource]:
    """Return the files that count now, the weakest first. Reads none of them."""
    if config.safe:
        return []
    scopes = [ServerScope.USER] if config.config_dir in config.own_extensions else []
    if is_trusted(config):
        scopes.append(ServerScope.PROJECT)
    found = [one for one in (file_of(scope, config) for scope in scopes) if os.path.lexists(one.path)]
    return found + [
        ServerSource(path, ServerScope.SESSION, _start_folder(config), _shown(path))
        for path in map(Path, config.mcp_config)
    ]


def file_of(scope: ServerScope, config: ForgeConfig) -> ServerSource:
    """Return the file of the user or of the project, whether it exists and counts or not."""
    root = config.working_dir
    if scope is ServerScope.PROJECT:
        return ServerSource(root / SERVER_FILE, scope, root, SERVER_FILE)
    path = config.config_dir / OWN_FILE
    return ServerSource(path, scope, _start_folder(config), _shown(path))


def _start_folder(config: ForgeConfig) -> Path:
    """Return the folder in which the servers of the user start."""
    return config.working_dir if is_trusted(config) else config.state_dir / EMPTY_FOLDER


def load_servers(config: ForgeConfig) -> ServerTable:
    """Return the servers of all files that count now. Starts nothing. Blocks while it reads."""
    tables = [read_source(source) for source in server_sources(config)]
    if config.session_servers and not config.safe:
        source = ServerSource(config.working_dir, ServerScope.SESSION, _start_folder(config), "the editor")
        tables.append(_table(config.session_servers, source))
    by_name = {one.name: one for table in tables for one in table.servers}
    return ServerTable(
        tuple(by_name.values()),
        tuple(one for table in tables for one in table.unusable),
        tuple(problem for table in tables for problem in table.problems),
    )


def read_source(source: ServerSource) -> ServerTable:
    """Return the servers of one file. Starts nothing."""
    try:
        declared = declared_servers(commented_json.parse(read_text(source).strip() or "{}"))
    except (OSError, ValueError) as error:
        reason = safe_line(str(getattr(error, "strerror", None) or error))
        return ServerTable(problems=(f"Servers in {source.label} were not read: {reason}.",))
    return _table(declared, source)


def _table(declared: Mapping[str, Any], source: ServerSource) -> ServerTable:
    entries = [read_entry(name, entry, source) for name, entry in declared.items()]
    return ServerTable(
        tuple(one for one in entries if isinstance(one, ServerEntry)),
        tuple(one for one in entries if isinstance(one, UnusableServer)),
    )


def read_entry(name: str, entry: object, source: ServerSource) -> ServerEntry | UnusableServer:
    """Return the server that an entry declares, or why it cannot be used."""
    try:
        return _entry(name, entry, source)
    except ValueError as error:
        return UnusableServer(safe_line(name)[:40], source, safe_line(str(error)))


def read_text(source: ServerSource) -> str:
    """Return the text of a file. Raises OSError or ValueError when it cannot be read."""
    real = Path(os.path.realpath(source.path))
    if source.scope is ServerScope.PROJECT and not real.is_relative_to(os.path.realpath(source.folder)):
        raise ValueError("it is a link out of the project")
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it has more than {_MAX_BYTES:,} bytes")
    return data.decode("utf-8-sig")


def declared_servers(content: Any) -> Mapping[str, Any]:
    """Return the entries of a file by name. Raises ValueError."""
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    if "mcpServers" in content:
        servers = content["mcpServers"]
    elif (at := _vs_code_key(content)) is not None:
        raise ValueError(f'it has its servers in {at}, as VS Code has them; write "mcpServers" instead')
    else:
        servers = content  # a bare map of servers, as it is often shown in a README
    if not isinstance(servers, dict):
        raise ValueError("mcpServers is not an object")
    if len(servers) > _MAX_SERVERS:
        raise ValueError(f"it declares {len(servers):,} servers; at most {_MAX_SERVERS} can be used")
    return servers


def _vs_code_key(content: Mapping[str, Any]) -> str | None:
    """Return where the servers are, in the two forms of VS Code."""
    inner = content.get("mcp")
    if isinstance(inner, dict) and not _is_entry(inner) and isinstance(inner.get("servers"), dict):
        return '"mcp": {"servers": ...}'
    servers = content.get("servers")
    return '"servers"' if isinstance(servers, dict) and not _is_entry(servers) else None


def _is_entry(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("command"), str) or isinstance(value.get("url"), str)


def _entry(name: str, entry: object, source: ServerSource) -> ServerEntry:
    if not _NAME.fullmatch(name):
        raise ValueError("its name must be 1 to 32 letters, digits, '-' or '_'")
    if name.lower() in RESERVED_NAMES:
        raise ValueError("its name is reserved")
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")
    fields = _Fields(entry)
    command, url = fields.text("command"), fields.text("url")
    transport = _transport(fields.text("type"), command, url, "url" in entry)
    args, timeout = fields.texts("args") or (), fields.number("timeout")
    timeout_s = None if timeout is None else timeout / 1000
    if timeout is not None and timeout < MIN_TIMEOUT_MS:
        fields.warnings.append(
            f"timeout is in milliseconds: {timeout:g} is below {MIN_TIMEOUT_MS}, so it is ignored"
        )
        timeout_s = None
    if transport is Transport.SSE:
        fields.warnings.append("type 'sse' is an old transport: use 'http' if the server knows that one")
    tools = entry.get("tools", {})
    if not isinstance(tools, dict):
        raise ValueError("tools is not an object")
    choice = _Fields(tools)
    protocol = fields.text("protocol")
    if protocol and protocol not in _PROTOCOLS:
        raise ValueError(f"protocol is {protocol!r}; it can be {', '.join(map(repr, _PROTOCOLS))}")
    if (sampling := fields.text("sampling")) and sampling != SAMPLING_ASK:
        raise ValueError(f"sampling is {sampling!r}; it can be {SAMPLING_ASK!r}")
    return ServerEntry(
        name=name,
        source=source,
        transport=transport,
        entry=entry,
        command=command,
        args=args,
        environment=fields.map("env"),
        cwd=fields.text("cwd"),
        url=url,
        headers=fields.map("headers"),
        client=_client(entry.get("oauth", {})),
        timeout_s=timeout_s,
        always_load=fields.flag("alwaysLoad"),
        is_disabled=fields.flag("disabled"),
        allowed_tools=choice.texts("allow"),
        denied_tools=choice.texts("deny") or (),
        protocol=protocol,
        trusts_annotations=fields.flag("trust_annotations"),
        sandbox=_sandbox(fields.text("sandbox"), transport),
        may_sample=bool(sampling),
        warnings=tuple(safe_line(one) for one in fields.warnings),
    )


def _transport(kind: str, command: str, url: str, has_url: bool) -> Transport:
    if kind in ("ws", "websocket"):
        raise ValueError("its type is 'ws': Forge does not speak WebSocket; use 'http'")
    aliases = {"streamable-http": "http", "streamable_http": "http", "streamableHttp": "http"}
    if command and url:
        # The user would approve one of them, and the other one would be used.
        raise ValueError("it has a command and a url; remove one of them")
    kind = aliases.get(kind, kind) or (Transport.STDIO if command else Transport.HTTP)
    if kind not in list(Transport):
        raise ValueError(f"its type is {kind!r}; it can be 'stdio', 'http' or 'sse'")
    transport = Transport(kind)
    if transport is Transport.STDIO:
        if not command:
            raise ValueError("it has no command")
    elif not url:
        raise ValueError(
            "it is not configured: its url is empty" if has_url else "it has neither command nor url"
        )
    elif "${" not in url.split("/", 3)[0] and urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"its url is {url[:80]!r}; it must begin with http:// or https://")
    return transport


def _sandbox(value: str, transport: Transport) -> ServerSandbox:
    known = [str(one) for one in ServerSandbox if one]
    if value and value not in known:
        raise ValueError(f"sandbox is {value!r}; it can be {' or '.join(map(repr, known))}")
    if value and transport is not Transport.STDIO:
        raise ValueError("sandbox is set, but a server with a url is no program of this machine; remove it")
    return ServerSandbox(value)


def _client(content: object) -> OAuthClient:
    if not isinstance(content, dict):
        raise ValueError("oauth is not an object")
    fields = _Fields(content)
    port = fields.number("callbackPort") or 0
    if not (port == int(port) and port <= 65_535):
        raise ValueError(f"oauth.callbackPort is {port:g}; it must be a port")
    return OAuthClient(
        client_id=fields.text("clientId"),
        client_secret=fields.text("clientSecret"),
        metadata_url=fields.text("clientMetadataUrl"),
        callback_port=int(port),
    )


class _Fields:
    """Reads the fields of an object, each with its type. Raises ValueError for another one."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content
        self.warnings: list[str] = []

    def text(self, name: str) -> str:
        value = self._content.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"{name} is not a text")
        return self._stripped(name, value)

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._content.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) and "\0" not in one for one in value):
            raise ValueError(f"{name} is not a list of texts")
        return tuple(value)

    def map(self, name: str) -> Mapping[str, str]:
        value = self._content.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(
            isinstance(one, str | int | float) and not isinstance(one, bool) for one in value.values()
        ):
            raise ValueError(f"{name} is not an object of texts")
        return {key: self._stripped(f"{name}.{key}", str(one)) for key, one in value.items()}

    def number(self, name: str) -> float | None:
        value = self._content.get(name)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value <= sys.float_info.max:
            raise ValueError(f"{name} is {repr(value)[:40]}; it must be a number above 0")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self._content.get(name, False)
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}; it must be true or false")
        return value

    def _stripped(self, name: str, value: str) -> str:
        stripped = value.strip()
        if stripped != value:
            self.warnings.append(f"{name} has spaces around its value; they are ignored")
        return stripped


def declared_texts(server: ServerEntry) -> Iterator[str]:
    """Yield the texts in which variables are expanded."""
    yield from (server.command, *server.args, server.cwd, server.url)
    yield from server.environment.values()
    yield from server.headers.values()
    yield from (server.client.client_id, server.client.client_secret)


def _shown(path: Path) -> str:
    home = Path.home()
    return safe_line(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))
