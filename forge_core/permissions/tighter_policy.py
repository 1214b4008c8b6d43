"""A policy for one sub-agent, which asks at least as often as that of its session."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts
from forge_core.permissions.verdict import Verdict

if TYPE_CHECKING:
    from forge_core.permissions.policy import PermissionPolicy
    from forge_core.tools.base import ToolUse

_STRICTNESS = (
    PermissionMode.PLAN,
    PermissionMode.ASK,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.AUTO,
    PermissionMode.YOLO,
)


def stricter(one: PermissionMode, other: PermissionMode) -> PermissionMode:
    """Return the mode in which less runs without asking."""
    return min(one, other, key=_STRICTNESS.index)


class TighterPolicy:
    """Decides in the stricter one of a mode and the session's mode; the rules are those of the session."""

    def __init__(self, session: PermissionPolicy, mode: PermissionMode) -> None:
        self._session = session
        self._mode = mode

    @property
    def mode(self) -> PermissionMode:
        """The mode that counts now."""
        return stricter(self._mode, self._session.mode)

    def decide(self, tool_name: str, use: ToolUse) -> Verdict:
        policy = copy.copy(self._session)  # shares the rules; the session's mode may change at any time
        policy.mode = self.mode
        return policy.decide(tool_name, use)

    def allow_for_session(self, rule: str) -> None:
        self._session.allow_for_session(rule)

    def allow_always(self, rule: str, scripts: Scripts | None = None) -> None:
        self._session.allow_always(rule, scripts)

    def allow_reading(self, folder: Path) -> None:
        self._session.allow_reading(folder)

    def hidden(self, tool_name: str) -> Callable[[Path], bool] | None:
        return self._session.hidden(tool_name)
