"""The values that configure a session. `load` fills them in; nothing here reads anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from forge_core.config.checks import shown_url
from forge_core.config.project_state import Scripts
from forge_core.config.settings import SETTINGS, Settings


class Origin(StrEnum):
    """Where a value came from, weakest first."""

    DEFAULT = "default"
    USER = "user config"
    PROJECT = "project config"
    ENVIRONMENT = "environment"
    FLAG = "flag"


OFFLINE_MODEL = "forge/offline"
"""The id of the built-in model."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go."""

    kind: str
    """"offline", the name of a provider whose models are in the catalogue, or "custom"."""
    base_url: str
    """Without a trailing slash; empty for the offline model."""
    api_key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    """The environment variable that held the key, for messages."""
    key_notice: str = ""
    """A notice of which key is sent to an endpoint that the user named; else empty."""

    @property
    def shown(self) -> str:
        """The base URL without credentials, or the kind where there is none."""
        return shown_url(self.base_url) or self.kind


OFFLINE_ENDPOINT = Endpoint("offline", "")
"""The built-in model's."""


def _make_dataclass() -> None:
    """Make a dataclass of `Settings`. Its module cannot: importing dataclasses would slow down `--help`."""
    for name, declared in SETTINGS.items():
        setattr(Settings, name, field(default=declared.default))
    dataclass(frozen=True, kw_only=True)(Settings)


_make_dataclass()


@dataclass(frozen=True, kw_only=True)
class ForgeConfig(Settings):
    """Everything a session is built from: the settings, and what follows from them and from the folder."""

    working_dir: Path
    added_folders: tuple[Path, ...] = ()
    """Real paths of the folders of `add_dirs` that were added to it."""
    endpoint: Endpoint
    model: str
    saved_allow: tuple[str, ...] = ()
    """Rules that the user saved for this folder, with the next two; they are kept in the state directory."""
    saved_ask: tuple[str, ...] = ()
    saved_deny: tuple[str, ...] = ()
    saved_scripts: Mapping[str, Scripts] = field(default_factory=dict)
    """Rule of `saved_allow` → the scripts that it is bound to."""
    saved_written: tuple[str, ...] = ()
    """The rules of `saved_allow` that the user wrote; the others were granted in a prompt."""
    is_trusted: bool = False
    """Whether the user trusts the folder. Only then may its files set permissions or give instructions."""
    trusts_this_run: bool = False
    """Whether `--trust` was given: also for files that have come since the user decided about the folder."""
    worktree_of: Path | None = None
    """The folder from which Forge has made this worktree: what the user decided about it holds here."""
    project_allow: tuple[str, ...] = ()
    """Rules from the trusted folder's own file, with the next two."""
    project_ask: tuple[str, ...] = ()
    project_deny: tuple[str, ...] = ()
    own_instructions: tuple[Path, ...] = ()
    """The user's own instruction files, which count in every project; they need not exist."""
    approved_programs: tuple[str, ...] = ()
    """The names of programs of the project that are approved for this run."""
    mcp_config: tuple[str, ...] = ()
    """Files with MCP servers for this run (`--mcp-config`)."""
    session_servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """Name → entry of MCP servers that the program declares which started the session; they count for this
    run, like those of `mcp_config`."""
    own_extensions: tuple[Path, ...] = ()
    """The user's own folders that may hold commands, skills, agents and styles, the strongest first; they
    need not exist."""
    state_dir: Path = field(default_factory=lambda: Path.home() / ".local" / "state" / "forge")
    config_dir: Path = field(default_factory=lambda: Path.home() / ".config" / "forge")
    origins: dict[str, Origin] = field(default_factory=dict)
    """Setting → where its value came from."""
    own_settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the user's own file set."""
    notices: tuple[str, ...] = ()
    """Messages to the user about loading: a project setting that was ignored, a broken file."""

    def is_chosen(self, name: str) -> bool:
        """Whether a flag or the environment set the value of this setting, for this start alone."""
        return self.origins.get(name) in (Origin.FLAG, Origin.ENVIRONMENT)
