"""WINK's tools where LangGraph wants its own kind, with everything that WINK promises its handlers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import ToolException
from pydantic import Field, GetPydanticSchema
from pydantic_core import core_schema

from forge_core.integrations.langgraph.requirements import require_wink
from forge_core.integrations.langgraph.wink_call import WinkCall
from forge_core.integrations.langgraph.wink_types import (
    BudgetTracker,
    Deadline,
    Heartbeat,
    Prompt,
    Rendered,
    Session,
    Tool,
    wink,
)

_AS_IS = GetPydanticSchema(lambda source, handler: core_schema.any_schema())

_call_id: ContextVar[str | None] = ContextVar("forge_wink_call_id", default=None)


@dataclass(slots=True)
class ToolTurns:
    """What the tools of one evaluation share."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    """One handler at a time: a failed one is undone by a snapshot of the whole session."""
    escape: BaseException | None = None
    """What a handler raised to leave the evaluation with; no other handler runs after it."""
    renewed: tuple[Deadline | None, Heartbeat | None] | None = None
    """What holds instead of the context's own since a pause."""
    invoked: int = 0
    """Handlers that were called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionContext:
    """What a handler's ToolContext is made of."""

    session: Session
    prompt: Prompt
    adapter: Any
    rendered_prompt: Rendered | None = None
    deadline: Deadline | None = None
    budget_tracker: BudgetTracker | None = None
    heartbeat: Heartbeat | None = None
    run_context: Any = None
    turns: ToolTurns = field(default_factory=ToolTurns)

    def as_dict(self) -> dict[str, Any]:
        """The keywords of `wink_tool_to_langgraph`."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


class WinkTool(LangChainTool):
    """One WINK tool. A failure is a ToolMessage of status "error", as its caller wants it."""

    call: Annotated[WinkCall, _AS_IS] = Field(exclude=True)
    handle_tool_error: Any = True

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        token = _call_id.set(kwargs.get("tool_call_id"))
        try:
            return super().run(tool_input, *args, **kwargs)
        finally:
            _call_id.reset(token)

    def _run(self, /, **arguments: Any) -> str:
        call_id = _call_id.get()
        text, success = self.call(arguments, call_id)
        if not success and call_id is not None:
            raise ToolException(text)  # LangChain sets the status by that
        return text


def wink_tool_to_langgraph(
    tool: Tool,
    *,
    session: Session,
    prompt: Prompt,
    adapter: Any,
    deadline: Deadline | None = None,
    budget_tracker: BudgetTracker | None = None,
    rendered_prompt: Rendered | None = None,
    heartbeat: Heartbeat | None = None,
    run_context: Any = None,
    turns: ToolTurns | None = None,
) -> LangChainTool:
    """The tool for a ToolNode or `bind_tools`; it must run within `with prompt.resources:`.

    Tools of one evaluation share `turns`.

    Raises:
        RuntimeError: weakincentives is not installed.
    """
    require_wink("wink_tool_to_langgraph")
    context = ToolExecutionContext(
        session=session,
        prompt=prompt,
        adapter=adapter,
        rendered_prompt=rendered_prompt,
        deadline=deadline,
        budget_tracker=budget_tracker,
        heartbeat=heartbeat,
        run_context=run_context,
        turns=turns or ToolTurns(),
    )
    descriptions = (
        {} if rendered_prompt is None else rendered_prompt.tool_param_descriptions.get(tool.name, {})
    )
    return WinkTool(
        name=tool.name,
        description=tool.description,
        args_schema=_schema(tool, descriptions),
        call=WinkCall(tool, context),
    )


def bind_wink_tools(
    llm: BaseChatModel, tools: Sequence[Tool], *, context: ToolExecutionContext, **kwargs: Any
) -> Runnable[LanguageModelInput, AIMessage]:
    """The model with the tools in every request; `kwargs` go to its `bind_tools`."""
    return llm.bind_tools([wink_tool_to_langgraph(tool, **context.as_dict()) for tool in tools], **kwargs)


def _schema(tool: Tool, descriptions: Mapping[str, str]) -> dict[str, Any]:
    """The arguments' JSON schema, with the prompt's own words for parameters."""
    schema: dict[str, Any] = dict(wink("adapters.tool_spec").tool_to_spec(tool)["function"]["parameters"])
    properties = dict(schema.get("properties") or {})
    for name, words in descriptions.items():
        if name in properties:
            properties[name] = {**properties[name], "description": words}
    return {**schema, "title": tool.name, "description": tool.description, "properties": properties}
