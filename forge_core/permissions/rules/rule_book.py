"""The rules of a session, each with where it comes from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from forge_core.permissions.rules.rule import EDIT, Rule, parse_rule

Kind: TypeAlias = Literal["deny", "ask", "allow"]
Origin: TypeAlias = Literal[
    "deny", "ask", "allow", "turn", "saved", "session", "project deny", "project ask", "project allow"
]
"""`allow` holds what the user wrote, `turn` what a command or skill of their own grants for one turn, `saved`
and `session` what was granted in a prompt, for good or until the session ends."""
_ORDER: tuple[Origin, ...] = (
    "deny", "project deny", "ask", "project ask", "allow", "turn", "saved", "session", "project allow",
)  # fmt: skip
GRANTED: frozenset[Origin] = frozenset(("saved", "session"))


class RuleEntry(NamedTuple):
    origin: Origin
    rule: str


class RuleBook:
    """Rules by origin. Raises ConfigError for one that cannot be read.

    `edit_tools` holds the names of the tools that change files. A deny or ask rule for any of them covers
    them all; an allow rule covers only the tool that it names, unless that is `edit`, the right itself.
    """

    def __init__(self, edit_tools: Container[str], **rules: Iterable[str]) -> None:
        self.edit_tools = edit_tools
        self._rules: dict[Origin, list[Rule]] = {
            origin: [parse_rule(rule) for rule in rules.get(origin.replace(" ", "_"), ())]
            for origin in _ORDER
        }

    def entries(self) -> tuple[RuleEntry, ...]:
        """Return every rule, in the order they are looked at."""
        return tuple(RuleEntry(origin, str(rule)) for origin in _ORDER for rule in self._rules[origin])

    def add(self, origin: Origin, rule: Rule) -> None:
        if rule not in self._rules[origin]:
            self._rules[origin].append(rule)

    def remove(self, rule: Rule, kind: Kind | None = None) -> bool:
        """Remove a rule of the user's own, of one kind or of any; return whether there was one. The project's
        rules stay."""
        found = False
        for origin in _ORDER if kind is None else (kind,):
            if not origin.startswith("project") and rule in self._rules[origin]:
                self._rules[origin].remove(rule)
                found = True
        return found

    def set_turn(self, rules: Iterable[Rule]) -> None:
        """Take these rules in place of those of the turn before."""
        self._rules["turn"] = [*rules]

    def set_project(self, allow: Iterable[str], ask: Iterable[str], deny: Iterable[str]) -> None:
        """Take these rules in place of the project's. All are read before any is changed."""
        self._rules |= {
            "project allow": [parse_rule(rule) for rule in allow],
            "project ask": [parse_rule(rule) for rule in ask],
            "project deny": [parse_rule(rule) for rule in deny],
        }

    def allowing(
        self, tool: str, *, is_edit: bool = False, other_names: Container[str] = ()
    ) -> Iterator[tuple[Origin, Rule]]:
        for origin in ("allow", "turn", "saved", "session", "project allow"):
            for rule in self._rules[origin]:
                is_covered = rule.names(tool, is_edit=is_edit, other_names=other_names)
                if is_covered and not (rule.tool == "*" and tool == "network"):
                    yield origin, rule

    def tightening(
        self,
        kind: Literal["deny", "ask"],
        tool: str,
        *,
        is_edit: bool = False,
        other_names: Container[str] = (),
    ) -> list[Rule]:
        """Return the deny or the ask rules for a tool, the user's before the project's."""
        is_edit = is_edit or tool == EDIT
        return [
            rule
            for origin in _ORDER
            if origin.endswith(kind)
            for rule in self._rules[origin]
            if rule.names(tool, is_edit=is_edit, edit_tools=self.edit_tools, other_names=other_names)
        ]
