"""What each slash command does. A handler's first docstring line is no help text: that stands in `specs`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from forge_core.approval import Effect
from forge_core.commands.columns import columns
from forge_core.commands.context_command import context
from forge_core.commands.cost_command import cost
from forge_core.commands.diff_command import diff
from forge_core.commands.permission_commands import mode, permissions, sandbox
from forge_core.commands.result import (
    ChangeSetting,
    Cleared,
    CommandResult,
    Failure,
    OpenScreen,
    Quit,
    ResumeTurn,
    Text,
)
from forge_core.commands.specs import SPECS, find, nearest
from forge_core.commands.trust_command import trust
from forge_core.commands.undo_commands import redo, undo
from forge_core.commands.work_commands import afk, jobs, todo
from forge_core.errors import ForgeError
from forge_core.permissions.policy import Decision
from forge_core.session.session import NOTHING_TO_RETRY, ForgeSession
from forge_core.tools.base import BaseTool, ToolCategory, ToolParameter, ToolUse

Handler = Callable[[str, ForgeSession], Awaitable[CommandResult]]


async def run_command(line: str, session: ForgeSession) -> CommandResult:
    """Carry out a line that starts with a slash.

    An unknown command is a Failure with the nearest name, an argument that the command does not accept one
    with those that it does.
    """
    name, _, argument = line.removeprefix("/").strip().partition(" ")
    spec = find(name)
    if spec is None:
        return unknown(name)
    if (problem := spec.problem(argument)) is not None:
        return Failure(problem)
    try:
        return await _HANDLERS[spec.name](argument.strip(), session)
    except ForgeError as error:
        return Failure(str(error))


def unknown(name: str) -> Failure:
    """The failure for a name that no command has."""
    near = nearest(name) if name else None
    hint = f" Did you mean /{near.name}?" if near else " /help lists them."
    return Failure(f"There is no command /{name}.{hint}")


async def _help(argument: str, session: ForgeSession) -> CommandResult:
    rows = [(_usage(spec.name, spec.argument_hint), spec.summary) for spec in SPECS]
    return Text(columns(rows), "Commands")


async def _tools(argument: str, session: ForgeSession) -> CommandResult:
    tools = session.tools
    if argument:
        tool = tools.get(argument)
        if tool is None:
            known = ", ".join(each.name for each in tools)
            return Failure(f"There is no tool {argument!r}. The tools are: {known}.")
        return Text(_tool_details(tool, _permission(session, tool)), tool.name)
    blocks = []
    for tool in tools:
        head = f"{tool.name:<10} {_permission(session, tool)}"
        blocks.append("\n".join([head, *(f"  {row}" for row in _parameters(tool))]))
    return Text("\n\n".join(blocks), "Tools")


async def _reset(argument: str, session: ForgeSession) -> CommandResult:
    await session.reset()
    return Cleared()


async def _retry(argument: str, session: ForgeSession) -> CommandResult:
    return ResumeTurn() if session.can_retry else Failure(NOTHING_TO_RETRY)


async def _model(argument: str, session: ForgeSession) -> CommandResult:
    status = session.status
    if not argument:
        rows = [(_marked(choice.id, status.model), choice.note) for choice in session.known_models()]
        return Text(f"{columns(rows)}\n\n/model NAME changes it, from the next answer on.", "Model")
    if status.provider_label == "offline":
        return Failure(
            "The offline model is the only one without a connection. Set OPENROUTER_API_KEY, or start with "
            "`forge chat --base-url URL --model NAME`."
        )
    if len(argument.split()) > 1:
        return Failure(f"{argument!r} is no model's name: it has blanks in it. /model alone lists some.")
    session.set_model(argument)
    return ChangeSetting("model", argument)


async def _theme(argument: str, session: ForgeSession) -> CommandResult:
    return ChangeSetting("theme", argument) if argument else OpenScreen("theme")


async def _copy(argument: str, session: ForgeSession) -> CommandResult:
    return OpenScreen("copy", argument)


async def _thinking(argument: str, session: ForgeSession) -> CommandResult:
    return ChangeSetting("thinking", argument) if argument else OpenScreen("thinking")


async def _raw(argument: str, session: ForgeSession) -> CommandResult:
    return OpenScreen("raw")


async def _exit(argument: str, session: ForgeSession) -> CommandResult:
    return Quit()


_HANDLERS: dict[str, Handler] = {
    "help": _help,
    "tools": _tools,
    "reset": _reset,
    "retry": _retry,
    "model": _model,
    "theme": _theme,
    "thinking": _thinking,
    "raw": _raw,
    "cost": cost,
    "context": context,
    "undo": undo,
    "diff": diff,
    "redo": redo,
    "todo": todo,
    "jobs": jobs,
    "permissions": permissions,
    "mode": mode,
    "sandbox": sandbox,
    "trust": trust,
    "afk": afk,
    "copy": _copy,
    "exit": _exit,
}


def _marked(model: str, current: str) -> str:
    return f"{'›' if model == current else ' '} {model}"


def _usage(name: str, hint: str) -> str:
    return f"/{name} {hint}".strip()


def _permission(session: ForgeSession, tool: BaseTool) -> str:
    """What the policy would say to a plain use of the tool inside the folder."""
    if tool.effect is Effect.RUN:
        return _permission_to_run(session, tool)
    has_path = tool.category in (ToolCategory.FILE, ToolCategory.SEARCH)
    inside = (session.config.working_dir / "file",) if has_path else ()
    verdict = session.policy.decide(tool.name, ToolUse(tool.effect, target="file", paths=inside))
    match verdict.decision:
        case Decision.ALLOW:
            return "runs unasked in this folder" if has_path else "runs unasked"
        case Decision.ASK:
            return "asks first"
        case Decision.DENY:
            return f"refused: {verdict.reason}"


def _permission_to_run(session: ForgeSession, tool: BaseTool) -> str:
    """The same for commands: those that plainly read may run where others ask."""
    reading, writing = (
        session.policy.decide(tool.name, ToolUse(tool.effect, target=command)) for command in ("ls", "make")
    )
    match reading.decision, writing.decision:
        case _, Decision.ALLOW:
            return "runs unasked"
        case Decision.ALLOW, Decision.ASK:
            return "plainly reading commands run unasked, others ask"
        case Decision.ALLOW, Decision.DENY:
            return "plainly reading commands run unasked, others are refused"
        case _, Decision.DENY:
            return f"refused: {writing.reason}"
        case _:
            return "asks first"


def _tool_details(tool: BaseTool, permission: str) -> str:
    return "\n".join([tool.description.strip(), "", f"Permission: {permission}", "", *_parameters(tool)])


def _parameters(tool: BaseTool) -> list[str]:
    rows = [(_parameter_head(parameter), parameter.description) for parameter in tool.parameters]
    return columns(rows).splitlines() if rows else ["no parameters"]


def _parameter_head(parameter: ToolParameter) -> str:
    mark = "" if parameter.required else "?"
    return f"{parameter.name}{mark}: {parameter.type}"
