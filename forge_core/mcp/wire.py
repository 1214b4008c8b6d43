"""The messages between a session and its bridge: JSON objects, one a line, in both directions.

Everything that a server has sent is untrusted text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal, Self

SIGN_IN_S = 300.0
"""How long the user may take to sign in."""
MAX_LINE_BYTES = 64_000_000
"""Of one message, in either direction."""

Protocol = Literal["legacy", "auto", "2026-07-28"]
"""How a connection begins: by `initialize`, by asking the server, or as that revision says."""


class Operation(StrEnum):
    """What a session asks of the bridge, in `op`. Those with an `id` are answered by a `RESULT`."""

    START = "start"
    """`server`: a `ServerLaunch`. Replaces a server of the same name."""
    STOP = "stop"
    """`server`: its name. Answered when its processes have ended."""
    CALL = "call"
    """`server`, `tool`, `arguments`, `timeout_s`: call a tool."""
    CANCEL = "cancel"
    """`target`: the id of a request that is still open."""
    PROMPT = "prompt"
    """`server`, `prompt`, `arguments`: return the messages of a prompt."""
    READ = "read"
    """`server`, `uri`: return the contents of a resource."""
    COMPLETE = "complete"
    """`server`, `ref`, `argument`, `context`: return completions of an argument."""
    ROOTS = "roots"
    """`roots`: the folders of the workspace from now on."""
    SIGN_IN = "sign_in"
    """`server`: a `ServerLaunch`; `redirect_uri`: sign in to it. The bridge asks a question of the kind
    "sign-in" with the `url`; the answer holds the parameters with which the user was sent back, or is None.
    Returns the `title` of the server, the granted `scope`, and `problem`: why the keyring was not used."""
    ANSWER = "answer"
    """`id`: that of an `ASK`; `value`: the result of the question."""


RESTART = "restart"


class BridgeEvent(StrEnum):
    """What the bridge sends, in `event`."""

    STATE = "state"
    """`server`, and a `ServerReport`."""
    TOOLS = "tools"
    """`server`, `items`: all its tools, as in the protocol."""
    PROMPTS = "prompts"
    RESOURCES = "resources"
    """`server`, `items`, `templates`."""
    PROGRESS = "progress"
    """`id` of a call, `progress`, `total`, `message`."""
    RESULT = "result"
    """`id`, and `value` or `error`."""
    ASK = "ask"
    """`id`, `server`, `kind`, `params`: a question of a server, for one of its requests that are open. Of the
    kind `RESTART`, it is one of the bridge: the answer is why a program that has crashed must not be started
    again, or empty."""
    WITHDRAW = "withdraw"
    """`id` of an `ASK`, `server`: its answer is not needed any more."""
    LOG = "log"
    """`server`, `stream` (stderr | message), `text`."""


class ServerState(StrEnum):
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    """It has crashed, and is started again after a pause."""
    NEEDS_SIGN_IN = "needs sign-in"
    FAILED = "failed"
    STOPPED = "stopped"


class ServerSandbox(StrEnum):
    """How the program of a server is confined."""

    OFF = ""
    """It runs as the user."""
    KEYS = "keys"
    """So does this, but Forge's own folders are empty for it."""
    STRICT = "strict"
    """In the sandbox of commands, without network; nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLaunch:
    """How the bridge reaches a server: a program to start, or a URL."""

    name: str
    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_sse: bool = False
    """The URL speaks the transport of the revision 2024-11-05."""
    protocol: Protocol = "legacy"
    fingerprint: str = ""
    """Of the entry and its files, for what is remembered of the server; empty: nothing is."""
    roots: tuple[str, ...] = ()
    """The folders of the workspace."""
    sandbox: ServerSandbox = ServerSandbox.OFF
    config_dir: str = ""
    """The folder of the user's settings, for the sandbox."""
    sandbox_read: tuple[str, ...] = ()
    """What a program may read in the sandbox besides, as `Sandbox` takes it."""
    may_sample: bool = False
    """It may ask for answers from the model."""
    state_dir: str = ""
    """Forge's state folder, for sign-ins and the sandbox; empty: nobody can sign in."""
    client_id: str = ""
    """Of a client that was registered with the authorization server before; empty: Forge registers itself."""
    client_secret: str = ""
    client_metadata_url: str = ""
    """Of a document about the client that authorization servers may read in the place of a registration."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        lists = {name: tuple(content[name]) for name in ("argv", "roots", "sandbox_read")}
        return cls(**{**content, **lists, "sandbox": ServerSandbox(content["sandbox"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    """The state of a connection."""

    state: ServerState
    error: str = ""
    """Why it failed."""
    protocol: str = ""
    """The negotiated revision."""
    title: str = ""
    """The name and version by which the server introduces itself."""
    instructions: str = ""
    capabilities: tuple[str, ...] = ()
    initialize_ms: int = 0
    """From the start until the server had answered its initialization."""
    connect_ms: int = 0
    """From the start until all its lists had been read."""
    warning: str = ""
    """What of its lists was left out, and why."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(
            state=ServerState(content["state"]),
            error=content["error"],
            protocol=content["protocol"],
            title=content["title"],
            instructions=content["instructions"],
            capabilities=tuple(content["capabilities"]),
            initialize_ms=content["initialize_ms"],
            connect_ms=content["connect_ms"],
            warning=content["warning"],
        )


def encoded(message: Mapping[str, Any]) -> bytes:
    """Return a message as one line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    """Return the message of a line. Raises ValueError for one that is no JSON object."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError(f"a line of the bridge is no JSON object: {line[:80]!r}")
    return message
