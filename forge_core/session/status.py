"""What a status line shows of a session, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypeAlias

from forge_core.config.permission_mode import PermissionMode
from forge_core.config.settings import EffortSetting
from forge_core.llm.models import TokenUsage

Ability: TypeAlias = Literal["tools", "images", "reasoning"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that `/model` offers."""

    id: str
    note: str = ""
    """Window and price in a few words ("200k · $3 in, $15 out per million"); empty where unknown."""
    name: str = ""
    """For people; empty where the id is all that is known."""
    window: int | None = None
    """Tokens; None where unknown."""
    input_price_usd: Decimal | None = None
    """Of a token; None where unknown."""
    output_price_usd: Decimal | None = None
    abilities: frozenset[Ability] | None = None
    """None where unknown."""


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """A session at one moment; cheap to make."""

    model: str
    provider_label: str
    """"local", or the kind of the endpoint."""
    mode: PermissionMode
    sandbox: str
    """E.g. "sandbox: off"."""
    usage: TokenUsage
    """Of the whole session; its cost too."""
    context_used: int
    """Tokens that the next request holds so far."""
    context_window: int | None
    working_dir: Path
    added_folders: tuple[Path, ...] = ()
    """Those that the user has added to it."""
    compacts_at: int | None = None
    """Tokens at which the conversation is compacted by itself; None where the window is unknown."""
    is_context_estimate: bool = False
    """Whether anything of `context_used` is not the provider's count."""
    known_cost_usd: Decimal | None = None
    """Of the calls whose price is known, where that of others is not."""
    output_price_usd: Decimal | None = None
    """Of a token that the model writes; None where unknown."""
    effort: EffortSetting | None = None
    """How much the model reasons; None for its own default."""
    is_running: bool = False
    running_jobs: int = 0
    """Commands in the background."""
    running_agents: int = 0
    """Sub-agents in the background."""
    broken_hooks: int = 0
    """Hooks that could not run the last time."""
    is_away: bool = False
    """Whether the user is away: what needs their reply is denied."""
