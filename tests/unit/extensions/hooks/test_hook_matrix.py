"""Every event with every way in which a hook can end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_runner import HookVerdict, Occasion
from tests.support.hooks import HookBench, declared

CASES = ("0", "1", "2", "127", "timeout", "JSON", "bad JSON", "2 + JSON")
# What becomes of the action: "-" nothing; "deny" of a tool call; "block"; "context" for the model;
# "told": the user reads the reason; "failed" and "broken" are notices, and the action goes on.
TABLE = {
    #                       0         1        2        127       timeout   JSON     bad JSON   2 + JSON
    "SessionStart":       ("context failed   told     broken    broken    context  context    told"),
    "SessionEnd":         ("-       failed   told     broken    broken    -        failed     told"),
    "UserPromptSubmit":   ("context failed   block    broken    broken    block    context    block"),
    "PreToolUse":         ("-       failed   deny     broken    broken    deny     failed     deny"),
    "PermissionRequest":  ("-       failed   deny     broken    broken    deny     failed     deny"),
    "PostToolUse":        ("-       failed   block    broken    broken    block    failed     block"),
    "PostToolUseFailure": ("-       failed   block    broken    broken    block    failed     block"),
    "Notification":       ("-       failed   told     broken    broken    context  failed     told"),
    "SubagentStart":      ("-       failed   told     broken    broken    context  failed     told"),
    "SubagentStop":       ("-       failed   block    broken    broken    block    failed     block"),
    "Stop":               ("-       failed   block    broken    broken    block    failed     block"),
    "StopFailure":        ("-       failed   told     broken    broken    -        failed     told"),
    "PreCompact":         ("-       failed   block    broken    broken    block    failed     block"),
    "PostCompact":        ("-       failed   told     broken    broken    -        failed     told"),
}  # fmt: skip
CLOSED = {
    "PreToolUse": "deny",
    "PermissionRequest": "deny",
    "UserPromptSubmit": "block",
    "PreCompact": "block",
}
"""What becomes of it after a failure of a hook with failClosed; of other events the same as without."""


def block(event: str) -> dict[str, Any]:
    specific: dict[str, Any] = {"hookEventName": event}
    if event == "PreToolUse":
        specific |= {"permissionDecision": "deny", "permissionDecisionReason": "r"}
    elif event == "PermissionRequest":
        specific |= {"decision": {"behavior": "deny", "message": "r"}}
    elif event in ("SessionStart", "Notification", "SubagentStart"):
        return {"hookSpecificOutput": specific | {"additionalContext": "c"}}
    return {"decision": "block", "reason": "r"} | (
        {"hookSpecificOutput": specific} if len(specific) > 1 else {}
    )


def line(event: str, case: str) -> str:
    match case:
        case "0":
            return "echo hello"
        case "1":
            return "echo went wrong >&2; exit 1"
        case "2":
            return "echo hello; echo r >&2; exit 2"
        case "127":
            return "no-such-program-anywhere"
        case "timeout":
            return "sleep 60"
        case "JSON":
            return f"echo '{json.dumps(block(event))}'"
        case "bad JSON":
            return """echo '{"decision": '"""
        case _:
            return """echo '{"decision": "approve", "continue": true}'; echo r >&2; exit 2"""


def outcome(verdict: HookVerdict, texts: list[str]) -> str:
    if verdict.decision is not None:
        return str(verdict.decision)
    if verdict.blocks:
        return "block"
    if verdict.context:
        return "context"
    if texts:
        kinds = {"Hook failed": "failed", "Hook broken": "broken"}
        return kinds.get(texts[0].partition(":")[0], "told" if texts[0].endswith(": r") else texts[0])
    return "-"


async def results(folder: Path, **fields: Any) -> dict[str, list[str]]:
    limit = asyncio.Semaphore(24)

    async def result(number: int, event: str, case: str) -> str:
        base = folder / str(number)
        (base / "project").mkdir(parents=True)
        timeout = 0.2 if case == "timeout" else 30
        bench = HookBench.of(base / "project", declared(event, line(event, case), timeout=timeout, **fields))
        async with limit:
            verdict = await bench.runner.run(HookEvent(event), Occasion({}))
        return outcome(verdict, bench.texts)

    pairs = [(event, case) for event in TABLE for case in CASES]
    found = await asyncio.gather(*(result(number, *pair) for number, pair in enumerate(pairs)))
    return {event: list(found[at * len(CASES) :][: len(CASES)]) for at, event in enumerate(TABLE)}


async def test_every_event_and_every_ending(tmp_path: Path) -> None:
    assert {*TABLE} == {*HookEvent}
    assert await results(tmp_path) == {event: row.split() for event, row in TABLE.items()}


async def test_with_fail_closed_a_failure_denies_what_has_not_happened_yet(tmp_path: Path) -> None:
    expected = {
        event: [CLOSED.get(event, word) if word in ("failed", "broken") else word for word in row.split()]
        for event, row in TABLE.items()
    }
    assert await results(tmp_path, failClosed=True) == expected
