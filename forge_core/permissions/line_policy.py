"""Decides a command line: each of its commands by itself, then the line. It reads links, globs and git's
configuration, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts
from forge_core.permissions.command_targets import written_file_reason
from forge_core.permissions.guard.catastrophe import catastrophic_reason, required_confirmation
from forge_core.permissions.guard.destruction import is_destructive
from forge_core.permissions.path_info import locate
from forge_core.permissions.programs.git_config import setting_reason
from forge_core.permissions.read_only.committed_files import can_hide_committed, searches_content
from forge_core.permissions.read_only.git_contents import shown_secret
from forge_core.permissions.read_only.git_reading import unswitched_reason
from forge_core.permissions.read_only.read_only_commands import (
    folders_before,
    git_runs,
    is_glue,
    is_reading,
    reads_only,
)
from forge_core.permissions.read_only.reasons_to_ask import (
    names_key_file,
    sandboxed_reason,
    searched_reason,
    unmasked_reason,
)
from forge_core.permissions.read_only.word_paths import paths_in
from forge_core.permissions.rules.command_rules import (
    RuleMatch,
    clear_match_cache,
    covers,
    is_met_by,
    meets,
)
from forge_core.permissions.rules.denied_files import denied_file_rule
from forge_core.permissions.rules.named_scripts import named_scripts
from forge_core.permissions.rules.rule import NETWORK, SHELL_TOOL, Rule, denies_paths
from forge_core.permissions.rules.rule_book import GRANTED, Origin, RuleBook
from forge_core.permissions.sandbox.sandbox_state import SandboxStrength
from forge_core.permissions.shell.parser import JOBS_IN_LOOPS
from forge_core.permissions.shell.syntax import Reading, SimpleCommand, read_line
from forge_core.permissions.verdict import By, Decision
from forge_core.workspace.folders import Workspace, main_folder

_MAX_BRACE_WORDS = 100_000
"""Bash needs about 200 bytes for each."""
_UNKNOWN = "what it runs cannot be determined from the line"


class CommittedReason(Protocol):
    """`Sandbox.committed_reason`."""

    def __call__(self, *, are_hidden: bool) -> str: ...


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """All that a decision depends on but the line."""

    root: Workspace
    mode: PermissionMode
    sandbox: SandboxStrength
    book: RuleBook
    tool: str = SHELL_TOOL
    needs_network: bool = False
    scripts: Mapping[str, Scripts] = field(default_factory=dict)
    """Allow rule → the scripts that its line named when it was allowed."""
    weakness: str = ""
    """Why a sandbox that is otherwise full is weak now."""
    committed_reason: CommittedReason | None = None
    """Returns why a search in a full sandbox could read files with keys that git holds."""

    @property
    def main(self) -> Path:
        """The folder in which the line starts."""
        return main_folder(self.root)

    @property
    def is_sandboxed(self) -> bool:
        return self.sandbox == "full"

    def allowing(self) -> Iterator[tuple[Origin, Rule]]:
        return self.book.allowing(NETWORK if self.needs_network else self.tool)


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """One command of a line, and what was decided of it."""

    text: str
    decision: Decision
    reason: str
    rule: str = ""
    by: By = "policy"
    notes: tuple[str, ...] = ()
    """Findings: the wrappers, the files that it writes, whether it is in a substitution."""
    words: tuple[str, ...] = ()
    """What the program gets, unquoted, without wrappers."""
    is_named: bool = False
    """A rule names it, rather than a list or a mode."""


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """The decision on the line, and on its parts."""

    decision: Decision
    reason: str
    rule: str = ""
    by: By = "policy"
    parts: tuple[CommandVerdict, ...] = ()
    deciding: CommandVerdict | None = None
    is_destructive: bool = False
    always_asks: bool = False
    """It asks each time, whatever rule is added."""
    needs_own_rule: bool = False
    """When asking: only a rule for exactly this line allows it."""
    is_read_only: bool = False
    asking: tuple[SimpleCommand, ...] = ()
    """The commands that nothing allows yet."""
    problem: str = ""
    """Why the line could not be parsed; empty when it was."""
    names_keys: bool = False
    """It names a file with keys."""


_Parts: TypeAlias = tuple[CommandVerdict, ...]
_Kind: TypeAlias = Literal["deny", "ask"]


def decide_line(line: str, context: DecisionContext) -> LineVerdict:
    """Return what may happen to the line: deny before ask before allow, wherever a rule comes from."""
    reading = read_line(line)
    clear_match_cache()
    # Before everything else: no rule and no mode allows it.
    danger = catastrophic_reason(line, context.root)
    if danger is not None:
        return LineVerdict(
            Decision.DENY, f"{danger}, which Forge never runs in any mode", problem=reading.problem
        )
    # Without a certain parse the commands are guesses: only the line as a whole is decided.
    shown = [] if reading.problem else [n for n, one in enumerate(reading.commands) if not one.is_hint]
    commands = [reading.commands[number] for number in shown]
    parts = tuple(_part(number, reading, context) for number in shown)
    # In order of precedence, the first verdict counts: what denies comes before what asks, and that before
    # what allows.
    found = (
        _ruled("deny", reading, context, parts)
        or _denied_by_path(reading, context)
        or _denied_by_plan(reading, context)
        or _confirmed_each_time(reading, context)
        or _ruled("ask", reading, context, parts)
        or _allowed_whole(reading, context)
        or _by_parts(reading, context, commands, parts)
    )
    if found.decision is not Decision.DENY and context.mode is not PermissionMode.YOLO:
        found = _asking_for_git(_asking_for_files(found, reading, context), reading, context)
    is_agreed = found.decision is Decision.ASK or found.by == "rule"  # by itself, a line that names keys asks
    names_keys = is_agreed and any(names_key_file(one, reading, context.root) for one in commands)
    return replace(found, parts=parts, problem=reading.problem, names_keys=names_keys)


def _asking_for_files(found: LineVerdict, reading: Reading, context: DecisionContext) -> LineVerdict:
    """Return the verdict, made to ask for a line that writes a file which programs act on or which has
    several links, unless a rule allows this very line."""
    if found.is_read_only or _own_rule(reading, context) is not None:
        return found
    for command in reading.commands:
        if command.is_hint or not (reason := written_file_reason(command, reading, context.root)):
            continue
        if found.decision is Decision.ASK:
            reason = found.reason if reason in found.reason else f"{reason}, and {found.reason}"
            return replace(found, reason=reason, is_destructive=True, needs_own_rule=True)
        return LineVerdict(Decision.ASK, reason, is_destructive=True, needs_own_rule=True, asking=(command,))
    return found


def _asking_for_git(found: LineVerdict, reading: Reading, context: DecisionContext) -> LineVerdict:
    """Return the verdict, made to ask where git only reads and the repository's programs cannot be switched
    off for it: each time, but in a full sandbox, which confines them like any other program, a rule holds."""
    reason = unswitched_reason(reading, context.root)
    if not reason or (context.is_sandboxed and found.decision is Decision.ALLOW and found.rule):
        return found
    asks_each_time = found.always_asks or not context.is_sandboxed
    if found.decision is Decision.ALLOW:
        return LineVerdict(Decision.ASK, reason, always_asks=asks_each_time, asking=found.asking)
    is_named = "git config" in found.reason
    reason = found.reason if is_named else f"{found.reason}, and {reason}"
    return replace(found, reason=reason, always_asks=asks_each_time)


def _ruled(kind: _Kind, reading: Reading, context: DecisionContext, parts: _Parts) -> LineVerdict | None:
    for rule in _rules_of(context, kind):
        if meets(rule, reading, context.main) is RuleMatch.YES:
            part = next((one for one in parts if one.rule == str(rule)), None)
            reason = f"the {kind} rule {rule} covers it"
            return LineVerdict(
                Decision(kind), reason, str(rule), "rule", deciding=part, always_asks=kind == "ask"
            )
    return None


def _denied_by_path(reading: Reading, context: DecisionContext) -> LineVerdict | None:
    for rule in _path_rules(context):
        if any(
            denies_paths(rule, [locate(path, context.root)]) for path in _named_paths(reading, context.root)
        ):
            return LineVerdict(
                Decision.DENY, f"the deny rule {rule} covers a file that it names", str(rule), "rule"
            )
    return None


def _denied_by_plan(reading: Reading, context: DecisionContext) -> LineVerdict | None:
    if context.mode is not PermissionMode.PLAN:
        return None
    is_reading_line = not context.needs_network and reads_only(reading, context.root)
    if is_reading_line and not any(_unmasked(one, reading, context) for one in reading.commands):
        return None
    return LineVerdict(
        Decision.DENY, "in plan mode nothing is written or run; describe the change", by="mode"
    )


def _confirmed_each_time(reading: Reading, context: DecisionContext) -> LineVerdict | None:
    if reading.brace_words > _MAX_BRACE_WORDS and context.mode is not PermissionMode.YOLO:
        reason = f"its braces expand to {reading.brace_words:,} words, which takes much memory"
        return LineVerdict(Decision.ASK, f"{reason}, so it asks each time", always_asks=True)
    found = required_confirmation(reading.line, context.root)
    if found is None:
        return None
    if found.is_grave and context.mode is PermissionMode.YOLO:
        reason = f"{found.reason}, and mode yolo never asks. Name exactly what to delete, or leave it"
        return LineVerdict(Decision.DENY, reason, by="mode")
    reason = f"{found.reason}, so it asks each time"
    return LineVerdict(Decision.ASK, reason, is_destructive=True, always_asks=True)


def _allowed_whole(reading: Reading, context: DecisionContext) -> LineVerdict | None:
    """Return what a rule for the very line, a rule for every line, or a fault of the line decides."""
    # Before the checks of the parse: the user has approved these very characters.
    rule = _own_rule(reading, context)
    if rule is not None:
        return LineVerdict(Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule")
    if reading.problem:
        return LineVerdict(Decision.ASK, f"the line could not be parsed: {reading.problem}")
    unclear = _unclear(reading, context)
    if unclear is not None:
        return unclear
    for origin, rule in context.allowing():
        if rule.pattern is None and origin not in ("saved", "project allow"):
            return LineVerdict(Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule")
    return None


def _own_rule(reading: Reading, context: DecisionContext) -> Rule | None:
    """Return the rule that allows this very line."""
    for origin, rule in context.allowing():
        if (
            rule.line == reading.line.strip()
            and _may_cover(origin, reading, context)
            and not _changed_scripts(origin, rule, context)
        ):
            return rule
    return None


def _changed_scripts(origin: Origin, rule: Rule, context: DecisionContext) -> str:
    """Return what is no longer as it was when the rule was granted for good; "" when nothing is bound to
    it or all is as it was."""
    bound = context.scripts.get(str(rule)) if origin in ("allow", "saved") else None
    if not bound:
        return ""
    current = named_scripts(rule.line or "", context.root)
    if current is None:
        return "Forge can no longer determine which scripts this line runs"
    differs = sorted({name for name, _ in set(current) ^ set(bound)})
    return f"{differs[0]} has changed since this line was always allowed" if differs else ""


def _broken_grant(reading: Reading, context: DecisionContext) -> tuple[str, str]:
    """Return why a grant for this very line no longer holds, and its rule; empty when there is none."""
    for origin, rule in context.allowing():
        if rule.line == reading.line.strip() and (reason := _changed_scripts(origin, rule, context)):
            return reason, str(rule)
    return "", ""


def _unclear(reading: Reading, context: DecisionContext) -> LineVerdict | None:
    kinds: tuple[_Kind, ...] = ("deny", "ask")
    for kind in kinds:
        for rule in _rules_of(context, kind):
            if meets(rule, reading, context.main) is RuleMatch.MAYBE:
                reason = f"{_UNKNOWN}, and the {kind} rule {rule} might cover it"
                return LineVerdict(Decision.ASK, reason, str(rule), "rule")
    # Rules on editing do not keep a file from being read.
    kept = [rule for rule in _path_rules(context) if rule.tool != "edit"]
    met = denied_file_rule(reading, context.root, kept)
    if met is not None:
        reason = f"it may read a file that the deny rule {met} covers"
        return LineVerdict(Decision.ASK, reason, str(met), "rule")
    return None


def _by_parts(
    reading: Reading,
    context: DecisionContext,
    commands: Sequence[SimpleCommand],
    parts: _Parts,
) -> LineVerdict:
    is_named = any(one.is_named for one in parts)
    asking = [
        (command, part)
        for command, part in zip(commands, parts, strict=True)
        if part.decision is not Decision.ALLOW and not (is_named and is_glue(command, reading, context.root))
    ]
    reads = reads_only(reading, context.root)
    if parts and not asking:
        part = next((one for one in parts if one.is_named), parts[0])
        return LineVerdict(Decision.ALLOW, part.reason, part.rule, part.by, deciding=part, is_read_only=reads)
    if context.mode is PermissionMode.YOLO:
        return LineVerdict(Decision.ALLOW, "mode yolo", by="mode", is_read_only=reads)
    first = asking[0][1] if asking else None
    changed, rule = _broken_grant(reading, context)
    return LineVerdict(
        Decision.ASK,
        changed or (first.reason if first else "Forge recognizes no command in it"),
        rule,
        deciding=first,
        is_destructive=context.needs_network or is_destructive(reading.line),
        asking=tuple(command for command, _ in asking) or tuple(commands),
        is_read_only=reads,
    )


def _part(number: int, reading: Reading, context: DecisionContext) -> CommandVerdict:
    command = reading.commands[number]
    decision, reason, rule, by = _decide_part(number, reading, context)
    is_named = decision is Decision.ALLOW and bool(rule)
    return CommandVerdict(
        command.text, decision, reason, rule, by, tuple(_notes(command)), command.words, is_named
    )


def _decide_part(number: int, reading: Reading, context: DecisionContext) -> tuple[Decision, str, str, By]:
    command = reading.commands[number]
    kinds: tuple[_Kind, ...] = ("deny", "ask")
    for kind in kinds:
        for rule in _rules_of(context, kind):
            if is_met_by(rule, reading, number, context.main):
                return Decision(kind), f"the {kind} rule {rule} covers it", str(rule), "rule"
    alone = replace(reading, commands=(command,))
    # A function may redefine a program's name, and arithmetic or an operator may run more than the words
    # show: no allow rule and no list on single commands applies then.
    is_plain = not reading.functions and not reading.features
    if is_plain:
        folders = folders_before(reading, command, context.root)
        for origin, rule in context.allowing():
            if origin == "project allow" and rule.pattern is None:
                continue
            if origin == "saved" and "/" in "".join(command.words[:1]):
                continue  # a file that may have changed since: only the exact line is bound to it
            is_covered = covers(rule, command, context.root, is_granted=origin in GRANTED, folders=folders)
            if is_covered and _may_cover(origin, alone, context):
                is_wide = rule.pattern is not None and rule.line is None and not context.is_sandboxed
                if is_wide and (why := searched_reason(command, folders)):
                    return Decision.ASK, why, "", "policy"
                return Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule"
    if context.mode is PermissionMode.YOLO:
        return Decision.ALLOW, "mode yolo", "", "mode"
    if context.needs_network:
        return Decision.ASK, "it uses the network", "", "policy"
    if is_plain and not reading.problem and is_reading(command, reading, context.root):
        why = _unmasked(command, reading, context)
        if not why:
            return Decision.ALLOW, "it only reads, inside the folder", "", "policy"
        return Decision.ASK, why, "", "policy"
    if context.mode is PermissionMode.AUTO and context.is_sandboxed:
        why = sandboxed_reason(command, reading, context.root) or _unmasked(command, reading, context)
        if why:
            return Decision.ASK, why, "", "policy"
        return Decision.ALLOW, "mode auto, in the sandbox", "", "mode"
    return Decision.ASK, _question(command, reading, context), "", "policy"


def _unmasked(command: SimpleCommand, reading: Reading, context: DecisionContext) -> str:
    """Return why reading asks all the same, because not all files with keys are hidden."""
    if command.is_hint:
        return ""
    if not context.is_sandboxed:
        return unmasked_reason(command, reading, context.root)
    if context.committed_reason is None or not searches_content(command, reading, context.root):
        return ""
    return context.committed_reason(are_hidden=can_hide_committed(reading, context.root))


def _question(command: SimpleCommand, reading: Reading, context: DecisionContext) -> str:
    also = "even in mode auto " if context.mode is PermissionMode.AUTO else ""
    if not context.is_sandboxed:
        is_weak = context.sandbox == "weak"
        state = context.weakness or ("the sandbox is weak here" if is_weak else "there is no sandbox")
        return f"{state}, so {also}a command that may write asks"
    if command.is_opaque or not command.words:
        return _UNKNOWN if command.is_opaque else "it sets variables or writes a file"
    if JOBS_IN_LOOPS in reading.features:
        return "it starts background jobs in a loop, whose number is not limited"
    setting = git_runs(command, folders_before(reading, command, context.root))
    if setting:
        return setting_reason(setting)
    if shown := shown_secret(command, folders_before(reading, command, context.root), context.main):
        return f"git may show {shown}, which may contain keys or passwords"
    return f"{command.program} is not on the list of commands that only read"


def _may_cover(origin: Origin, reading: Reading, context: DecisionContext) -> bool:
    """Return whether a rule of this origin may cover the line. A project's rule does so only in the sandbox,
    and never for what leaves the folder, uses the network, names keys or destroys. Added folders are outside
    for it."""
    if origin != "project allow":
        return True
    if not context.is_sandboxed or context.needs_network or is_destructive(reading.line):
        return False
    if any(written_file_reason(one, reading, context.root) for one in reading.commands):
        return False
    return not any(
        not one.is_known
        or is_destructive(" ".join(one.words[:2]))
        or sandboxed_reason(one, reading, context.main, is_strict=True)
        for one in reading.commands
    )


def _rules_of(context: DecisionContext, kind: _Kind) -> list[Rule]:
    tools = (context.tool, NETWORK) if context.needs_network else (context.tool,)
    found = dict.fromkeys(rule for tool in tools for rule in context.book.tightening(kind, tool))
    return [rule for rule in found if not _names_files(rule)]


def _names_files(rule: Rule) -> bool:
    return rule.tool == "*" and re.search(r"[*?\[/]", rule.pattern or "") is not None


def _path_rules(context: DecisionContext) -> list[Rule]:
    """Deny rules on files: a command that names such a file is refused too."""
    return [
        rule
        for tool in ("read", "edit")
        for rule in context.book.tightening("deny", tool)
        if rule.pattern and (rule.tool != "*" or _names_files(rule))
    ]


def _named_paths(reading: Reading, root: Workspace) -> Iterator[Path]:
    for one in reading.commands:
        folders = folders_before(reading, one, root)
        for text in (*(word.text for word in one.parts[1:] if not word.is_dynamic), *one.writes, *one.reads):
            if len(text) < 4_096 and "\n" not in text:
                yield from (folder / part for folder in folders for part in paths_in(text))
        for text in (word.text.rpartition("/")[2] for word in one.parts[1:] if word.is_dynamic):
            if text and not re.search(r"[$`)}]", text):
                yield root / text  # `$PWD/name`


def _notes(command: SimpleCommand) -> Iterator[str]:
    if command.wrappers:
        yield f"run by {', '.join(command.wrappers)}"
    if command.is_nested:
        yield "in text that another command runs"
    elif command.depth:
        yield "in a substitution"
    if command.assignments:
        yield f"sets {', '.join(one.partition('=')[0] for one in command.assignments)}"
    yield from (f"writes {target}" for target in command.writes if target != "/dev/null")
    yield from (f"reads {target}" for target in command.reads)
    if command.is_guessed and not command.is_opaque:  # of an opaque one the reason says it
        yield "its words may differ when it runs"
