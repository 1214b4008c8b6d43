"""Decides what a call may do: deny before ask before allow, with the reason and the rule. It never asks."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from forge_core.approval import Effect, ServerTool, ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts
from forge_core.errors import ConfigError
from forge_core.permissions.guard.risky_parts import risky_parts
from forge_core.permissions.line_policy import CommittedReason, DecisionContext, LineVerdict, decide_line
from forge_core.permissions.path_info import PathInfo, link_count, links_reason, locate, real_path
from forge_core.permissions.rules.grants import (
    check_grant,
    check_session_grant,
    command_rule,
    exact_pattern,
    file_rule,
    session_pattern,
)
from forge_core.permissions.rules.named_scripts import named_scripts
from forge_core.permissions.rules.rule import (
    EDIT,
    NETWORK,
    SHELL_TOOL,
    EditToolsUnknown,
    Rule,
    allows_paths,
    denies_paths,
    is_server_rule,
    matches_target,
    names_tool_file,
    parse_rule,
    rule_for_paths,
)
from forge_core.permissions.rules.rule_book import Kind, RuleBook, RuleEntry
from forge_core.permissions.rules.server_tools import check_shown, decide_server_tool, denies_offer, denying
from forge_core.permissions.sandbox.sandbox_state import SandboxStrength
from forge_core.permissions.verdict import Decision, Policy, Verdict
from forge_core.workspace.folders import WorkspaceFolders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forge_core.tools.base import ToolUse

__all__ = ["Decision", "PermissionPolicy", "Policy", "Verdict"]


_UNASKED = (ToolKind.SESSION, ToolKind.AGENT)
"""The kinds of tools that do nothing outside the session by themselves."""


class PermissionPolicy:
    """The policy of a session in `root`.

    Order: the catastrophe guard, deny rules, plan mode, what always asks (.git, .forge, deletions that
    cannot be read), ask rules, allow rules, yolo, and then the mode. A path is judged by where it really
    leads. Rules of a project (`project_*`) are passed only once it is trusted: they may tighten as they
    like, and allow only what stays in the folder, off the network, away from keys, and can be undone.
    `saved` are rules that were granted for good in a prompt; of a command they cover less than those that the
    user wrote. `scripts` are those that rules for an exact line are bound to. `edit_tools` holds the names of
    the tools that change files: a deny or ask rule for one of them covers them all. `unmasked_reason` returns
    why a full sandbox counts as weak for the next command, "" if it does not, and `committed_reason` why a
    search in it could read files with keys that git holds. Raises ConfigError for a rule that cannot be read.
    """

    def __init__(
        self,
        root: Path,
        mode: PermissionMode = PermissionMode.ASK,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        *,
        edit_tools: Container[str] | None = None,
        sandbox: SandboxStrength = "off",
        unmasked_reason: Callable[[], str] | None = None,
        committed_reason: CommittedReason | None = None,
        saved: Iterable[str] = (),
        project_allow: Iterable[str] = (),
        project_deny: Iterable[str] = (),
        project_ask: Iterable[str] = (),
        save_rule: Callable[[str, Scripts], None] | None = None,
        scripts: Mapping[str, Scripts] | None = None,
    ) -> None:
        self.folders = WorkspaceFolders(real_path(root))
        self.mode = mode
        self.sandbox: SandboxStrength = sandbox
        self._unmasked_reason = unmasked_reason
        self._committed_reason = committed_reason
        self._book = RuleBook(
            EditToolsUnknown() if edit_tools is None else edit_tools,
            allow=allow,
            deny=deny,
            ask=ask,
            saved=saved,
            project_allow=project_allow,
            project_deny=project_deny,
            project_ask=project_ask,
        )
        self._save_rule = save_rule
        self._scripts = dict(scripts or {})
        self._readable: set[Path] = set()
        self._skill_folders: frozenset[Path] = frozenset()

    @property
    def root(self) -> Path:
        """The real path of the folder in which commands start."""
        return self.folders.main

    def add_folder(self, folder: Path) -> None:
        """Count a folder, given by its real path, as inside until the session ends."""
        self.folders = self.folders.with_added(folder)

    def rules(self) -> tuple[RuleEntry, ...]:
        """Return every rule with where it belongs, in the order they are looked at."""
        return self._book.entries()

    def add(self, kind: Kind, rule: str) -> Scripts:
        """Add a rule of the user's own until the session ends; any that can be read. Returns the scripts
        that an allow rule for an exact line is bound to."""
        parsed = parse_rule(rule)
        self._book.add(kind, parsed)
        return self._bind(parsed, self._scripts_of(parsed) or ()) if kind == "allow" else ()

    def remove(self, rule: str, kind: Kind | None = None) -> bool:
        """Remove a rule of the user's own, of one kind or of any; return whether there was one. A project's
        rules stay."""
        return self._book.remove(parse_rule(rule), kind)

    def allow_for_session(self, rule: str, scripts: Scripts = ()) -> None:
        """Add an allow rule until the session ends; ConfigError for one that allows too much. One for a tool
        of an MCP server is bound to `scripts`, what was shown to the user of that tool."""
        parsed = self.check_session_grant(rule)
        if is_server_rule(parsed):
            self._bind(parsed, check_shown(parsed, scripts))
        self._book.add("session", parsed)

    @contextmanager
    def allowing(self, rules: Iterable[Rule]) -> Iterator[None]:
        """Allow what these rules of the user's own cover, in the block only. What is denied or always asks
        stays so."""
        self._book.set_turn(rules)
        try:
            yield
        finally:
            self._book.set_turn(())

    def check_session_grant(self, rule: str) -> Rule:
        """Parse a rule that a prompt may add until the session ends; raise ConfigError for one that allows
        too much."""
        return check_session_grant(rule, self._book.edit_tools)

    def check_grant(self, rule: str) -> Rule:
        """Parse a rule that a prompt may save for good; raise ConfigError for one that allows too much."""
        return check_grant(rule, self._book.edit_tools)

    def allow_always(self, rule: str, scripts: Scripts | None = None) -> None:
        """Add an allow rule and save it for this project. One for an exact line is bound to `scripts`, what
        was shown to the user, else to what the line names now. ConfigError for one that allows too much."""
        parsed = self.check_grant(rule)
        bound = self._scripts_of(parsed) if scripts is None else scripts
        if is_server_rule(parsed):
            bound = check_shown(parsed, scripts or ())
        if bound is None:
            raise ConfigError(
                f"Rule {rule!r} cannot be saved: Forge cannot determine which scripts the line runs. "
                "Allow it once or for this session."
            )
        self._bind(parsed, bound)
        self._book.add("saved", parsed)
        if self._save_rule is not None:
            self._save_rule(rule, bound)

    def _scripts_of(self, rule: Rule) -> Scripts | None:
        """Return what a rule is to be bound to: nothing but for an exact line. None when it cannot be
        determined."""
        if rule.tool not in (SHELL_TOOL, NETWORK) or rule.line is None:
            return ()
        return named_scripts(rule.line, self.folders)

    def _bind(self, rule: Rule, scripts: Scripts) -> Scripts:
        self._scripts.pop(str(rule), None)
        if scripts:
            self._scripts[str(rule)] = scripts
        return scripts

    def set_project_rules(self, allow: Iterable[str], ask: Iterable[str], deny: Iterable[str]) -> None:
        """Take the project's rules in place of those it had: the folder's trust has changed."""
        self._book.set_project(allow, ask, deny)

    def allow_reading(self, folder: Path) -> None:
        """Allow the read tools a folder of Forge's own (where full outputs are kept)."""
        self._readable.add(real_path(folder))

    def set_skill_folders(self, folders: Iterable[Path]) -> None:
        """Allow the read tools these folders, given by their real paths, in place of the skills' former
        ones."""
        self._skill_folders = frozenset(folders)

    def allow_for_turn(self, rule: Rule) -> None:
        """Allow what this rule of the user's own covers, until `end_turn`."""
        self._book.add("turn", rule)

    def end_turn(self) -> None:
        """Remove the rules of `allow_for_turn`."""
        self._book.set_turn(())

    def hidden(self, tool_name: str) -> Callable[[Path], bool] | None:
        """Return a test for files that deny rules keep from `tool_name` or `read`; None without any."""
        tools = (tool_name, "read")
        rules = [rule for tool in tools for rule in self._book.tightening("deny", tool) if rule.pattern]
        if not rules:
            return None
        return lambda path: any(denies_paths(rule, [locate(path, self.folders)]) for rule in rules)

    def denies(self, tool_name: str, tool: ServerTool) -> bool:
        """Return whether a rule denies every call of a server's tool: the model need not know of it."""
        return any(rule.pattern is None for rule in denying(self._book, tool_name, tool))

    def denies_offer(self, server: str, prompt: str = "") -> bool:
        """Return whether a rule keeps the user from a prompt of a server; without one, from its resources."""
        return denies_offer(self._book, server, prompt)

    def decide(self, tool_name: str, use: ToolUse) -> Verdict:
        """Return what may happen to this call. Changes nothing, but reads what the decision depends on:
        links, git's configuration and index, and the scripts that a line names (at most 64 MB, 40 ms)."""
        if use.server_tool is not None:
            return decide_server_tool(tool_name, use, self.mode, self._book, self._scripts, self.folders)
        if use.effect is Effect.RUN:
            return self._line(tool_name, use)
        places = [locate(path, self.folders) for path in use.paths]
        verdict = (
            self._refused(tool_name, use, places)
            or self._always_asks(tool_name, use, places)
            or self._allowed_by_rule(tool_name, use, places)
            or self._by_mode(tool_name, use, places)
        )
        real_paths = tuple(one.real for one in places)
        is_named = self.mode is PermissionMode.YOLO or any(one.is_secret for one in places)
        return replace(
            verdict,
            shows_keys=verdict.shows_keys or is_named,
            real_paths=real_paths,
            linked_paths=_linked(use, real_paths),
        )

    def explain(self, command: str) -> LineVerdict:
        """Return how a bash line would be decided, with each of its commands."""
        return decide_line(command, self._context(SHELL_TOOL, needs_network=False))

    def _context(self, tool_name: str, *, needs_network: bool) -> DecisionContext:
        weakness = self._unmasked_reason() if self._unmasked_reason and self.sandbox == "full" else ""
        return DecisionContext(
            self.folders,
            self.mode,
            "weak" if weakness else self.sandbox,
            self._book,
            tool_name,
            needs_network,
            self._scripts,
            weakness,
            self._committed_reason,
        )

    def _line(self, tool_name: str, use: ToolUse) -> Verdict:
        context = self._context(tool_name, needs_network=use.needs_network)
        found = decide_line(use.target, context)
        is_asking = found.decision is Decision.ASK and not found.always_asks
        always_rule, scripts = self._always(found, use) if is_asking else ("", ())
        return Verdict(
            found.decision,
            found.reason,
            found.rule,
            found.by,
            session_rule=self._session_rule(tool_name, use, found) if is_asking else "",
            is_destructive=found.is_destructive or (found.decision is Decision.ASK and use.is_destructive),
            always_rule=always_rule,
            always_scripts=scripts,
            is_read_only=found.is_read_only,
            switches_git_off=found.decision is Decision.ALLOW and self.mode is not PermissionMode.YOLO,
            is_usual=is_asking and self._is_usual(found, use),
            risky=self._risky(found, use) if found.decision is Decision.ASK else (),
            is_sandbox_weak=bool(context.weakness),
            shows_keys=self.mode is PermissionMode.YOLO or found.names_keys,
        )

    def _risky(self, found: LineVerdict, use: ToolUse) -> tuple[tuple[int, int], ...]:
        return () if found.problem else risky_parts(use.target, found.asking, self.folders)

    def _is_usual(self, found: LineVerdict, use: ToolUse) -> bool:
        """In mode auto, of what cannot be read, and of reading that asks, the reason is news; that of the
        network is not."""
        is_auto = self.sandbox == "full" and self.mode is PermissionMode.AUTO and not use.needs_network
        is_reading = found.is_read_only and not use.needs_network
        return not (is_auto or found.rule or found.problem or is_reading)

    def _session_rule(self, tool_name: str, use: ToolUse, found: LineVerdict) -> str:
        if not use.target.strip():
            return ""
        tool = NETWORK if use.needs_network else tool_name
        pattern = (
            exact_pattern(use.target) if found.needs_own_rule else session_pattern(use.target, self.folders)
        )
        return f"{tool}({pattern})"

    def _always(self, found: LineVerdict, use: ToolUse) -> tuple[str, Scripts]:
        """Return the rule that "always" would save, and the scripts that it is bound to: a beginning whose
        programs are known, else the exact line; "" where the scripts of the line cannot be determined."""
        is_plain = not (found.is_destructive or use.is_destructive or use.needs_network or found.rule)
        prefix = command_rule(found.asking, self.folders) if is_plain and not found.problem else ""
        if prefix:
            return prefix, ()
        scripts = named_scripts(use.target, self.folders) if use.target.strip() else None
        if scripts is None:
            return "", ()
        return f"{NETWORK if use.needs_network else SHELL_TOOL}({exact_pattern(use.target)})", scripts

    def _refused(self, tool_name: str, use: ToolUse, places: list[PathInfo]) -> Verdict | None:
        rule = _first(self._book.tightening("deny", tool_name, is_edit=_is_edit(use)), use, places)
        if rule is not None:
            return Verdict(Decision.DENY, f"the deny rule {rule} covers it", str(rule), "rule")
        if self.mode is PermissionMode.PLAN and use.effect is not Effect.READ and use.kind not in _UNASKED:
            return Verdict(
                Decision.DENY, "in plan mode nothing is written or run; describe the change", by="mode"
            )
        return None

    def _always_asks(self, tool_name: str, use: ToolUse, places: list[PathInfo]) -> Verdict | None:
        rule = _first(self._book.tightening("ask", tool_name, is_edit=_is_edit(use)), use, places)
        if rule is not None:
            is_private = any(one.is_private for one in places)
            reason = f"the ask rule {rule} covers it"
            return Verdict(Decision.ASK, reason, str(rule), "rule", is_private=is_private)
        if use.effect is not Effect.WRITE or self.mode is PermissionMode.YOLO:
            return None
        held = next((one for one in places if one.is_protected), None)
        if held is not None:
            reason = f"{held.given} controls git or Forge itself"
            return Verdict(Decision.ASK, reason, is_destructive=True, is_private=not held.is_inside)
        return self._asks_for_links(use, places) or self._asks_for_tool_file(tool_name, use, places)

    def _asks_for_links(self, use: ToolUse, places: list[PathInfo]) -> Verdict | None:
        linked = _linked(use, [one.real for one in places])
        if not linked:
            return None
        reasons = [links_reason(path, link_count(path)) for path in linked[:1]]
        reasons += [
            f"{one.acting_program} acts on {one.given} without asking" for one in places if one.acting_program
        ][:1]
        private = self._private_reasons(use, places)
        return Verdict(
            Decision.ASK, ", and ".join(reasons + private), is_destructive=True, is_private=bool(private)
        )

    def _asks_for_tool_file(self, tool_name: str, use: ToolUse, places: list[PathInfo]) -> Verdict | None:
        """Return the question about a file that programs act on, unless a rule names it."""
        rules = [
            rule
            for origin, rule in self._book.allowing(tool_name, is_edit=_is_edit(use))
            if origin != "project allow"
        ]
        unnamed = (
            one
            for one in places
            if one.acting_program and not any(names_tool_file(rule, one) for rule in rules)
        )
        held = next(unnamed, None)
        if held is None:
            return None
        private = self._private_reasons(use, places)
        return Verdict(
            Decision.ASK,
            ", and ".join([f"{held.acting_program} acts on {held.given} without asking", *private]),
            session_rule=self._file_session_rule(tool_name, use, places),
            is_destructive=use.is_destructive or any(not one.is_inside for one in places),
            is_private=bool(private),
        )

    def _allowed_by_rule(self, tool_name: str, use: ToolUse, places: list[PathInfo]) -> Verdict | None:
        for origin, rule in self._book.allowing(tool_name, is_edit=_is_edit(use)):
            if origin == "project allow" and not _may_project_allow(use, places):
                continue
            if rule.tool == EDIT and use.is_destructive:
                continue  # the right to edit a path is none to delete it or to move it away
            if allows_paths(rule, places) if places else matches_target(rule, use.target):
                shows_keys = bool(places) and rule.names_one_file and origin != "project allow"
                reason = f"the rule {rule} allows it"
                return Verdict(Decision.ALLOW, reason, str(rule), "rule", shows_keys=shows_keys)
        return None

    def _by_mode(self, tool_name: str, use: ToolUse, places: list[PathInfo]) -> Verdict:
        if use.kind in _UNASKED and not places:
            return Verdict(Decision.ALLOW, "it touches only the session's own", is_read_only=True)
        if self.mode is PermissionMode.YOLO:
            return Verdict(Decision.ALLOW, "mode yolo", by="mode")
        right = EDIT if _is_edit(use) else tool_name
        session_rule = self._file_session_rule(tool_name, use, places)
        reasons = self._private_reasons(use, places)
        if reasons:
            return Verdict(
                Decision.ASK,
                ", and ".join(reasons),
                session_rule=session_rule,
                is_destructive=any(not self._may_enter(one, use) for one in places),
                is_private=True,
            )
        if use.kind is ToolKind.LOOK and use.effect is Effect.READ and places:
            return Verdict(Decision.ALLOW, "it only reads, inside the folder", is_read_only=True)
        edits_unasked = self.mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO)
        if edits_unasked and _is_edit(use) and places and not use.is_destructive:
            return Verdict(Decision.ALLOW, f"mode {self.mode}", by="mode")
        return Verdict(
            Decision.ASK,
            _question(tool_name, use),
            session_rule=session_rule,
            is_destructive=use.is_destructive or use.effect is Effect.NETWORK,
            always_rule="" if use.is_destructive or not places else file_rule(right, places),
            is_usual=use.effect is Effect.WRITE,
        )

    def _private_reasons(self, use: ToolUse, places: list[PathInfo]) -> list[str]:
        """Return why nothing may be revealed about one of the places: keys, or outside the folder."""
        secret = next((one for one in places if one.is_secret), None)
        outside = next((one for one in places if not self._may_enter(one, use)), None)
        reasons: list[str] = []
        if secret is not None:
            reasons.append(f"{secret.given.name} may contain keys or passwords")
        if outside is not None:
            folders = ", ".join(map(str, self.folders.all))
            is_one = len(self.folders.all) == 1
            reasons.append(f"{_shown(outside)} is outside the folder{'' if is_one else 's'} {folders}")
        return reasons

    def _file_session_rule(self, tool_name: str, use: ToolUse, places: list[PathInfo]) -> str:
        right = EDIT if _is_edit(use) else tool_name
        return "" if right == EDIT and use.is_destructive else _path_rule(right, places)

    def _may_enter(self, one: PathInfo, use: ToolUse) -> bool:
        if one.is_inside:
            return True
        if use.effect is not Effect.READ:
            return False
        around = (one.real, *one.real.parents)
        return not (self._readable.isdisjoint(around) and self._skill_folders.isdisjoint(around))


def warm_up() -> None:
    """Load the parser, which the first command that is decided would otherwise wait for."""
    from forge_core.permissions.shell.syntax import read_line

    read_line("true")


def _linked(use: ToolUse, real_paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return those of the files that the call writes which have several links."""
    if not _is_edit(use):
        return ()
    gone = {real_path(path) for path in use.removed}
    return tuple(path for path in real_paths if path not in gone and link_count(path) > 1)


def _is_edit(use: ToolUse) -> bool:
    return use.kind is ToolKind.WRITE


def _first(rules: list[Rule], use: ToolUse, places: list[PathInfo]) -> Rule | None:
    for rule in rules:
        if denies_paths(rule, places) if places else matches_target(rule, use.target):
            return rule
    return None


def _may_project_allow(use: ToolUse, places: list[PathInfo]) -> bool:
    """Return whether a project's own rule may allow it."""
    if use.is_destructive or use.effect is Effect.NETWORK:
        return False
    return bool(places) and not any(one.is_private or one.is_added or one.acting_program for one in places)


def _path_rule(tool_name: str, places: list[PathInfo]) -> str:
    return rule_for_paths(tool_name, places) if places else tool_name


def _question(tool_name: str, use: ToolUse) -> str:
    match use.effect:
        case Effect.WRITE:
            return "it changes a file"
        case Effect.NETWORK:
            return "it uses the network"
        case _:
            return f"{tool_name} is not one of the built-in read tools"


def _shown(one: PathInfo) -> str:
    return f"{one.given}" if one.given == one.real else f"{one.given} (really {one.real})"
