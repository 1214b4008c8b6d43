"""The skill tool: loads the instructions of a skill into the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    ToolUse,
)


class SkillSource(Protocol):
    """The skills of a session."""

    @property
    def has_any(self) -> bool:
        """Whether there is a skill that the model may load."""

    def load(self, name: str, arguments: str) -> str:
        """Return the instructions of a skill; empty if the model has them already. May read files.

        Raises:
            ToolError: there is no such skill.
        """


class SkillTool(BaseTool):
    """Gives the model the text of a skill. Offered only in a session that has skills."""

    name = "skill"
    claude_names = ("Skill",)
    description = (
        "Loads a skill: instructions for a kind of task, listed under Skills in the system message. Call it "
        "before you begin a task that one fits. Its text follows the result, with the names of its other "
        "files. Use read for those, and bash to run its scripts. Once loaded, a skill stays loaded."
    )
    parameters = (
        ToolParameter("name", "string", "Its name as listed."),
        ToolParameter(
            "arguments", "string", "What the skill is to work on, if its text asks for it.", required=False
        ),
    )
    advice = "Before a task that a listed skill fits, load it with skill."
    category = ToolCategory.OTHER
    effect = Effect.READ
    kind = ToolKind.SESSION
    title = "Load skill"
    takes_pattern = True

    def is_offered(self, context: ExecutionContext) -> bool:
        return context.skills is not None and context.skills.has_any

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        if context.skills is None:
            raise ToolError("this session has no skills. Go on without one.")
        name, arguments = str(params["name"]).strip(), str(params.get("arguments") or "")
        text = await asyncio.to_thread(context.skills.load, name, arguments)
        if not text:
            output = f"The skill {name!r} is already loaded: follow its instructions above."
            return ToolResult(True, output, summary="already loaded", is_in_header=True)
        context.instructions = text
        output = f"The skill {name!r} is loaded. Its instructions follow this result."
        return ToolResult(True, output, summary="loaded", is_in_header=True)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(self.effect, target=str(params.get("name", "")))

    def target(self, arguments: Mapping[str, Any]) -> str:
        return str(arguments.get("name", ""))
