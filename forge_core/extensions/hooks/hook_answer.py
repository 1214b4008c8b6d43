"""Reads the answer of a hook from its exit code and its standard output.

Source: https://docs.claude.com/en/docs/claude-code/hooks#hook-output
"""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from forge_core.extensions.hooks.hook_events import BLOCKABLE, DECIDING, TEXT_IS_CONTEXT, HookEvent
from forge_core.permissions.verdict import Decision
from forge_core.sanitize import safe_text

BLOCKED = 2
"""The exit code that blocks."""
MAX_CHARS = 10_000
"""Of each text for the model."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""The exit codes of shells for a program that did not run."""
MAX_LOGGED = 64_000
_NOT_RUN = {NOT_EXECUTABLE: "it cannot be executed", NOT_FOUND: "the command was not found"}
_SIGNALS = {128 + number: number.name for number in signal.Signals}
"""The exit codes of shells for a program that a signal has ended."""
_PERMISSIONS = {
    "allow": Decision.ALLOW,
    "deny": Decision.DENY,
    "ask": Decision.ASK,
    "defer": Decision.ASK,
}
_BEHAVIORS = {"allow": Decision.ALLOW, "deny": Decision.DENY}
_OLD_DECISIONS = {"approve": Decision.ALLOW, "block": Decision.DENY}


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """How the program of a hook ended."""

    exit_code: int | None = None
    """None: it did not run to its end."""
    stdout: str = ""
    stderr: str = ""
    problem: str = ""
    """Why it did not start, or was ended: a clause without a subject."""
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The answer of one hook. All text is untrusted."""

    decision: Decision | None = None
    """On a tool call; None: no opinion."""
    blocks: bool = False
    """It blocks the action; for a tool call, `decision` is DENY too."""
    reason: str = ""
    """Of the decision or the block, for the model."""
    updated_input: Mapping[str, Any] | None = None
    updated_output: str | None = None
    """What the model reads in place of a tool's output."""
    context: str = ""
    """Context for the model."""
    message: str = ""
    """A message for the user."""
    ends_turn: bool = False
    stop_reason: str = ""
    failure: str = ""
    """Why its answer does not count, as a clause; empty if it does."""
    is_broken: bool = False
    """Whether it failed in a way that the user has to repair: it did not run at all."""


class _BadAnswerError(Exception):
    """A value of the answer has the wrong type."""


def read_answer(event: HookEvent, outcome: HookOutcome) -> HookAnswer:
    """Return the answer of a hook. Never raises."""
    code = outcome.exit_code
    if outcome.problem or code is None or code in _NOT_RUN:
        reason = outcome.problem or _NOT_RUN.get(code or 0, "it did not run")
        return HookAnswer(failure=reason, is_broken=True)
    if code == BLOCKED:
        return _blocked(event, outcome.stderr.strip())
    if code != 0:
        return HookAnswer(failure=_failure(code, outcome))
    text = outcome.stdout.strip()
    if not text.startswith("{"):
        return HookAnswer(context=text[:MAX_CHARS] if event in TEXT_IS_CONTEXT else "")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        if event in TEXT_IS_CONTEXT:
            return HookAnswer(context=text[:MAX_CHARS])
        return HookAnswer(failure=f"its answer is not valid JSON: {error}")
    try:
        return _answer(event, content)
    except _BadAnswerError as error:
        return replace(_denial(event, content), failure=str(error))


def printed_lines(event: HookEvent, outcome: HookOutcome) -> list[str]:
    """Return lines for the log: what a hook has printed, without its answer, and of each stream at most the
    last `MAX_LOGGED` characters. Safe to display."""
    text = outcome.stdout.strip()
    is_answer = outcome.exit_code == 0 and (text.startswith("{") or event in TEXT_IS_CONTEXT)
    streams = {"stderr": outcome.stderr, "stdout": "" if is_answer else text}
    return [
        f"{name}: {line}"
        for name, printed in streams.items()
        for line in safe_text(printed[-MAX_LOGGED:]).splitlines()
    ]


def _failure(code: int, outcome: HookOutcome) -> str:
    """Return the exit code and the last line on standard error."""
    name = f", as after {_SIGNALS[code]}" if code in _SIGNALS else ""
    lines = outcome.stderr.strip().splitlines()
    return f"it exited with {code}{name}{f': {lines[-1]}' if lines else ''}"


def _denial(event: HookEvent, content: Mapping[str, Any]) -> HookAnswer:
    """Return the denial in an answer that is wrong elsewhere: the denial of a check counts in any case."""
    with contextlib.suppress(_BadAnswerError):
        decision, reason, _ = _decision(event, content, _object(content, "hookSpecificOutput") or {})
        if decision is Decision.DENY:
            return HookAnswer(decision=decision, blocks=True, reason=reason[:MAX_CHARS])
    return HookAnswer()


def _blocked(event: HookEvent, reason: str) -> HookAnswer:
    if event not in BLOCKABLE:
        return HookAnswer(message=reason)
    return HookAnswer(
        decision=Decision.DENY if event in DECIDING else None,
        blocks=True,
        reason=(reason or "a hook blocked it and gave no reason")[:MAX_CHARS],
    )


def _answer(event: HookEvent, content: Mapping[str, Any]) -> HookAnswer:
    specific = _object(content, "hookSpecificOutput") or {}
    named = _text(specific, "hookEventName")
    if named and named != event:
        raise _BadAnswerError(f"its answer is about {named}, not {event}")
    decision, reason, updated = _decision(event, content, specific)
    blocks = decision is Decision.DENY if event in DECIDING else _blocks(event, content)
    output = specific.get("updatedToolOutput")
    if output is not None and not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    return HookAnswer(
        decision=decision,
        blocks=blocks,
        reason=reason[:MAX_CHARS] or ("a hook blocked it and gave no reason" if blocks else ""),
        updated_input=updated,
        updated_output=output,
        context=_text(specific, "additionalContext")[:MAX_CHARS],
        message=_text(content, "systemMessage")[:MAX_CHARS],
        ends_turn=_flag(content, "continue", default=True) is False,
        stop_reason=_text(content, "stopReason")[:MAX_CHARS],
    )


def _decision(
    event: HookEvent, content: Mapping[str, Any], specific: Mapping[str, Any]
) -> tuple[Decision | None, str, Mapping[str, Any] | None]:
    """Return the decision on a tool call with its reason, and the replaced input."""
    reason = _text(content, "reason")
    if event is HookEvent.PERMISSION_REQUEST:
        behavior = _object(specific, "decision") or {}
        decision = _word(behavior, "behavior", _BEHAVIORS)
        return decision, _text(behavior, "message") or reason, _object(behavior, "updatedInput")
    if event is not HookEvent.PRE_TOOL_USE:
        return None, reason, None
    decision = _word(specific, "permissionDecision", _PERMISSIONS)
    if decision is None:  # the form before hookSpecificOutput
        decision = _word(content, "decision", _OLD_DECISIONS)
    reason = _text(specific, "permissionDecisionReason") or reason
    return decision, reason, _object(specific, "updatedInput")


def _blocks(event: HookEvent, content: Mapping[str, Any]) -> bool:
    decision = _text(content, "decision")
    if decision not in ("", "block", "approve"):
        raise _BadAnswerError(f"decision is {decision!r}; it can be 'block'")
    return decision == "block" and event in BLOCKABLE


def _word(content: Mapping[str, Any], key: str, known: Mapping[str, Decision]) -> Decision | None:
    word = _text(content, key)
    if word and word not in known:
        raise _BadAnswerError(f"{key} is {word!r}; it can be {', '.join(known)}")
    return known.get(word)


def _text(content: Mapping[str, Any], key: str) -> str:
    value = content.get(key)
    if value is not None and not isinstance(value, str):
        raise _BadAnswerError(f"{key} is not a string")
    return value or ""


def _flag(content: Mapping[str, Any], key: str, *, default: bool) -> bool:
    value = content.get(key)
    if value is not None and not isinstance(value, bool):
        raise _BadAnswerError(f"{key} is neither true nor false")
    return default if value is None else value


def _object(content: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    value = content.get(key)
    if value is not None and not isinstance(value, dict):
        raise _BadAnswerError(f"{key} is not an object")
    return value
