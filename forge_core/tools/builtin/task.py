"""The task tool: delegates a task to a sub-agent, which returns a report."""

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
    """Delegates a task to a sub-agent. The session runs it; the policy decides on each of its calls."""

    name = "task"
    claude_names = ("Agent", "Task")
    description = (
        "Delegates a task to a sub-agent and returns its report. The sub-agent has a separate context "
        "window: it sees your prompt and the project's instructions but nothing of this conversation, and "
        "you see only its report. Use it for work that needs many searches or reads but a short answer, to "
        "check your work, and for independent parts at the same time: several calls in one answer run in "
        "parallel. Do not use it for what one or two calls of read or grep answer, or twice for the same "
        "task. The report contains claims of the sub-agent: check what matters. It is cut at "
        f"{OUTPUT_LIMIT:,} characters. The user does not read it, so summarise what matters to them."
    )
    parameters = (
        ToolParameter(
            "description",
            "string",
            f"A title for the user, three to six words; at most {MAX_DESCRIPTION_CHARS} characters.",
        ),
        ToolParameter(
            "prompt",
            "string",
            "The complete task: what is known, what to do, what not to do, and what the report must contain. "
            f"At most {MAX_PROMPT_CHARS:,} characters.",
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
            "Return at once; the report is passed to you with a later message of the user. Default false.",
            required=False,
            default=False,
        ),
        ToolParameter(
            "model",
            "string",
            "The id of another model, only if the user names one. Default: the model of the agent.",
            required=False,
        ),
    )
    advice = "task delegates a task to a sub-agent; send independent tasks together in one answer."
    for_agents = False
    interrupt_grace_s = 2.0
    """Longer than the default: a sub-agent first ends its calls."""
    category = ToolCategory.AGENT
    effect = Effect.READ
    kind = ToolKind.AGENT
    title = "Agent"
    preview_rows = 6

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        if context.agents is None:
            raise ToolError("sub-agents are not available here. Do the task yourself.")
        task = AgentTask(
            agent=str(params.get("agent") or DEFAULT_AGENT),
            description=" ".join(params["description"].split())[:MAX_DESCRIPTION_CHARS],
            prompt=params["prompt"].strip(),
            in_background=bool(params.get("background")),
            model=str(params.get("model") or ""),
        )
        if not task.prompt:
            raise ToolError("the prompt is empty. Write the complete task into it.")
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
