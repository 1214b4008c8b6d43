"""What a question says: an `ApprovalRequest`'s title, body, facts and answers, as text safe to show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len

from forge_core.approval import Answer, ApprovalRequest, Effect
from forge_core.sanitize import exact_text, safe_line
from forge_tui.widgets.cells import clip
from forge_tui.widgets.exact_view import Line, command_lines, diff_lines

PURPOSE = "Purpose, as the model says"
"""The detail that the model itself has worded."""
PURPOSE_CELLS = 200
TOOL_CELLS = 24
LEAST_CELLS = 16
"""A fact is not cut shorter than this."""
USUAL_TIMEOUT = ("Timeout", "120 s")
USUAL_REASONS = frozenset(
    {
        "commands run without a sandbox, so each one asks",
        "there is no sandbox, so even in mode auto each command asks",
        "it changes a file",
    }
)
"""What the title says already."""
EXACTLY = "exactly this command"


@dataclass(frozen=True, slots=True)
class Option:
    """One answer on offer."""

    label: str
    answer: Answer
    hint: str = ""
    asks_why: bool = False


def title_of(request: ApprovalRequest) -> str:
    """What Forge wants, in words."""
    verbs = {
        Effect.RUN: "run a command",
        Effect.READ: "read a file",
        Effect.NETWORK: "use the network",
        Effect.WRITE: "create or replace a file" if request.tool == "write" else "edit a file",
    }
    if request.tool not in ("bash", "read", "write", "edit"):
        return f"Forge wants to {verbs[request.effect]} with {clip(safe_line(request.tool), TOOL_CELLS)}"
    return f"Forge wants to {verbs[request.effect]}"


def body_of(request: ApprovalRequest) -> list[Line]:
    """What would be done, line by line, as it is."""
    if request.effect is Effect.RUN:
        return command_lines(request.target)
    lines = [Line(request.target, marks_foreign=True)] if request.target else []
    for diff in request.diffs:
        if diff.path != request.target:
            lines.append(Line(diff.path, marks_foreign=True))
        lines += diff_lines(diff.diff)
    if not request.diffs:
        for name, value in request.arguments.items():
            text = value if isinstance(value, str) else repr(value)
            if text != request.target:
                lines += [
                    Line(f"{name}: {text}" if i == 0 else text) for i, text in enumerate(text.split("\n"))
                ]
    return lines


def rule_lines(request: ApprovalRequest) -> list[Line]:
    """All of the rule, for the body's end."""
    return [Line(""), Line("Answer 2 would allow:", role="heading"), Line(rule_of(request))]


def facts_of(request: ApprovalRequest, workspace: Path, *, room: int, is_whole: bool = True) -> str:
    """What is news about it, in about `room` cells; empty when nothing is. What the model says comes last,
    so that it cannot push the rest away. `is_whole` tells whether all of the body shows."""
    facts = [] if request.reason in USUAL_REASONS else [safe_line(request.reason)]
    if request.diffs:
        facts.append(f"+{sum(d.added for d in request.diffs)} −{sum(d.removed for d in request.diffs)}")
    elif not is_whole:
        facts.append(_size(request.target))
    for name, value in request.details.items():
        is_usual = (name, value) == USUAL_TIMEOUT or (name == "Folder" and Path(value) == workspace)
        if name != PURPOSE and not is_usual:
            facts.append(f"{safe_line(name)}: {safe_line(value)}")
    if purpose := safe_line(request.details.get(PURPOSE, "")).strip():
        facts.append(clip(f"The model says: {purpose}", PURPOSE_CELLS))
    return _joined([fact for fact in facts if fact], room)


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} line{'s'[: lines != 1]}, {len(text):,} character{'s'[: len(text) != 1]}"


def _joined(facts: list[str], room: int) -> str:
    """The facts in one line, the longest cut until all have a place."""
    while sum(cell_len(fact) + 3 for fact in facts) > room:
        longest = max(facts, key=cell_len)
        over = sum(cell_len(fact) + 3 for fact in facts) - room
        cells = max(cell_len(longest) - over, cell_len(longest) // 2, LEAST_CELLS)
        if cells >= cell_len(longest):
            break
        facts[facts.index(longest)] = clip(longest, cells)
    return " · ".join(facts)


def rule_of(request: ApprovalRequest) -> str:
    """The rule that "yes, for this session" would add, as one line in which every character shows."""
    return safe_line(exact_text(request.session_rule))


def is_only_the_command(request: ApprovalRequest) -> bool:
    """Whether the rule covers nothing but this very line. The pattern `*`, one that ends in `:*` and one that
    starts with `=` mean something else than their text."""
    command = request.target.strip()
    if request.effect is not Effect.RUN or not command:
        return False
    is_plain = command != "*" and not command.startswith("=") and not command.endswith(":*")
    exact = f"{request.tool}(={command})"
    return request.session_rule == exact or (is_plain and request.session_rule == exact.replace("(=", "(", 1))


def options_of(request: ApprovalRequest) -> list[Option]:
    """The answers, in their order."""
    options = [Option("Yes, once", Answer.ONCE)]
    if rule := rule_of(request):
        hint = EXACTLY if is_only_the_command(request) else rule
        options.append(Option("Yes, for this session:", Answer.SESSION, hint=hint))
    return [*options, Option("No", Answer.NO), Option("No, and tell it why", Answer.NO, asks_why=True)]
