"""How a command line is decided, told part by part: what `/permissions test` shows."""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.permissions.line_policy import LineVerdict
from forge_core.permissions.verdict import Decision

_MARKS = {Decision.ALLOW: "allow", Decision.ASK: "ask  ", Decision.DENY: "deny "}


@dataclass(frozen=True, slots=True)
class PartExplanation:
    """One command of the line. All text in it is foreign: show it as data."""

    text: str
    decision: Decision
    rule: str
    reason: str
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """What the program would get, unquoted, wrappers taken off."""
    is_deciding: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """A line, its commands, and what decided in the end."""

    command: str
    decision: Decision
    reason: str
    rule: str
    parts: tuple[PartExplanation, ...]
    problem: str = ""
    """Why the line could not be read; empty when it was."""

    @property
    def is_parsed(self) -> bool:
        return not self.problem

    @property
    def deciding(self) -> PartExplanation | None:
        return next((part for part in self.parts if part.is_deciding), None)


def explain_verdict(command: str, verdict: LineVerdict) -> Explanation:
    parts = tuple(
        PartExplanation(
            part.text,
            part.decision,
            part.rule,
            part.reason,
            part.notes,
            part.words,
            is_deciding=part is verdict.deciding,
        )
        for part in verdict.parts
    )
    return Explanation(command, verdict.decision, verdict.reason, verdict.rule, parts, verdict.problem)


def as_text(explanation: Explanation) -> str:
    """Return the explanation as plain lines; the command's own text is quoted, so that nothing in it can
    pass for ours."""
    lines = [f"{explanation.decision.upper()}: {explanation.reason}"]
    if explanation.rule:
        lines.append(f"rule: {explanation.rule}")
    if explanation.problem:
        lines.append(f"could not be parsed: {explanation.problem}")
    for number, part in enumerate(explanation.parts, 1):
        mark = "  <- decides" if part.is_deciding else ""
        lines.append(f"{number:>2}. {_MARKS[part.decision]} {_quoted(part.text)}{mark}")
        lines.append(f"      {part.reason}")
        if part.words and " ".join(part.words) != part.text:
            lines.append(f"      runs {' '.join(_quoted(word) for word in part.words[:12])}")
        lines += [f"      {note}" for note in part.notes]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """One line, with everything that is not plain text shown as an escape."""
    short = text if len(text) <= 160 else f"{text[:157]}..."
    return ascii(short) if not short.isprintable() or not short.isascii() else short
