"""Decides on calls of MCP servers' tools. Each asks unless a rule allows it: what it touches is unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from forge_core.approval import ServerTool
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts
from forge_core.errors import ConfigError
from forge_core.permissions.rules.rule import ALL_TOOLS, SERVER_PREFIX, Rule, matches_target
from forge_core.permissions.rules.rule_book import GRANTED, RuleBook
from forge_core.permissions.rules.server_arguments import reason_to_ask
from forge_core.permissions.verdict import Decision, Verdict
from forge_core.workspace.folders import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forge_core.tools.base import ToolUse

TEXT_MARK = "text of "
"""The beginning of the names of those parts of a tool that are kept as texts, to show how they differ."""
_MAX_DIFF_LINES = 40
_PLAN = (
    "plan mode calls a tool of an MCP server only if the server says that the tool only reads, and its entry "
    "has trust_annotations; describe the call instead"
)


def decide_server_tool(
    name: str,
    use: ToolUse,
    mode: PermissionMode,
    book: RuleBook,
    granted: Mapping[str, Scripts],
    folders: Workspace,
) -> Verdict:
    """Return what may happen to a call of the tool `use.server_tool`, which the model knows by `name`.

    `granted` holds, by rule, what was shown to the user of the tools that they allowed in a prompt: such a
    rule covers a tool that is still the same. No allow rule covers the paths of `reason_to_ask`.
    """
    tool = use.server_tool
    assert tool is not None
    if (rule := _first(denying(book, name, tool), use)) is not None:
        return Verdict(Decision.DENY, f"the deny rule {rule} covers it", str(rule), "rule")
    if mode is PermissionMode.PLAN and not tool.only_reads:
        return Verdict(Decision.DENY, _PLAN, by="mode")
    asking = book.tightening("ask", name, other_names=_all_names(tool))
    if (rule := _first(asking, use)) is not None:
        return Verdict(Decision.ASK, f"the ask rule {rule} covers it", str(rule), "rule")
    if (rule := _allowing(name, use, tool, book, granted)) is not None:
        # A service has other files than this machine.
        reason = "" if tool.host else reason_to_ask(use.target, folders, only_reads=tool.only_reads)
        if reason and mode is not PermissionMode.YOLO:
            return Verdict(Decision.ASK, reason, is_destructive=True)
        return Verdict(Decision.ALLOW, f"the rule {rule} allows it", str(rule), "rule")
    if mode is PermissionMode.YOLO:
        return Verdict(Decision.ALLOW, "mode yolo", by="mode", shows_keys=True)
    changes = differences(granted[name], tool.seen) if _was_granted(name, book) and name in granted else ()
    return Verdict(
        Decision.ASK,
        "it has changed since you allowed it" if changes else "tools of MCP servers ask before each call",
        session_rule=name,
        is_destructive=bool(tool.host or changes),
        always_rule=name,
        is_usual=True,
        always_scripts=tool.seen,
        session_scripts=tool.seen,
        changes=changes,
    )


def denying(book: RuleBook, name: str, tool: ServerTool) -> list[Rule]:
    """Return the deny rules for a server's tool."""
    return book.tightening("deny", name, other_names=_all_names(tool))


def denies_offer(book: RuleBook, server: str, name: str) -> bool:
    """Return whether a rule denies a prompt of a server, or, if the name is empty, its resources: a rule for
    the server, or one with this name."""
    server_rule = SERVER_PREFIX + server
    names = (
        server_rule,
        server_rule + ALL_TOOLS,
        *((f"{server_rule}__{name}", plain_name(server, name)) if name else ()),
    )
    rules = book.tightening("deny", server_rule, other_names=names)
    return any(rule.pattern is None for rule in rules)


def plain_name(server: str, name: str) -> str:
    """Return the name of a tool or a prompt of a server, as long as it is, that another one may need too."""
    return SERVER_PREFIX + "__".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (server, name))


def check_shown(rule: Rule, seen: Scripts) -> Scripts:
    """Return what the user saw of a tool that they allow in a prompt. Raises ConfigError if the rule is for
    another one."""
    if not seen:
        raise ConfigError(
            f"Rule '{rule}' is not for the tool that was shown, and a prompt grants no other one. To allow "
            "it, use /permissions add allow."
        )
    return seen


def differences(before: Scripts, now: Scripts) -> tuple[str, ...]:
    """Return which parts of a tool differ from what was shown of it before, as lines, after each text how it
    differs. They are untrusted."""
    old, new = dict(before), dict(now)
    lines: list[str] = []
    for part in dict.fromkeys((*old, *new)):
        if old.get(part) == new.get(part):
            continue
        lines.append(part.removeprefix(TEXT_MARK))
        if part.startswith(TEXT_MARK):
            lines[-1] += ":"
            lines += _text_difference(old.get(part, ""), new.get(part, ""))
    return tuple(lines)


def _text_difference(old: str, new: str) -> list[str]:
    found = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1))[2:]
    rows = [row for row in found if not row.startswith("@@")]
    more = [f"… {len(rows) - _MAX_DIFF_LINES} more lines"] if len(rows) > _MAX_DIFF_LINES else []
    return [*rows[:_MAX_DIFF_LINES], *more]


def _allowing(
    name: str, use: ToolUse, tool: ServerTool, book: RuleBook, granted: Mapping[str, Scripts]
) -> Rule | None:
    for origin, rule in book.allowing(name, other_names=_allowed_names(tool)):
        if origin == "project allow" or not matches_target(rule, use.target):
            continue
        if origin not in GRANTED or (rule.tool == name and dict(granted.get(name, ())) == dict(tool.seen)):
            return rule
    return None


def _was_granted(name: str, book: RuleBook) -> bool:
    return any(entry.origin in GRANTED and entry.rule == name for entry in book.entries())


def _allowed_names(tool: ServerTool) -> tuple[str, ...]:
    """Return the names of allow rules that cover the tool, besides its own. `mcp__a__b` means the tool b of
    the server a, so it covers no server that is named a__b."""
    is_plain = "__" not in tool.server
    return (tool.server_rule + ALL_TOOLS, *([tool.server_rule] if is_plain else []))


def _all_names(tool: ServerTool) -> tuple[str, ...]:
    """Return the names of deny and ask rules that cover the tool, besides its own: in doubt, they do."""
    true_name = f"{tool.server_rule}__{tool.name}"
    return (tool.rule_name, true_name, tool.server_rule, tool.server_rule + ALL_TOOLS)


def _first(rules: list[Rule], use: ToolUse) -> Rule | None:
    return next((rule for rule in rules if matches_target(rule, use.target)), None)
