"""The sub-agent for which the running code works, for parts of a session that all sub-agents share."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from forge_core.events import AgentEvent


@dataclass(frozen=True, slots=True)
class AgentScope:
    """One sub-agent while it runs."""

    call_id: str
    """The `task` call that it runs for."""
    emit: Callable[[AgentEvent], None]
    """Takes an event of the sub-agent."""


running_agent: ContextVar[AgentScope | None] = ContextVar("running_agent", default=None)
"""Set in the task of a sub-agent, and so in all tasks that it starts; None in those of the session itself."""
