"""`/todo`, `/jobs` and `/afk`: what goes on beside the conversation."""

from __future__ import annotations

from forge_core.commands.columns import columns
from forge_core.commands.result import CommandResult, Text
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.tools.builtin.todo import TodoItem, TodoStatus

_MARKS = {TodoStatus.COMPLETED: "✓", TodoStatus.IN_PROGRESS: "▸", TodoStatus.PENDING: "○"}


async def todo(argument: str, session: ForgeSession) -> CommandResult:
    """The plan, a line a step."""
    items = session.todos.items
    if not items:
        return Text("There is no plan. The model makes one for tasks of several steps.", "Todo")
    lines = [f"{_MARKS[item.status]} {safe_line(_words(item))}" for item in items]
    return Text("\n".join([*lines, "", session.todos.summary]), "Todo")


def _words(item: TodoItem) -> str:
    is_current = item.status is TodoStatus.IN_PROGRESS
    return (item.active_form or item.content) if is_current else item.content


async def jobs(argument: str, session: ForgeSession) -> CommandResult:
    """The background jobs; `stop N` ends one."""
    if argument:
        number = int(argument.split()[-1])
        await session.jobs.stop(number)
        return Text(session.jobs.standing(number), "Jobs")
    rows = [
        (str(view.id), f"{view.outcome}  {' '.join(view.command.split())}") for view in session.jobs.list()
    ]
    if not rows:
        return Text("Nothing runs in the background.", "Jobs")
    return Text(f"{columns(rows)}\n\n/jobs stop N ends one.", "Jobs")


async def afk(argument: str, session: ForgeSession) -> CommandResult:
    """Switches whether the person is asked."""
    wanted = argument.lower() == "on" if argument else not session.is_away
    session.is_away = wanted
    if wanted:
        return Text(
            "You are away: nothing asks you now. What would ask is refused and the model told so. /afk again "
            "when you are back.",
            "Away",
        )
    return Text("Welcome back: what needs you asks again.", "Away")
