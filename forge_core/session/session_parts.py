"""What a session is built from; `runtime.build_session` builds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TypeAlias

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.context.system_prompt import SystemPrompt
from forge_core.errors import WorkspaceError
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.session.budget import SpendingBudget
from forge_core.session.event_channel import EventChannel
from forge_core.session.provider import SessionProvider
from forge_core.session.session_extensions import SessionExtensions
from forge_core.session.session_hooks import SessionHooks
from forge_core.session.session_style import SessionStyle
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.store.journal import Journal
from forge_core.tools.base import BaseTool

AgentPromptMaker: TypeAlias = Callable[[PermissionMode, Iterable[BaseTool], str, Path | None], SystemPrompt]


def _plain_prompt(
    mode: PermissionMode, tools: Iterable[BaseTool], role: str, folder: Path | None = None
) -> SystemPrompt:
    return SystemPrompt(role)


def _not_isolated(folder: Path) -> ToolEnvironment:
    raise WorkspaceError("worktrees are not available in this session")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParts:
    """The objects that a session connects; it closes those that can be closed."""

    id: str
    config: ForgeConfig
    agent: ForgeAgent
    tracker: TokenTrackingCallback
    """Counts the usage of every model call of the session."""
    environment: ToolEnvironment
    provider: SessionProvider
    journal: Journal
    logger: Logger
    events: EventChannel
    system_prompt: Callable[[PermissionMode], SystemPrompt]
    """Returns the system prompt of a mode, as it is at this moment."""
    budget: SpendingBudget
    extensions: SessionExtensions
    hooks: SessionHooks
    style: SessionStyle
    agent_prompt: Callable[[PermissionMode, Iterable[BaseTool], str, Path | None], SystemPrompt] = (
        _plain_prompt
    )
    """Returns the system prompt of a sub-agent: of a mode, for its tools, with the text of its role, and of
    the folder that it works in; None: that of the session."""
    isolate: Callable[[Path], ToolEnvironment] = _not_isolated
    """Returns the environment for calls in a worktree: by the same rules, with a sandbox of its own and
    without undo."""
    is_attended: bool = True
    """Whether there is a user, who will send another message."""
