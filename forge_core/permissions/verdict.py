"""What a decision is, what the executor needs of whoever decides, and a policy over another one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from forge_core.approval import ServerTool
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts

if TYPE_CHECKING:
    from forge_core.permissions.policy import PermissionPolicy
    from forge_core.tools.base import ToolUse

By: TypeAlias = Literal["policy", "rule", "mode", "hook"]


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision and what led to it."""

    decision: Decision
    reason: str
    """One line, for the user's prompt or the model's error."""
    rule: str = ""
    """The rule that decided, when one did."""
    by: By = "policy"
    session_rule: str = ""
    """When asking: what "yes, for this session" would add; empty when it can be granted only once."""
    is_destructive: bool = False
    """Deletes, leaves the folder, uses the network, or is a tool that has changed: the answer offered first
    is then no."""
    is_private: bool = False
    """When asking: before the user allows it, nothing about the path may be revealed, not even its
    existence."""
    always_rule: str = ""
    """When asking: the rule that "always in this project" would save; empty when there is no safe one."""
    always_scripts: Scripts = ()
    """What `always_rule` is bound to: the scripts that its line names, as they are now, or what the user sees
    of a server's tool."""
    session_scripts: Scripts = ()
    """What `session_rule` is bound to; empty for lines and files."""
    changes: tuple[str, ...] = ()
    """When asking about a server's tool that was allowed before: what has changed since, as lines."""
    is_read_only: bool = False
    """It plainly only reads: nothing need be kept to undo it."""
    switches_git_off: bool = False
    """It is allowed on the condition that git runs no program of the repository where it only reads."""
    is_usual: bool = False
    """When asking: the reason says no more than what the call is."""
    risky: tuple[tuple[int, int], ...] = ()
    """When asking about a command line: where the parts are that make it ask (see `risky_parts`)."""
    is_sandbox_weak: bool = False
    """Of a command line: a full sandbox counts as weak now, as something cannot be hidden or protected."""
    shows_keys: bool = False
    """The call names a file with keys, or a rule names its file: whoever allows it lets the model read keys.
    Else private keys in its result are left out."""
    real_paths: tuple[Path, ...] = ()
    """Where the call's paths really led when they were judged."""
    linked_paths: tuple[Path, ...] = ()
    """Those of them that the call writes and that had several links."""


class Policy(Protocol):
    """What ToolExecutor needs of a policy."""

    def decide(self, tool_name: str, use: ToolUse) -> Verdict: ...

    def allow_for_session(self, rule: str, scripts: Scripts = ()) -> None: ...

    def allow_always(self, rule: str, scripts: Scripts | None = None) -> None: ...

    def allow_reading(self, folder: Path) -> None: ...

    def hidden(self, tool_name: str) -> Callable[[Path], bool] | None: ...

    def denies(self, tool_name: str, tool: ServerTool) -> bool: ...


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
    """A policy for one sub-agent, over that of its session: its rules, in the stricter one of two modes."""

    def __init__(
        self, session: PermissionPolicy, mode: PermissionMode | None, worktree: PermissionPolicy | None = None
    ) -> None:
        """`worktree` is the policy for another folder that the sub-agent works in, in the session's mode."""
        self._session = session
        self._rules = session if worktree is None else worktree
        self._mode = mode

    @property
    def mode(self) -> PermissionMode:
        """The mode that counts now."""
        return self._session.mode if self._mode is None else stricter(self._mode, self._session.mode)

    def decide(self, tool_name: str, use: ToolUse) -> Verdict:
        policy = copy.copy(self._rules)  # shares the rules; the session's mode may change at any time
        policy.mode = self.mode
        return policy.decide(tool_name, use)

    def allow_for_session(self, rule: str, scripts: Scripts = ()) -> None:
        self._rules.allow_for_session(rule, scripts)

    def allow_always(self, rule: str, scripts: Scripts | None = None) -> None:
        self._rules.allow_always(rule, scripts)

    def allow_reading(self, folder: Path) -> None:
        self._rules.allow_reading(folder)

    def hidden(self, tool_name: str) -> Callable[[Path], bool] | None:
        return self._rules.hidden(tool_name)

    def denies(self, tool_name: str, tool: ServerTool) -> bool:
        return self._rules.denies(tool_name, tool)
