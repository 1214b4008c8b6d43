"""`/hooks`: which programs run at events of the session, how their runs went, and which wait for approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.commands.columns import columns
from forge_core.commands.result import ApprovePrograms, CommandNotice, CommandResult, Text
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession

if TYPE_CHECKING:
    from forge_core.extensions.hooks.approved_hooks import HookApprovals
    from forge_core.extensions.hooks.hook_files import Hook
    from forge_core.session.session_hooks import SessionHooks

_STATES = {
    "new": "not approved: /hooks approve",
    "changed": "changed since it was approved: /hooks approve",
    "declined": "declined",
}


async def hooks(argument: str, session: ForgeSession) -> CommandResult:
    """List the hooks, or ask about those that wait."""
    found = session.hooks
    if found.approvals is None or argument:
        await found.reload()
    if argument:
        waiting = session.programs.waiting()
        return ApprovePrograms(tuple(waiting)) if waiting else CommandNotice("No hook waits for approval.")
    if found.approvals is None:
        config_dir = safe_line(str(session.config.config_dir))
        return Text(f"There are no hooks. Your own go into {config_dir}/hooks.json.", "Hooks")
    return Text("\n\n".join(filter(None, _blocks(found, found.approvals))), "Hooks")


def _blocks(hooks: SessionHooks, approvals: HookApprovals) -> list[str]:
    table = approvals.table
    sources = dict.fromkeys(hook.source.label for hook in table.hooks)
    blocks = [
        f"{label}\n"
        + "\n".join(_entry(hooks, approvals, hook) for hook in table.hooks if hook.source.label == label)
        for label in sources
    ]
    skipped = columns([(f"  {one.source.label}", one.text) for one in table.skipped])
    blocks.append(f"Not run\n{skipped}" if skipped else "")
    blocks.append("\n".join(table.problems))
    return blocks


def _entry(hooks: SessionHooks, approvals: HookApprovals, hook: Hook) -> str:
    """Return two lines about a hook: when it runs and how that went, and its command line."""
    about = " ".join(filter(None, (hook.name, safe_line(hook.matcher), safe_line(hook.condition))))
    state = approvals.state(hook)
    state_text = _STATES.get(str(state), "") or _figures(hooks, hook)
    return f"  {about}: {state_text}\n    {safe_line(hook.command_line)}"


def _figures(hooks: SessionHooks, hook: Hook) -> str:
    if hooks.runner is None:
        return "not run yet"
    record = hooks.runner.statistics(hook)
    if not record.last:
        return "not run yet"
    count = f"{record.runs} run{'s'[: record.runs != 1]}"
    median = "" if record.median_ms is None else f", {record.median_ms:,} ms"
    return f"{count}{median}, last: {safe_line(record.last)}"
