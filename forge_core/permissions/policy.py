"""Decides what a call may do: deny before ask before allow, and why and why. Asks nobody, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from forge_core.approval import Effect
from forge_core.config.models import PermissionMode
from forge_core.permissions.catastrophe import catastrophe, doubt
from forge_core.permissions.paths import Place, place, real_path
from forge_core.permissions.rules import (
    SHELL_TOOL,
    Rule,
    allows_command,
    allows_paths,
    denies_command,
    denies_paths,
    matches_target,
    parse_rule,
    rule_for_path,
)
from forge_core.permissions.shell_rules import session_pattern

if TYPE_CHECKING:
    from forge_core.tools.base import ToolUse

READ_TOOLS = frozenset({"read", "glob", "grep", "ls"})
"""The built-in tools that run unasked inside the folder."""
WRITE_TOOLS = frozenset({"write", "edit"})
"""The built-in tools that run unasked inside the folder in the modes accept-edits and auto."""


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision and what led to it."""

    decision: Decision
    reason: str
    """One line, for the person's prompt or the model's error."""
    rule: str = ""
    """The rule that decided, when one did."""
    by: Literal["policy", "rule", "mode"] = "policy"
    session_rule: str = ""
    """When asking: what "yes, for this session" would add; empty when it can be granted only once."""
    always_rule: str = ""
    """When asking: the generalised rule that "always in this project" would save; empty: never for good."""
    is_destructive: bool = False
    """Deletes, leaves the folder or uses the network: the answer offered first is then no."""
    is_private: bool = False
    """When asking: before a yes nothing may be told of what lies there, not even whether anything does."""


class Policy(Protocol):
    """What ToolExecutor needs of a policy."""

    def decide(self, tool_name: str, use: ToolUse) -> Verdict: ...

    def allow_for_session(self, rule: str) -> None: ...

    def allow_always(self, rule: str) -> None: ...

    def allow_reading(self, folder: Path) -> None: ...

    def hidden(self, tool_name: str) -> Callable[[Path], bool] | None: ...


class PermissionPolicy:
    """The policy of a session in `root`.

    Order: the catastrophe guard, deny rules, plan mode, what always asks (.git, .forge,
    deletions that cannot be read), allow rules, yolo,
    and then the mode. A path is judged by where it really leads. Without a sandbox, `auto` asks for every
    command. Raises ConfigError for a rule that cannot be read.
    """

    def __init__(
        self,
        root: Path,
        mode: PermissionMode = PermissionMode.ASK,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
    ) -> None:
        self.root = real_path(root)
        self.mode = mode
        self._allow = [parse_rule(rule) for rule in allow]
        self._deny = [parse_rule(rule) for rule in deny]
        self._session: list[Rule] = []
        self._readable: list[Path] = []

    def rules(self) -> tuple[tuple[Literal["deny", "allow", "session"], str], ...]:
        """Every rule with where it belongs, in the order they are looked at."""
        return (
            *(("deny", str(rule)) for rule in self._deny),
            *(("allow", str(rule)) for rule in self._allow),
            *(("session", str(rule)) for rule in self._session),
        )

    def allow_for_session(self, rule: str) -> None:
        """Adds an allow rule until the session ends."""
        parsed = parse_rule(rule)
        if parsed not in self._session:
            self._session.append(parsed)

    def allow_always(self, rule: str) -> None:
        """Adds an allow rule for good."""
        self.allow_for_session(rule)

    def allow_reading(self, folder: Path) -> None:
        """Lets the read tools into a folder of Forge's own (where full outputs are kept)."""
        self._readable.append(real_path(folder))

    def hidden(self, tool_name: str) -> Callable[[Path], bool] | None:
        """Tells a search which files to leave out: those that deny rules keep from `tool_name` or from read.
        None when there are no such rules."""
        rules = [
            rule for rule in self._deny if rule.pattern and (rule.names(tool_name) or rule.names("read"))
        ]
        if not rules:
            return None
        return lambda path: any(denies_paths(rule, [place(path, self.root)]) for rule in rules)

    def decide(self, tool_name: str, use: ToolUse) -> Verdict:
        """What may happen to this call. Looks links up, touches nothing."""
        places = [place(path, self.root) for path in use.paths]
        return (
            self._refused(tool_name, use, places)
            or self._always_asks(use, places)
            or self._allowed_by_rule(tool_name, use, places)
            or self._by_mode(tool_name, use, places)
        )

    def _refused(self, tool_name: str, use: ToolUse, places: list[Place]) -> Verdict | None:
        danger = catastrophe(use.target, self.root) if use.effect is Effect.RUN else None
        if danger is not None:
            return Verdict(Decision.DENY, f"{danger}, which Forge never runs, in no mode")
        for rule in self._deny:
            if rule.names(tool_name) and _denies(rule, use, places):
                return Verdict(Decision.DENY, f"the deny rule {rule} covers it", str(rule), "rule")
        if self.mode is PermissionMode.PLAN and use.effect is not Effect.READ:
            return Verdict(
                Decision.DENY, "in plan mode nothing is written or run; describe the change", by="mode"
            )
        return None

    def _always_asks(self, use: ToolUse, places: list[Place]) -> Verdict | None:
        if use.effect is Effect.RUN:
            return self._doubted(use.target)
        if use.effect is not Effect.WRITE or self.mode is PermissionMode.YOLO:
            return None
        held = next((one for one in places if one.is_protected), None)
        if held is None:
            return None
        reason = f"{held.given} steers git or Forge itself"
        return Verdict(Decision.ASK, reason, is_destructive=True, is_private=not held.is_inside)

    def _doubted(self, command: str) -> Verdict | None:
        found = doubt(command, self.root)
        if found is None:
            return None
        if found.is_grave and self.mode is PermissionMode.YOLO:
            reason = (
                f"{found.reason}, and in mode yolo nobody is asked. Name what to delete plainly, or leave it"
            )
            return Verdict(Decision.DENY, reason, by="mode")
        return Verdict(Decision.ASK, f"{found.reason}, so it asks each time", is_destructive=True)

    def _allowed_by_rule(self, tool_name: str, use: ToolUse, places: list[Place]) -> Verdict | None:
        for rules, is_granted in ((self._allow, False), (self._session, True)):
            for rule in rules:
                if rule.names(tool_name) and self._allows(rule, use, places, is_granted=is_granted):
                    return Verdict(Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule")
        return None

    def _allows(self, rule: Rule, use: ToolUse, places: list[Place], *, is_granted: bool) -> bool:
        if use.effect is Effect.RUN:
            return allows_command(rule, use.target, self.root, is_granted=is_granted)
        return allows_paths(rule, places) if places else matches_target(rule, use.target)

    def _by_mode(self, tool_name: str, use: ToolUse, places: list[Place]) -> Verdict:
        if self.mode is PermissionMode.YOLO:
            return Verdict(Decision.ALLOW, "mode yolo", by="mode")
        session_rule = _session_rule(tool_name, use, places, self.root)
        secret = next((one for one in places if one.is_secret), None)
        if secret is not None:
            reason = f"{secret.given.name} may hold keys or passwords"
            return Verdict(Decision.ASK, reason, session_rule=session_rule, is_private=True)
        outside = next((one for one in places if not self._may_enter(one, use)), None)
        if outside is not None:
            reason = f"{_shown(outside)} lies outside the folder {self.root}"
            return Verdict(
                Decision.ASK, reason, session_rule=session_rule, is_destructive=True, is_private=True
            )
        if tool_name in READ_TOOLS and use.effect is Effect.READ:
            return Verdict(Decision.ALLOW, "it only reads, inside the folder")
        edits_unasked = self.mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO)
        if edits_unasked and tool_name in WRITE_TOOLS and places and not use.is_destructive:
            return Verdict(Decision.ALLOW, f"mode {self.mode}", by="mode")
        return Verdict(
            Decision.ASK,
            self._question(tool_name, use),
            session_rule=session_rule,
            is_destructive=use.is_destructive or use.effect is Effect.NETWORK,
        )

    def _question(self, tool_name: str, use: ToolUse) -> str:
        match use.effect:
            case Effect.RUN if self.mode is PermissionMode.AUTO:
                return "there is no sandbox, so even in mode auto each command asks"
            case Effect.RUN:
                return "commands run without a sandbox, so each one asks"
            case Effect.WRITE:
                return "it changes a file"
            case Effect.NETWORK:
                return "it uses the network"
            case Effect.READ:
                return f"{tool_name} is not one of the built-in read tools"

    def _may_enter(self, one: Place, use: ToolUse) -> bool:
        if one.is_inside:
            return True
        return use.effect is Effect.READ and any(one.real.is_relative_to(folder) for folder in self._readable)


def _denies(rule: Rule, use: ToolUse, places: list[Place]) -> bool:
    if use.effect is Effect.RUN:
        return denies_command(rule, use.target)
    return denies_paths(rule, places) if places else matches_target(rule, use.target)


def _session_rule(tool_name: str, use: ToolUse, places: list[Place], root: Path) -> str:
    if tool_name == SHELL_TOOL or use.effect is Effect.RUN:
        return f"{tool_name}({session_pattern(use.target, root)})" if use.target.strip() else ""
    if len(places) == 1:
        return rule_for_path(tool_name, places[0])
    return tool_name if not places else ""


def _shown(one: Place) -> str:
    return f"{one.given}" if one.given == one.real else f"{one.given} (really {one.real})"
