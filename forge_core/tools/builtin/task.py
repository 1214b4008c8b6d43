"""The task tool: a sub-agent does something on its own and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.events import ToolStart
from forge_core.tools.base import (
    AgentTask,
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
)
from forge_core.tools.output import OUTPUT_LIMIT

DEFAULT_AGENT = "general"
MAX_DESCRIPTION_CHARS = 100
MAX_PROMPT_CHARS = 50_000


class TaskTool(BaseTool):
    """Hands a task to a sub-agent. The session runs it; its calls are judged and asked about one by one."""

    name = "task"
    claude_names = ("Agent", "Task")
    description = (
        "Has a sub-agent do a task and returns its report. The sub-agent has its own context window: it sees "
        "your prompt and the project's instructions, nothing of this conversation, and you see only its "
        "report. Use it for work that needs many searches or reads but a short answer, for checking your "
        "work, and for independent parts at the same time: several calls in one answer run in parallel. Not "
        "for what one or two calls of read or grep answer, and not twice for the same. The report is what "
        f"the sub-agent claims: check what matters. It is cut at {OUTPUT_LIMIT:,} characters; the user does "
        "not read it, so say what follows from it."
    )
    parameters = (
        ToolParameter(
            "description",
            "string",
            f"What it does, in three to six words, for the user; at most {MAX_DESCRIPTION_CHARS} characters.",
        ),
        ToolParameter(
            "prompt",
            "string",
            "The whole task: what is known, what to do, what not to do, and what the report must contain. At "
            f"most {MAX_PROMPT_CHARS:,} characters.",
        ),
        ToolParameter(
            "agent",
            "string",
            f"The name of an agent that the system message lists. Default {DEFAULT_AGENT!r}.",
            required=False,
            default=DEFAULT_AGENT,
        ),
        ToolParameter(
            "background",
            "boolean",
            "Return at once; the report comes with a later message of the user. Default false.",
            required=False,
            default=False,
        ),
        ToolParameter(
            "model",
            "string",
            "Another model. Only if the user names one. Default: that of the agent.",
            required=False,
        ),
    )
    advice = "task hands a task of its own to a sub-agent; send independent ones together in one answer."
    for_agents = False
    interrupt_grace_s = 2.0
    """A sub-agent ends its own calls first."""
    category = ToolCategory.AGENT
    effect = Effect.READ
    kind = ToolKind.AGENT
    title = "Agent"
    preview_rows = 6

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        if context.agents is None:
            raise ToolError("there are no sub-agents here. Do it yourself.")
        task = AgentTask(
            agent=str(params.get("agent") or DEFAULT_AGENT),
            description=" ".join(params["description"].split())[:MAX_DESCRIPTION_CHARS],
            prompt=params["prompt"].strip(),
            in_background=bool(params.get("background")),
            model=str(params.get("model") or ""),
        )
        if not task.prompt:
            raise ToolError("the prompt is empty. Write the whole task into it.")
        if len(task.prompt) > MAX_PROMPT_CHARS:
            raise ToolError(
                f"the prompt has {len(task.prompt):,} characters; at most {MAX_PROMPT_CHARS:,} are allowed. "
                "Name files instead of quoting them."
            )
        return await context.agents.spawn(task, context)

    def start_event(
        self, call_id: str, arguments: Mapping[str, Any], context: ExecutionContext | None = None
    ) -> ToolStart:
        event = super().start_event(call_id, arguments, context)
        agents = None if context is None else context.agents
        return event if agents is None else replace(event, color=agents.color(_agent_of(arguments)))

    def target(self, arguments: Mapping[str, Any]) -> str:
        return f"{_agent_of(arguments)}: {arguments.get('description', '')}"


def _agent_of(arguments: Mapping[str, Any]) -> str:
    return " ".join(str(arguments.get("agent") or DEFAULT_AGENT).split())
