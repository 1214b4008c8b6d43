"""The text of an `ApprovalRequest` on the screen: title, body, facts and answers, safe to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.approval import Answer, ApprovalRequest, Effect
from forge_core.result import FileDiff
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip
from forge_tui.screens.prompts.server_call import (
    claim_of,
    destination_of,
    server_call_lines,
    whole_claim,
)
from forge_tui.widgets.exact_text import (
    ExactLine,
    command_lines,
    diff_lines,
    exact_line,
    fold_blank_lines,
    is_deceptive,
    oddities,
)

PURPOSE = "Purpose, as the model says"
"""The detail that the model has written."""
PURPOSE_CELLS = 200
TOOL_CELLS = AGENT_CELLS = 24
LEAST_CELLS = 16
"""A fact is not truncated below this width."""
PLACES = {"full": "sandboxed", "weak": "weakly sandboxed", "off": "not sandboxed", "": ""}
"""Where a command would run, by the strength of the sandbox."""
USUAL_TIMEOUT = ("Timeout", "120 s")
EXACTLY = "exactly this command"
SHOWS_ALL = "Ctrl+E shows all"
SHORT_CHARACTERS = 80
"""The size of a longer command, or of one with several lines, is shown."""

_ACTIONS = {
    Effect.RUN: "run a command",
    Effect.READ: "read a file",
    Effect.NETWORK: "use the network",
    Effect.WRITE: "edit a file",
}
"""The actions of tools that do not declare one."""


@dataclass(frozen=True, slots=True)
class Option:
    """An answer that the prompt offers."""

    digit: int
    """The key of the answer: the same in every prompt."""
    label: str
    short: str
    """The label where all answers are in one row."""
    answer: Answer
    hint: str = ""
    rule: str = ""
    """The rule that the answer would grant."""
    asks_why: bool = False


def title_of(request: ApprovalRequest) -> str:
    """Return the title of the prompt."""
    action = safe_line(request.action) or _ACTIONS[request.effect]
    if request.effect is Effect.WRITE and len(request.diffs) > 1:
        action = f"edit {len(request.diffs)} files"
    elif request.needs_network:
        action += " with network access"
    tool = "" if request.action else f" with {clip(safe_line(request.tool), TOOL_CELLS)}"
    who = f"Agent {clip(safe_line(request.agent), AGENT_CELLS)}" if request.agent else "Forge"
    return f"{who} wants to {action}{tool}"


def counts_of(request: ApprovalRequest) -> str:
    """Return how many lines the edit adds and removes; "" if the request is not an edit."""
    added, removed = sum(diff.added for diff in request.diffs), sum(diff.removed for diff in request.diffs)
    return f"+{added} −{removed}" if request.diffs else ""


def body_of(
    request: ApprovalRequest, show_diff: Callable[[FileDiff], list[ExactLine]] | None = None
) -> list[ExactLine]:
    """Return exactly what would be done, line by line, with long runs of blank lines folded.

    `show_diff` makes the lines of a change: `exact_diff` on a screen, None for those of the diff itself.
    """
    return fold_blank_lines(_lines_of(request, show_diff or _plain_diff))


def _plain_diff(diff: FileDiff) -> list[ExactLine]:
    return diff_lines(diff.diff)


def extent_of(shown: int, rows: int, room: int) -> str:
    """Return the end of the title of a request of which not all rows show, in about `room` cells."""
    counts = f" · {shown:,} of {rows:,} lines"
    with_keys = f"{counts} · {SHOWS_ALL}"
    return with_keys if cell_len(with_keys) <= room else counts


def is_disguised(request: ApprovalRequest) -> bool:
    """Return whether what would be done contains invisible, control or look-alike characters."""
    lines = _lines_of(request, _plain_diff)
    return is_deceptive(line for line in lines if line.is_code or line.role == "added")


def _lines_of(request: ApprovalRequest, show_diff: Callable[[FileDiff], list[ExactLine]]) -> list[ExactLine]:
    if request.server_tool is not None:
        return server_call_lines(request.server_tool, request.arguments, request.changes)
    if request.effect is Effect.RUN:
        return command_lines(request.target, request.risky)
    is_named_below = len(request.diffs) > 1
    lines = [ExactLine(request.target, is_code=True)] if request.target and not is_named_below else []
    for diff in request.diffs:
        if diff.path != request.target or is_named_below:
            lines += [ExactLine("")] if lines else []
            lines.append(ExactLine(diff.path, is_code=True))
        lines += show_diff(diff)
    if not request.diffs:
        for name, value in request.arguments.items():
            text = value if isinstance(value, str) else repr(value)
            if text != request.target:
                shown = f"{name}: {text}".split("\n")
                lines += [ExactLine(part, is_code=True) for part in shown]
    return lines


def rule_lines(request: ApprovalRequest) -> list[ExactLine]:
    """Return the complete rules, for the end of the body."""
    lines: list[ExactLine] = []
    for option in options_of(request):
        if option.rule and option.hint != EXACTLY:
            heading = ExactLine(f"Answer {option.digit} would allow:", role="heading")
            lines += [
                ExactLine(""),
                heading,
                *(ExactLine(part, is_code=True) for part in option.rule.split("\n")),
            ]
    return lines


def warning_of(request: ApprovalRequest) -> str:
    """Return a warning about invisible and confusable characters; "" if there are none."""
    added = "\n".join(
        line[1:] for diff in request.diffs for line in diff.diff.split("\n") if line.startswith("+")
    )
    named = "\n".join([request.target, *(diff.path for diff in request.diffs)])
    return " ".join(text for text in (oddities(named), oddities(added, is_code=False)) if text)


def facts_of(request: ApprovalRequest, workspace: Path, *, room: int, is_whole: bool = True) -> str:
    """Return what is unusual about the request, in about `room` cells.

    The model's own words come last, so that they cannot displace the rest. `is_whole`: all of the body shows.
    """
    facts = _facts(request, workspace, is_whole=is_whole)
    if request.sandbox == "full":
        # There it asks for the sake of the program alone: the usual reason too is worth its room.
        reason = [_reason(request)] if request.is_usual_reason else []
        facts = [PLACES["full"], *reason, *facts]
    if purpose := _purpose(request):
        facts.append(clip(f"The model says: {purpose}", PURPOSE_CELLS))
    if request.server_tool is not None and (claim := claim_of(request.server_tool)):
        facts.append(clip(claim, PURPOSE_CELLS))
    return _joined(facts, room)


def cut_facts(
    request: ApprovalRequest, workspace: Path, shown: str, *, is_title_cut: bool
) -> list[ExactLine]:
    """Return the facts that decide what is allowed, but are not complete in the text `shown` nor, with
    `is_title_cut`, in the title: lines for the end of the body."""
    facts = [fact for fact in _facts(request, workspace, is_whole=True) if fact not in shown]
    if request.needs_network and is_title_cut:
        facts.insert(0, "With network access")
    return [ExactLine(""), *(ExactLine(fact, is_code=True) for fact in facts)] if facts else []


def all_facts(request: ApprovalRequest, workspace: Path) -> list[ExactLine]:
    """Return the complete facts, one per line, for the full view."""
    sandboxed = PLACES["full"] if request.sandbox == "full" else ""
    facts = [counts_of(request), sandboxed, *_facts(request, workspace, is_whole=False)]
    if purpose := _purpose(request):
        facts.append(f"The model says: {purpose}")
    if request.server_tool is not None:
        facts += [f"Server declared in {safe_line(request.server_tool.source)}"]
        facts += whole_claim(request.server_tool)
    return [ExactLine(fact, role="heading") for fact in facts if fact]


def _facts(request: ApprovalRequest, workspace: Path, *, is_whole: bool) -> list[str]:
    facts = [unconfined_of(request)]
    if request.server_tool is not None:
        facts.append(destination_of(request.server_tool))
    if not request.is_usual_reason:
        facts.append(_reason(request))
    is_short = is_whole and "\n" not in request.target and len(request.target) <= SHORT_CHARACTERS
    if not request.diffs and not is_short and request.server_tool is None:
        facts.append(_size(request.target))
    for name, value in request.details.items():
        is_usual = (name, value) == USUAL_TIMEOUT or (name == "Folder" and Path(value) == workspace)
        if name != PURPOSE and not is_usual:
            facts.append(f"{safe_line(name)}: {safe_line(value)}")
    return [fact for fact in facts if fact]


def unconfined_of(request: ApprovalRequest) -> str:
    """Return what the facts begin with if no full sandbox confines the command; "" for any other call."""
    return "" if request.sandbox == "full" else PLACES[request.sandbox]


def _reason(request: ApprovalRequest) -> str:
    """Return the reason of the request, without the path, which the prompt shows above."""
    about, reason = f"{request.target} ", request.reason
    if request.effect is not Effect.RUN and reason.startswith(about):
        reason = f"It {reason.removeprefix(about)}"
    return safe_line(reason)


def _purpose(request: ApprovalRequest) -> str:
    return safe_line(request.details.get(PURPOSE, "")).strip()


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} line{'s'[: lines != 1]}, {len(text):,} character{'s'[: len(text) != 1]}"


def _joined(facts: list[str], room: int) -> str:
    """Join the facts in one line; the longest are truncated until all fit."""
    while sum(cell_len(fact) + 3 for fact in facts) > room:
        longest = max(facts, key=cell_len)
        over = sum(cell_len(fact) + 3 for fact in facts) - room
        cells = max(cell_len(longest) - over, cell_len(longest) // 2, LEAST_CELLS)
        if cells >= cell_len(longest):
            break
        facts[facts.index(longest)] = clip(longest, cells)
    return " · ".join(facts)


def is_only_the_command(request: ApprovalRequest, rule: str) -> bool:
    """Return whether the rule allows exactly this command.

    The patterns `*`, `…:*` and `=…` have a meaning beyond their text.
    """
    command = request.target.strip()
    if request.effect is not Effect.RUN or not command:
        return False
    is_plain = command != "*" and not command.startswith("=") and not command.endswith(":*")
    tool = "network" if request.needs_network else request.tool
    exact = f"{tool}(={command})"
    return rule == exact or (is_plain and rule == exact.replace("(=", "(", 1))


def options_of(request: ApprovalRequest) -> list[Option]:
    """Return the answers in order."""
    longer = (
        (2, "Yes, for this session:", "session", Answer.SESSION, request.session_rule),
        (3, "Always in this project:", "always", Answer.ALWAYS, request.always_rule),
    )
    return [
        Option(1, "Yes, once", "once", Answer.ONCE),
        *(
            Option(digit, label, short, answer, hint=_hint(request, rule), rule=rule)
            for digit, label, short, answer, rule in longer
            if rule
        ),
        Option(4, "No", "no", Answer.NO),
        Option(5, "No, and tell it why", "no, because…", Answer.NO, asks_why=True),
    ]


def rules_note(options: Sequence[Option]) -> str:
    """Return in one line what the answers with a rule would allow; "" without any."""
    digits: dict[str, list[str]] = {}
    for option in options:
        if option.rule:
            digits.setdefault(option.hint, []).append(str(option.digit))
    return " · ".join(
        f"{' and '.join(which)} {'allow' if len(which) > 1 else 'allows'} {hint}"
        for hint, which in digits.items()
    )


def _hint(request: ApprovalRequest, rule: str) -> str:
    return EXACTLY if is_only_the_command(request, rule) else exact_line(rule)
