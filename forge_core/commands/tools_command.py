"""`/tools`: the tools with their parameters and permission."""

from __future__ import annotations

from collections.abc import Sequence

from forge_core.approval import Effect
from forge_core.commands.columns import columns
from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.result import CommandResult, Failure, Text
from forge_core.permissions.policy import Decision
from forge_core.session.session import ForgeSession
from forge_core.tools.base import BaseTool, ToolCategory, ToolParameter, ToolUse


async def tools(argument: str, session: ForgeSession) -> CommandResult:
    """List the tools, or describe one."""
    known = session.tools
    if argument:
        tool = known.get(argument)
        if tool is None:
            names = ", ".join(each.name for each in known)
            return Failure(f"There is no tool {argument!r}. The tools are: {names}.")
        return Text(_tool_details(tool, _permission(session, tool)), tool.name)
    blocks = []
    for tool in known:
        head = f"{tool.name:<10} {_permission(session, tool)}"
        blocks.append("\n".join([head, *(f"  {row}" for row in _parameters(tool))]))
    return Text("\n\n".join(blocks), "Tools")


def tool_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the names of the tools."""
    return [ArgumentValue(tool.name) for tool in session.tools]


def _permission(session: ForgeSession, tool: BaseTool) -> str:
    """Return what the policy decides about a typical call inside the folder."""
    if tool.effect is Effect.RUN:
        return _permission_to_run(session, tool)
    has_path = tool.category in (ToolCategory.FILE, ToolCategory.SEARCH)
    inside = (session.config.working_dir / "file",) if has_path else ()
    verdict = session.policy.decide(
        tool.name, ToolUse(tool.effect, target="file", paths=inside, kind=tool.kind)
    )
    match verdict.decision:
        case Decision.ALLOW:
            return "runs unasked in this folder" if has_path else "runs unasked"
        case Decision.ASK:
            return "asks first"
        case Decision.DENY:
            return f"denied: {verdict.reason}"


def _permission_to_run(session: ForgeSession, tool: BaseTool) -> str:
    """Return the same for commands, where those that only read may be treated differently."""
    reading, writing = (
        session.policy.decide(tool.name, ToolUse(tool.effect, target=command)) for command in ("ls", "make")
    )
    match reading.decision, writing.decision:
        case _, Decision.ALLOW:
            return "runs unasked"
        case Decision.ALLOW, Decision.ASK:
            return "commands that only read run unasked, others ask"
        case Decision.ALLOW, Decision.DENY:
            return "commands that only read run unasked, others are denied"
        case _, Decision.DENY:
            return f"denied: {writing.reason}"
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
