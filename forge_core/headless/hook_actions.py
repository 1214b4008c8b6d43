"""`forge hooks`: lists the hooks, and runs those of an event as a test."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.extensions.hooks.approved_hooks import HookApprovals
from forge_core.extensions.hooks.hook_answer import HookAnswer, HookOutcome, printed_lines, read_answer
from forge_core.extensions.hooks.hook_events import TOOL_EVENTS, HookEvent
from forge_core.extensions.hooks.hook_files import Hook
from forge_core.extensions.hooks.hook_process import HookProcesses
from forge_core.extensions.hooks.matching import matches
from forge_core.sanitize import safe_line, safe_text

if TYPE_CHECKING:
    import argparse

    from forge_core.config.forge_config import ForgeConfig

_SUBJECTS = ("tool_name", "source", "notification_type", "agent_type", "trigger", "reason")
"""The keys of the input with which matchers are compared."""


def run_action(options: argparse.Namespace, config: ForgeConfig) -> int:
    """Run `forge hooks ACTION` and return the exit code.

    Raises:
        ConfigError: there is no such event, or the input cannot be read.
    """
    approvals = HookApprovals.load(config)
    if options.action == "list":
        for hook in approvals.table.hooks:
            state = approvals.state(hook)
            print(f"{hook.source.label}  {hook.name}  {state or 'your own'}")
            print(f"  {safe_line(hook.command_line)}")
        for line in (*(f"not run: {one.text}" for one in approvals.table.skipped), *approvals.table.problems):
            print(line)
        return ExitCode.COMPLETE
    return asyncio.run(_test(options, config, approvals))


async def _test(options: argparse.Namespace, config: ForgeConfig, approvals: HookApprovals) -> int:
    """Run the hooks of an event one after the other; the input decides which match. `if` is not looked at."""
    if options.event not in list(HookEvent):
        raise ConfigError(f"There is no event {options.event!r}. Events: {', '.join(HookEvent)}.")
    event = HookEvent(options.event)
    fields = _input(event, options.file, config)
    subjects = [str(fields[key]) for key in _SUBJECTS if fields.get(key)]
    processes = HookProcesses(config.working_dir)
    found = [hook for hook in approvals.allowed if hook.event is event]
    matching = [hook for hook in found if not subjects or matches(hook.matcher, subjects[:1])]
    is_fine = True
    for hook in matching:
        outcome = await processes.run(hook, json.dumps(fields).encode())
        answer = read_answer(event, outcome)
        is_fine = is_fine and not answer.failure
        _print(hook, outcome, answer)
    await processes.kill_rest()
    for one in approvals.waiting:
        if one.hook.event is event:
            print(f"{one.hook.name}: not run, it is not approved (--approve {one.hook.name})")
    if not matching:
        print(f"No hook that may run matches {event}.", file=sys.stderr)
    return ExitCode.COMPLETE if is_fine else ExitCode.UNFINISHED


def _print(hook: Hook, outcome: HookOutcome, answer: HookAnswer) -> None:
    code = "did not end" if outcome.exit_code is None else f"exit {outcome.exit_code}"
    print(f"{hook.name}: {code}, {outcome.duration_s * 1000:,.0f} ms")
    meaning = {
        "decision": answer.decision,
        "blocks": answer.blocks or None,
        "reason": answer.reason,
        "context": answer.context,
        "message": answer.message,
        "updated input": answer.updated_input and json.dumps(answer.updated_input),
        "updated output": answer.updated_output,
        "ends the turn": answer.stop_reason or answer.ends_turn or None,
        "failure": answer.failure,
    }
    for name, value in meaning.items():
        if value:
            print(f"  {name}: {safe_text(str(value))}")
    for line in printed_lines(hook.event, outcome):
        print(f"  {line}")


def _input(event: HookEvent, file: str | None, config: ForgeConfig) -> dict[str, Any]:
    """Return what hooks read: an example, with what a file replaces in it."""
    example: dict[str, Any] = {
        "session_id": "test",
        "transcript_path": "",
        "cwd": str(config.working_dir),
        "permission_mode": "default",
        "hook_event_name": str(event),
    }
    if event in TOOL_EVENTS:
        example |= {"tool_name": "Bash", "tool_input": {"command": "git status"}, "tool_use_id": "test"}
    if file is None:
        return example
    try:
        given = json.loads(Path(file).expanduser().read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The input {file!r} cannot be read: {error}.") from error
    if not isinstance(given, dict):
        raise ConfigError(f"The input {file!r} is not a JSON object.")
    return {**example, **given, "hook_event_name": str(event)}
