"""Decides a command line: each of its commands for itself, then the line. Pure: it looks links and globs up,
keeps nothing and touches nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from forge_core.config.project_state import Scripts
from forge_core.config.settings import PermissionMode
from forge_core.permissions.guard.catastrophe import Doubt, catastrophe, doubt
from forge_core.permissions.guard.destruction import is_destructive
from forge_core.permissions.path_info import place
from forge_core.permissions.read_only.commands import (
    folders_before,
    git_runs,
    is_glue,
    is_reading,
    reads_only,
)
from forge_core.permissions.read_only.reasons_to_ask import still_asks, strays
from forge_core.permissions.read_only.word_paths import paths_in
from forge_core.permissions.rules.command_rules import (
    Match,
    covers,
    forget_places,
    is_exactly,
    is_met_by,
    meets,
)
from forge_core.permissions.rules.denied_files import may_be_met
from forge_core.permissions.rules.named_scripts import named_scripts
from forge_core.permissions.rules.rule import NETWORK, SHELL_TOOL, Rule, denies_paths
from forge_core.permissions.rules.rule_book import Origin, RuleBook
from forge_core.permissions.sandbox.state import SandboxStrength
from forge_core.permissions.shell.syntax import Reading, SimpleCommand, read_line
from forge_core.permissions.verdict import By, Decision

_UNKNOWN = "what it runs cannot be determined from the line"


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision depends on but the line."""

    root: Path
    mode: PermissionMode
    sandbox: SandboxStrength
    book: RuleBook
    tool: str = SHELL_TOOL
    needs_network: bool = False
    scripts: Mapping[str, Scripts] = field(default_factory=dict)
    """Allow rule → the scripts that its line named when it was allowed."""

    @property
    def is_sandboxed(self) -> bool:
        return self.sandbox == "full"


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a line, and what was decided of it."""

    text: str
    decision: Decision
    reason: str
    rule: str = ""
    by: By = "policy"
    notes: tuple[str, ...] = ()
    """What was found on the way: wrappers taken off, files written, where it stands."""
    words: tuple[str, ...] = ()
    is_named: bool = False
    """A rule names it, rather than a list or a mode."""


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """The decision on the line, and on its parts."""

    decision: Decision
    reason: str
    rule: str = ""
    by: By = "policy"
    parts: tuple[Part, ...] = ()
    deciding: Part | None = None
    is_destructive: bool = False
    is_single: bool = False
    """It asks each time, whatever rule is added."""
    is_read_only: bool = False
    asking: tuple[SimpleCommand, ...] = ()
    """The commands that nothing allows yet."""
    problem: str = ""


def judge(line: str, now: Situation) -> LineVerdict:
    """What may happen to the line: deny before ask before allow, wherever a rule comes from."""
    reading = read_line(line)
    forget_places()
    danger = catastrophe(line, now.root)
    if danger is not None:
        return LineVerdict(
            Decision.DENY, f"{danger}, which Forge never runs, in no mode", problem=reading.problem
        )
    shown = [] if reading.problem else [n for n, one in enumerate(reading.commands) if not one.is_hint]
    commands = [reading.commands[number] for number in shown]
    parts = tuple(_part(number, reading, now) for number in shown)
    for step in (_denied, _planned, _doubted, _told_to_ask, _allowed_whole):
        found = step(reading, now, parts)
        if found is not None:
            return replace(found, parts=parts, problem=reading.problem)
    found = _by_parts(reading, now, commands, parts)
    return replace(found, parts=parts, problem=reading.problem)


def _denied(reading: Reading, now: Situation, parts: tuple[Part, ...]) -> LineVerdict | None:
    for rule in _rules_of(now, "deny"):
        if meets(rule, reading, now.root) is Match.YES:
            part = next((one for one in parts if one.rule == str(rule)), None)
            return LineVerdict(
                Decision.DENY, f"the deny rule {rule} covers it", str(rule), "rule", deciding=part
            )
    for rule in _path_rules(now):
        if any(denies_paths(rule, [place(path, now.root)]) for path in _named_paths(reading, now.root)):
            return LineVerdict(
                Decision.DENY, f"the deny rule {rule} covers a file that it names", str(rule), "rule"
            )
    return None


def _planned(reading: Reading, now: Situation, parts: tuple[Part, ...]) -> LineVerdict | None:
    if now.mode is not PermissionMode.PLAN:
        return None
    if not now.needs_network and reads_only(reading, now.root):
        why = next(filter(None, (_unmasked(one, reading, now) for one in reading.commands)), "")
        if not why:
            return None
    return LineVerdict(
        Decision.DENY, "in plan mode nothing is written or run; describe the change", by="mode"
    )


def _doubted(reading: Reading, now: Situation, parts: tuple[Part, ...]) -> LineVerdict | None:
    found: Doubt | None = doubt(reading.line, now.root)
    if found is None:
        return None
    if found.is_grave and now.mode is PermissionMode.YOLO:
        reason = f"{found.reason}, and in mode yolo nobody is asked. Name what to delete plainly, or leave it"
        return LineVerdict(Decision.DENY, reason, by="mode")
    reason = f"{found.reason}, so it asks each time"
    return LineVerdict(Decision.ASK, reason, is_destructive=True, is_single=True)


def _told_to_ask(reading: Reading, now: Situation, parts: tuple[Part, ...]) -> LineVerdict | None:
    for rule in _rules_of(now, "ask"):
        if meets(rule, reading, now.root) is Match.YES:
            part = next((one for one in parts if one.rule == str(rule)), None)
            return LineVerdict(
                Decision.ASK,
                f"the ask rule {rule} covers it",
                str(rule),
                "rule",
                deciding=part,
                is_single=True,
            )
    return None


def _allowed_whole(reading: Reading, now: Situation, parts: tuple[Part, ...]) -> LineVerdict | None:
    """What a rule for the very line, a rule for every line, or a fault of the line decides."""
    tool = NETWORK if now.needs_network else now.tool
    for origin, rule in _allowing(now, tool):
        if (
            is_exactly(rule, reading.line)
            and _may_cover(origin, reading, now)
            and not _changed_scripts(origin, rule, now)
        ):
            return LineVerdict(Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule")
    if reading.problem:
        return LineVerdict(Decision.ASK, f"the line could not be read for sure: {reading.problem}")
    unclear = _unclear(reading, now)
    if unclear is not None:
        return unclear
    for origin, rule in _allowing(now, tool):
        if rule.pattern is None and origin != "project allow":
            return LineVerdict(Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule")
    return None


def _changed_scripts(origin: Origin, rule: Rule, now: Situation) -> str:
    """What is no longer as it was when the rule was granted for good; "" when nothing is bound to it or all
    is as it was."""
    bound = now.scripts.get(str(rule)) if origin == "allow" else None
    if not bound:
        return ""
    current = named_scripts((rule.pattern or "").removeprefix("=").strip(), now.root)
    if current is None:
        return "Forge can no longer determine which scripts this line runs"
    differs = sorted({name for name, _ in set(current) ^ set(bound)})
    return f"{differs[0]} has changed since this line was allowed for good" if differs else ""


def _broken_grant(reading: Reading, now: Situation) -> tuple[str, str]:
    """Why a grant for this very line no longer holds, and its rule; empty when there is none."""
    for origin, rule in _allowing(now, NETWORK if now.needs_network else now.tool):
        if is_exactly(rule, reading.line) and (reason := _changed_scripts(origin, rule, now)):
            return reason, str(rule)
    return "", ""


def _unclear(reading: Reading, now: Situation) -> LineVerdict | None:
    for kind in ("deny", "ask"):
        for rule in _rules_of(now, kind):
            if meets(rule, reading, now.root) is Match.MAYBE:
                reason = f"{_UNKNOWN}, and the {kind} rule {rule} might cover it"
                return LineVerdict(Decision.ASK, reason, str(rule), "rule")
    kept = [rule for rule in _path_rules(now) if rule.tool != "edit"]
    met = may_be_met(reading, now.root, kept)
    if met is not None:
        reason = f"it may read a file that the deny rule {met} keeps"
        return LineVerdict(Decision.ASK, reason, str(met), "rule")
    return None


def _by_parts(
    reading: Reading, now: Situation, commands: Sequence[SimpleCommand], parts: tuple[Part, ...]
) -> LineVerdict:
    is_named = any(one.is_named for one in parts)
    asking = tuple(
        command
        for command, part in zip(commands, parts, strict=True)
        if part.decision is not Decision.ALLOW and not (is_named and _is_glue(command, reading, now))
    )
    reads = reads_only(reading, now.root)
    if parts and not asking:
        part = next((one for one in parts if one.is_named), parts[0])
        return LineVerdict(Decision.ALLOW, part.reason, part.rule, part.by, deciding=part, is_read_only=reads)
    if now.mode is PermissionMode.YOLO:
        return LineVerdict(Decision.ALLOW, "mode yolo", by="mode", is_read_only=reads)
    first = next((part for command, part in zip(commands, parts, strict=True) if command in asking), None)
    changed, rule = _broken_grant(reading, now)
    return LineVerdict(
        Decision.ASK,
        changed or (first.reason if first else "there is nothing in it that Forge knows"),
        rule,
        deciding=first,
        is_destructive=now.needs_network or is_destructive(reading.line),
        asking=asking or tuple(commands),
        is_read_only=reads,
    )


def _part(number: int, reading: Reading, now: Situation) -> Part:
    command = reading.commands[number]
    decision, reason, rule, by = _decide_part(number, reading, now)
    is_named = decision is Decision.ALLOW and bool(rule)
    return Part(command.text, decision, reason, rule, by, tuple(_notes(command)), command.words, is_named)


def _decide_part(number: int, reading: Reading, now: Situation) -> tuple[Decision, str, str, By]:
    command = reading.commands[number]
    for kind, decision in (("deny", Decision.DENY), ("ask", Decision.ASK)):
        for rule in _rules_of(now, kind):
            if is_met_by(rule, reading, number, now.root):
                return decision, f"the {kind} rule {rule} covers it", str(rule), "rule"
    alone = replace(reading, commands=(command,))
    if not reading.functions and not reading.features:
        tool = NETWORK if now.needs_network else now.tool
        for origin, rule in _allowing(now, tool):
            if origin == "project allow" and rule.pattern is None:
                continue
            if covers(rule, command, now.root, is_granted=origin == "session") and _may_cover(
                origin, alone, now
            ):
                return Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule"
    if now.mode is PermissionMode.YOLO:
        return Decision.ALLOW, "mode yolo", "", "mode"
    if now.needs_network:
        return Decision.ASK, "it uses the network", "", "policy"
    is_plain = not reading.functions and not reading.features and not reading.problem
    if is_plain and is_reading(command, reading, now.root):
        why = _unmasked(command, reading, now)
        if not why:
            return Decision.ALLOW, "it only reads, inside the folder", "", "policy"
        return Decision.ASK, why, "", "policy"
    if now.mode is PermissionMode.AUTO and now.is_sandboxed:
        why = strays(command, reading, now.root)
        return (
            (Decision.ASK, why, "", "policy")
            if why
            else (Decision.ALLOW, "mode auto, in the sandbox", "", "mode")
        )
    return Decision.ASK, _question(command, reading, now), "", "policy"


def _unmasked(command: SimpleCommand, reading: Reading, now: Situation) -> str:
    """Why plain reading asks all the same, where no full sandbox hides keys."""
    return "" if now.is_sandboxed or command.is_hint else still_asks(command, reading, now.root)


def _question(command: SimpleCommand, reading: Reading, now: Situation) -> str:
    also = "even in mode auto " if now.mode is PermissionMode.AUTO else ""
    if now.sandbox == "off":
        return f"there is no sandbox, so {also}a command that may write asks"
    if now.sandbox == "weak":
        return f"the sandbox is weak here, so {also}a command that may write asks"
    if command.is_opaque or not command.words:
        return _UNKNOWN if command.is_opaque else "it sets variables or writes a file"
    setting = git_runs(command, folders_before(reading, command, now.root))
    if setting:
        return f"the repository's git config runs programs: {setting}"
    return f"{command.program} is not on the list of commands that only read"


def _may_cover(origin: Origin, reading: Reading, now: Situation) -> bool:
    """A project's rule counts only in the sandbox, and never for what leaves the folder, uses the network,
    meets keys or destroys."""
    if origin != "project allow":
        return True
    if not now.is_sandboxed or now.needs_network or is_destructive(reading.line):
        return False
    return not any(
        one.is_opaque
        or not one.is_known
        or is_destructive_command(one)
        or strays(one, reading, now.root, is_strict=True)
        for one in reading.commands
    )


def is_destructive_command(command: SimpleCommand) -> bool:
    return is_destructive(" ".join(command.words[:2]))


def _is_glue(command: SimpleCommand, reading: Reading, now: Situation) -> bool:
    return is_glue(command, now.root, folders_before(reading, command, now.root))


def _rules_of(now: Situation, kind: str) -> list[Rule]:
    tools = (now.tool, NETWORK) if now.needs_network else (now.tool,)
    of = now.book.denying if kind == "deny" else now.book.asking
    found = dict.fromkeys(rule for tool in tools for rule in of(tool))
    return [rule for rule in found if not _speaks_of_files(rule)]


def _speaks_of_files(rule: Rule) -> bool:
    return rule.tool == "*" and re.search(r"[*?\[/]", rule.pattern or "") is not None


def _allowing(now: Situation, tool: str) -> Iterator[tuple[Origin, Rule]]:
    return now.book.allowing(tool)


def _path_rules(now: Situation) -> list[Rule]:
    """Deny rules on files: a command that names such a file is refused too."""
    return [
        rule
        for tool in ("read", "edit")
        for rule in now.book.denying(tool)
        if rule.pattern and (rule.tool != "*" or _speaks_of_files(rule))
    ]


def _named_paths(reading: Reading, root: Path) -> Iterator[Path]:
    for one in reading.commands:
        for text in (*(word.text for word in one.parts[1:] if not word.is_dynamic), *one.writes, *one.reads):
            if len(text) < 4_096 and "\n" not in text:
                yield from (root / part for part in paths_in(text))
        for text in (word.text.rpartition("/")[2] for word in one.parts[1:] if word.is_dynamic):
            if text and not re.search(r"[$`)}]", text):
                yield root / text  # `$PWD/name`


def _notes(command: SimpleCommand) -> Iterator[str]:
    if command.wrappers:
        yield f"run by {', '.join(command.wrappers)}"
    if command.is_nested:
        yield "in a text that another command runs"
    elif command.depth:
        yield "in a substitution"
    if command.assignments:
        yield f"sets {', '.join(one.partition('=')[0] for one in command.assignments)}"
    yield from (f"writes {target}" for target in command.writes if target != "/dev/null")
    yield from (f"reads {target}" for target in command.reads)
    if command.is_guessed and not command.is_opaque:  # of an opaque one the reason says it
        yield "its words may be others when it runs"
