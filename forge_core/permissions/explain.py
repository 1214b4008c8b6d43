"""The text of `/permissions test COMMAND`: how a command line and each of its commands are decided."""

from __future__ import annotations

from forge_core.permissions.line_policy import LineVerdict
from forge_core.permissions.verdict import Decision

_MARKS = {Decision.ALLOW: "allow", Decision.ASK: "ask  ", Decision.DENY: "deny "}


def as_text(verdict: LineVerdict) -> str:
    """Return the verdict as plain lines. The command's own text is quoted, so that it cannot imitate other
    lines."""
    lines = [f"{verdict.decision.upper()}: {verdict.reason}"]
    if verdict.rule:
        lines.append(f"rule: {verdict.rule}")
    if verdict.problem:
        lines.append(f"could not be parsed: {verdict.problem}")
    for number, part in enumerate(verdict.parts, 1):
        mark = "  <- decides" if part is verdict.deciding else ""
        lines.append(f"{number:>2}. {_MARKS[part.decision]} {_quoted(part.text)}{mark}")
        lines.append(f"      {part.reason}")
        if part.words and " ".join(part.words) != part.text:
            lines.append(f"      runs {' '.join(_quoted(word) for word in part.words[:12])}")
        lines += [f"      {note}" for note in part.notes]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return one line in which everything but plain text is escaped."""
    short = text if len(text) <= 160 else f"{text[:157]}..."
    return ascii(short) if not short.isprintable() or not short.isascii() else short
