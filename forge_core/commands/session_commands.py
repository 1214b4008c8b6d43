"""The short commands of the session: `/reset`, `/retry`, `/diff`, `/todo`, `/jobs` and `/afk`."""

from __future__ import annotations

import asyncio

from forge_core.commands.columns import columns
from forge_core.commands.result import (
    Cleared,
    CommandNotice,
    CommandResult,
    Failure,
    ResumeTurn,
    ShowDiff,
    ShowJobs,
    StatusChange,
    Text,
)
from forge_core.errors import ForgeError
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.session import NOTHING_TO_RETRY, ForgeSession
from forge_core.store.export import export_in
from forge_core.tools.builtin.todo import TodoItem, TodoStatus


async def reset(argument: str, session: ForgeSession) -> CommandResult:
    """Clear the conversation."""
    await session.reset()
    return Cleared()


async def retry(argument: str, session: ForgeSession) -> CommandResult:
    """Resume the turn that failed."""
    return ResumeTurn() if session.can_retry else Failure(NOTHING_TO_RETRY)


async def diff(argument: str, session: ForgeSession) -> CommandResult:
    """Show changes: by default those of the last turn, or of the working tree if it made none."""
    if argument:
        return ShowDiff("turn" if argument.lower() == "turn" else "worktree")
    return ShowDiff("turn" if (await session.changes("turn").read()).files else "worktree")


async def export(argument: str, session: ForgeSession) -> CommandResult:
    """Write the session to a file; without a name, as Markdown named after the session."""
    try:
        saved = await session.recorded()
        path = await asyncio.to_thread(
            export_in, session.config.working_dir, argument, saved, make_redactor(session.config)
        )
    except ForgeError as error:
        return Failure(str(error))
    return CommandNotice(f"Written to {safe_line(str(path))!r}.")


async def rename(argument: str, session: ForgeSession) -> CommandResult:
    """Give the session a title."""
    if not argument:
        return Failure("Give the title: /rename Fix the parser")
    return CommandNotice(f"This session is now {safe_line(session.rename(argument))!r}.")


async def todo(argument: str, session: ForgeSession) -> CommandResult:
    """Show the list of tasks, one per line."""
    items = session.todos.items
    if not items:
        return Text("There is no list of tasks. The model makes one for work of several steps.", "Todo")
    lines = [f"{item.status.mark} {safe_line(_words(item))}" for item in items]
    return Text("\n".join([*lines, "", session.todos.summary]), "Todo")


def _words(item: TodoItem) -> str:
    is_current = item.status is TodoStatus.IN_PROGRESS
    return (item.active_form or item.content) if is_current else item.content


async def jobs(argument: str, session: ForgeSession) -> CommandResult:
    """Show the background jobs; `stop N` stops one."""
    if argument:
        stopped = await session.jobs.stop(int(argument.split()[-1]))
        return Text(stopped.report, "Jobs")
    rows = [
        (str(job.id), f"{job.outcome}  {' '.join(job.spec.command.split())}") for job in session.jobs.list()
    ]
    if not rows:
        return Text("No command is running in the background.", "Jobs")
    return ShowJobs(f"{columns(rows)}\n\n/jobs stop N stops one.")


async def afk(argument: str, session: ForgeSession) -> CommandResult:
    """Turn away mode on or off."""
    wanted = argument.lower() == "on" if argument else not session.is_away
    session.is_away = wanted
    if wanted:
        return StatusChange(
            "You are away: requests for approval are denied, and the model is informed. /afk again when you "
            "are back."
        )
    return StatusChange("Welcome back: Forge asks for approval again.")
