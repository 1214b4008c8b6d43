"""What the output of a hook means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge_core.extensions.hooks.hook_answer import MAX_CHARS, HookAnswer, HookOutcome, read_answer
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.permissions.verdict import Decision

PRE, PERMISSION, POST = HookEvent.PRE_TOOL_USE, HookEvent.PERMISSION_REQUEST, HookEvent.POST_TOOL_USE


def answer(event: HookEvent, content: object, code: int = 0) -> HookAnswer:
    text = content if isinstance(content, str) else json.dumps(content)
    return read_answer(event, HookOutcome(code, stdout=text))


def specific(event: HookEvent, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": str(event), **fields}}


@pytest.mark.parametrize(
    ("event", "content", "expected"),
    [
        (PRE, {"decision": "approve", "reason": "r"}, HookAnswer(decision=Decision.ALLOW, reason="r")),
        (
            PRE,
            {"decision": "block", "reason": "r"},
            HookAnswer(decision=Decision.DENY, blocks=True, reason="r"),
        ),
        (PRE, specific(PRE, permissionDecision="defer"), HookAnswer(decision=Decision.ASK)),
        (
            PRE,
            specific(
                PRE,
                permissionDecision="allow",
                permissionDecisionReason="fine",
                updatedInput={"command": "ls"},
                additionalContext="note",
                unknown=1,
            ),
            HookAnswer(
                decision=Decision.ALLOW, reason="fine", updated_input={"command": "ls"}, context="note"
            ),
        ),
        (
            PERMISSION,
            specific(PERMISSION, decision={"behavior": "deny", "message": "no"}),
            HookAnswer(decision=Decision.DENY, blocks=True, reason="no"),
        ),
        (
            PERMISSION,
            specific(PERMISSION, decision={"behavior": "allow", "updatedInput": {"a": 1}}),
            HookAnswer(decision=Decision.ALLOW, updated_input={"a": 1}),
        ),
        (POST, {"decision": "block", "reason": "lint"}, HookAnswer(blocks=True, reason="lint")),
        (POST, specific(POST, updatedToolOutput={"a": "é"}), HookAnswer(updated_output='{"a": "é"}')),
        (HookEvent.STOP, {"decision": "block"}, HookAnswer(blocks=True, reason="a hook blocked it and gave no reason")),
        (HookEvent.NOTIFICATION, {"decision": "block", "reason": "r"}, HookAnswer(reason="r")),
        (
            HookEvent.STOP,
            {"continue": False, "stopReason": "enough", "systemMessage": "hi", "suppressOutput": True},
            HookAnswer(ends_turn=True, stop_reason="enough", message="hi"),
        ),
        (HookEvent.SESSION_START, "plain text", HookAnswer(context="plain text")),
        (HookEvent.USER_PROMPT_SUBMIT, "{no json", HookAnswer(context="{no json")),
        (HookEvent.STOP, "plain text", HookAnswer()),
        (PRE, "", HookAnswer()),
    ],
)  # fmt: skip
def test_an_answer_is_read(event: HookEvent, content: object, expected: HookAnswer) -> None:
    assert answer(event, content) == expected


@pytest.mark.parametrize(
    ("event", "content", "failure"),
    [
        (PRE, {"systemMessage": 5}, "systemMessage is not a string"),
        (PRE, {"continue": "no"}, "continue is neither true nor false"),
        (PRE, {"hookSpecificOutput": []}, "hookSpecificOutput is not an object"),
        (PRE, specific(PRE, permissionDecision="yes"), "permissionDecision is 'yes'"),
        (PRE, specific(PRE, updatedInput="ls"), "updatedInput is not an object"),
        (PRE, specific(POST), "about PostToolUse"),
        (HookEvent.STOP, {"decision": "deny"}, "decision is 'deny'"),
        (PRE, "{", "not valid JSON"),
        (PRE, "{" * 100_000, "not valid JSON"),
    ],
)
def test_a_wrong_type_is_a_failure_and_decides_nothing(
    event: HookEvent, content: object, failure: str
) -> None:
    found = answer(event, content)
    assert failure in found.failure
    assert (found.decision, found.blocks, found.is_broken) == (None, False, False)


def test_a_denial_counts_even_if_another_field_is_wrong() -> None:
    found = answer(PRE, {**specific(PRE, permissionDecision="deny"), "systemMessage": 5})
    assert (found.decision, found.blocks) == (Decision.DENY, True)
    assert "systemMessage" in found.failure


def test_texts_for_the_model_are_capped() -> None:
    assert len(answer(HookEvent.SESSION_START, "x" * 2 * MAX_CHARS).context) == MAX_CHARS
    assert (
        len(answer(HookEvent.STOP, {"decision": "block", "reason": "x" * 2 * MAX_CHARS}).reason) == MAX_CHARS
    )
