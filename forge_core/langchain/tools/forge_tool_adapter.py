"""A LangChain tool where Forge wants its own kind."""

from __future__ import annotations

import copy
import uuid
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from forge_core.approval import Effect
from forge_core.langchain.tools.schema import parameters_of
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult, ToolUse

SHOWN_CHARS = 200
"""Of a call's arguments, in the approval prompt's target line."""


class ForgeToolAdapter(BaseTool):
    """Runs any LangChain tool: an asynchronous one is awaited, a synchronous one runs in a thread.

    What the tool may touch is unknown, so it counts as running a program and the policy asks; give its
    `effect` where it is known. An artifact is in the result's metadata. Arguments that LangChain injects
    from a graph's state are not available here.
    """

    category = ToolCategory.OTHER
    checks_own_arguments = True

    def __init__(self, langchain_tool: LangChainTool, *, effect: Effect = Effect.RUN) -> None:
        self.langchain_tool = langchain_tool
        self.effect = effect
        self.name = langchain_tool.name
        self.description = langchain_tool.description
        self._schema = _schema_of(langchain_tool)
        self.parameters = parameters_of(self._schema)

    def json_schema(self) -> dict[str, Any]:
        """The tool's own schema, nested parts kept."""
        return copy.deepcopy(self._schema)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        shown = ", ".join(f"{name}={value!r}" for name, value in params.items())
        return ToolUse(self.effect, target=f"{self.name}({shown})"[:SHOWN_CHARS])

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        call_id = context.call_id or f"call_{uuid.uuid4().hex[:12]}"
        call = {"type": "tool_call", "id": call_id, "name": self.name, "args": dict(params)}
        try:
            answer = await self.langchain_tool.ainvoke(call)
        except ToolException as error:
            return ToolResult(False, error=str(error) or "the tool failed")
        except Exception as error:  # a tool's run is a border: foreign code's failure becomes a value
            return ToolResult(False, error=f"{type(error).__name__}: {error}")
        return _result(answer)


def _schema_of(tool: LangChainTool) -> dict[str, Any]:
    """What LangChain itself would tell a model, whichever of its four kinds of schema the tool has."""
    parameters = convert_to_openai_tool(tool)["function"].get("parameters") or {}
    return {"type": "object", "properties": {}, **copy.deepcopy(parameters)}


def _result(answer: object) -> ToolResult:
    if not isinstance(answer, ToolMessage):  # a tool may answer a graph command instead of a message
        return ToolResult(True, output=str(answer))
    text = _text_of(answer)
    if answer.status == "error":
        return ToolResult(False, error=text.removeprefix("Error: ") or "the tool failed")
    return ToolResult(
        True, output=text, metadata={} if answer.artifact is None else {"artifact": answer.artifact}
    )


def _text_of(message: ToolMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(
        block if isinstance(block, str) else str(block.get("text") or f"({block.get('type')})")
        for block in message.content
    )
