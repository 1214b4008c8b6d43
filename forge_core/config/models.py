"""The settings, as values. `load.py` fills them; nothing here reads anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias

from forge_core.config.project_state import Scripts


class Origin(StrEnum):
    """Where a value came from, weakest first."""

    DEFAULT = "default"
    USER = "user config"
    PROJECT = "project config"
    ENVIRONMENT = "environment"
    FLAG = "flag"


class PermissionMode(StrEnum):
    """How much runs without asking."""

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    AUTO = "auto"
    YOLO = "yolo"


ThinkingSetting: TypeAlias = Literal["hidden", "folded", "full"]
THINKING_SETTINGS: tuple[ThinkingSetting, ...] = ("hidden", "folded", "full")
SandboxSetting: TypeAlias = Literal["auto", "strict", "off"]
NotifySetting: TypeAlias = Literal["auto", "bell", "off"]
EndpointKind: TypeAlias = Literal["openrouter", "custom", "offline"]
OFFLINE_MODEL = "forge/offline"
"""The id of the built-in model."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go."""

    kind: EndpointKind
    base_url: str
    """Without a trailing slash; empty for the offline model."""
    api_key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    """The environment variable that held the key, for messages."""
    key_notice: str = ""
    """Which key is sent to an endpoint that the user named; empty for one that nobody named."""


@dataclass(frozen=True, slots=True)
class ForgeConfig:
    """Everything a session is built from."""

    working_dir: Path
    endpoint: Endpoint
    model: str
    permission_mode: PermissionMode = PermissionMode.ASK
    allow: tuple[str, ...] = ()
    """Rules `tool(pattern)`."""
    ask: tuple[str, ...] = ()
    """Rules of what always asks; stronger than `allow`, weaker than `deny`."""
    deny: tuple[str, ...] = ()
    saved_allow: tuple[str, ...] = ()
    """What the person has allowed for good in this folder, and the next two; it lies in their own state."""
    saved_ask: tuple[str, ...] = ()
    saved_deny: tuple[str, ...] = ()
    saved_scripts: Mapping[str, Scripts] = field(default_factory=dict)
    """Rule of `saved_allow` → the scripts that it is bound to."""
    is_trusted: bool = False
    """Whether the person trusts the folder: only then may its own files steer or instruct."""
    project_allow: tuple[str, ...] = ()
    """The trusted folder's own rules, this one and the next two."""
    project_ask: tuple[str, ...] = ()
    project_deny: tuple[str, ...] = ()
    sandbox: SandboxSetting = "auto"
    """strict: no start without a full sandbox."""
    theme: str = "forge-dark"
    notify: NotifySetting = "auto"
    """How somebody who looks at another window is called."""
    thinking: ThinkingSetting = "folded"
    """How much of the model's reasoning shows; it changes nothing in what the model does."""
    max_iterations: int = 200
    first_token_timeout_s: float = 60.0
    idle_timeout_s: float = 60.0
    connect_timeout_s: float = 10.0
    max_retries: int = 2
    context_window: int | None = None
    """Tokens; None: from the catalogue, else unknown."""
    log_level: str = "info"
    state_dir: Path = field(default_factory=lambda: Path.home() / ".local" / "state" / "forge")
    config_dir: Path = field(default_factory=lambda: Path.home() / ".config" / "forge")
    origins: dict[str, Origin] = field(default_factory=dict)
    """Field name → where its value came from."""
    notices: tuple[str, ...] = ()
    """What the person should know about the loading (a project setting that was ignored, a broken file)."""
