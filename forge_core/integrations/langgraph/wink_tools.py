"""WINK's tools as LangChain tools: arguments parsed, policies checked, each call a transaction, reported to
the session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import ToolException
from pydantic import Field, GetPydanticSchema
from pydantic_core import core_schema

from forge_core.integrations.langgraph.requirements import require_wink
from forge_core.integrations.langgraph.wink_types import prompt_name, session_id, wink

if TYPE_CHECKING:
    from weakincentives import BudgetTracker, Deadline
    from weakincentives.prompt import Prompt, RenderedPrompt, Tool
    from weakincentives.runtime import Heartbeat, RunContext, Session

_AS_IS = GetPydanticSchema(lambda source, handler: core_schema.any_schema())

_call_id: ContextVar[str | None] = ContextVar("forge_wink_call_id", default=None)


_SHOWN_CHARS = 1_000
"""Of the output in a ToolInvoked event."""


@dataclass(slots=True)
class ToolTurns:
    """What the tools of one evaluation share."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    """One handler at a time: a failed one is undone by a snapshot of the whole session."""
    escape: BaseException | None = None
    """What a handler raised to leave the evaluation with; no other handler runs after it."""
    invoked: int = 0
    """Handlers that were called."""


class EvaluationArguments(TypedDict, total=False):
    """What WINK's own adapters take beside the prompt, the session and a budget."""

    deadline: Deadline | None
    budget_tracker: BudgetTracker | None
    heartbeat: Heartbeat | None
    run_context: RunContext | None


@dataclass(slots=True, kw_only=True)
class ToolExecutionContext:
    """What a handler's ToolContext is made of. A resumed evaluation replaces deadline and heartbeat."""

    session: Session
    prompt: Prompt
    adapter: Any
    rendered_prompt: RenderedPrompt | None = None
    deadline: Deadline | None = None
    budget_tracker: BudgetTracker | None = None
    heartbeat: Heartbeat | None = None
    run_context: RunContext | None = None
    turns: ToolTurns = field(default_factory=ToolTurns)

    def dispatch(self, event: Callable[..., Any], **fields: Any) -> None:
        """Create an event with the session's id and the present time, and dispatch it to the session."""
        now = wink("clock").SYSTEM_CLOCK.utcnow()
        self.session.dispatcher.dispatch(event(session_id=session_id(self.session), created_at=now, **fields))


class WinkCall:
    """Calls one tool's handler. Does what `weakincentives` 0.27 does for its own adapters:
    session and resources are restored when the handler fails, raises or is denied; a denial and a result are
    reported with ToolInvoked; arguments that do not fit never reach the handler."""

    def __init__(self, tool: Tool, context: ToolExecutionContext) -> None:
        self._tool = tool
        self._context = context

    def __call__(self, arguments: Mapping[str, Any], call_id: str | None) -> tuple[str, bool]:
        """Return the text for the model, and whether the call went well.

        Raises:
            VisibilityExpansionRequired: the handler asks for another rendering of the prompt.
        """
        context = self._context
        with context.turns.lock:
            if context.turns.escape is not None:
                return "Not run: the prompt is about to be rendered again.", False
            self._beat()
            try:
                return self._transaction(dict(arguments), call_id)
            finally:
                self._beat()

    def _transaction(self, arguments: dict[str, Any], call_id: str | None) -> tuple[str, bool]:
        if self._tool.handler is None:
            return f"Error: the tool {self._tool.name!r} has no handler.", False
        transactions = wink("runtime.transactions")
        resources = self._context.prompt.resources.context
        try:
            with transactions.tool_transaction(
                self._context.session, resources, tag=f"tool:{self._tool.name}"
            ) as snapshot:
                result = self._judged(arguments)
                if not result.success:
                    transactions.restore_snapshot(self._context.session, resources, snapshot)
                text = _text(result)
                self._report(arguments, result, text, call_id)
                return text, result.success
        except wink("prompt.errors").VisibilityExpansionRequired as asked:
            self._context.turns.escape = asked
            raise
        except wink("errors").RestoreFailedError:
            raise  # the session is in an unknown state: nothing may go on
        except (TypeError, ValueError) as error:
            return f"Validation error: {error}", False
        except Exception as error:  # foreign code: a handler's failure is reported to the model
            if any(base.__name__ == "GraphBubbleUp" for base in type(error).__mro__):
                raise  # LangGraph's: interrupt() in a handler pauses the graph
            return f"Error: {error}", False

    def _judged(self, arguments: dict[str, Any]) -> Any:
        """Return the handler's ToolResult, or the failure of a policy that denies the call."""
        tool, context = self._tool, self._tool_context()
        params = self._parsed(arguments)
        policies = self._context.prompt.policies_for_tool(tool.name)
        for policy in policies:
            decision = policy.check(tool, params, context=context)
            if not decision.allowed:
                reason = decision.reason or "Denied by policy."
                return wink("prompt.tool_result").ToolResult.error(reason)
        self._context.turns.invoked += 1
        assert tool.handler is not None
        result = tool.handler(params, context=context)
        if result.success:
            for policy in policies:
                policy.on_result(tool, params, result, context=context)
        return result

    def _parsed(self, arguments: dict[str, Any]) -> Any:
        """Return the handler's params. Raises TypeError or ValueError where they do not fit."""
        params_type = self._tool.params_type
        if params_type is type(None):
            if arguments:
                raise ValueError(f"{self._tool.name} takes no arguments, not {sorted(arguments)}.")
            return None
        return wink("serde").parse(params_type, arguments, extra="forbid", coerce=False)

    def _tool_context(self) -> Any:
        context = self._context
        return wink("prompt.tool").ToolContext(
            prompt=context.prompt,
            rendered_prompt=context.rendered_prompt,
            adapter=context.adapter,
            session=context.session,
            deadline=context.deadline,
            heartbeat=context.heartbeat,
            run_context=context.run_context,
        )

    def _report(self, arguments: dict[str, Any], result: Any, text: str, call_id: str | None) -> None:
        context = self._context
        context.dispatch(
            wink("runtime.events").ToolInvoked,
            prompt_name=prompt_name(context.prompt),
            adapter=context.adapter.adapter_name,
            name=self._tool.name,
            params=arguments,
            result=result,
            rendered_output=text[:_SHOWN_CHARS],
            call_id=call_id,
            run_context=context.run_context,
        )

    def _beat(self) -> None:
        if self._context.heartbeat is not None:
            self._context.heartbeat.beat()


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
    rendered_prompt: RenderedPrompt | None = None,
    turns: ToolTurns | None = None,
    **arguments: Unpack[EvaluationArguments],
) -> LangChainTool:
    """Return the tool for a ToolNode or `bind_tools`; it must run within `with prompt.resources:`.

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
        turns=turns or ToolTurns(),
        **arguments,
    )
    return bound_tool(tool, context)


def bind_wink_tools(
    llm: BaseChatModel, tools: Sequence[Tool], *, context: ToolExecutionContext, **kwargs: Any
) -> Runnable[LanguageModelInput, AIMessage]:
    """Return the model with the tools in every request; `kwargs` go to its `bind_tools`."""
    require_wink("bind_wink_tools")
    return llm.bind_tools([bound_tool(tool, context) for tool in tools], **kwargs)


def bound_tool(tool: Tool, context: ToolExecutionContext) -> WinkTool:
    """Return the tool for LangGraph, its handler called in `context`."""
    rendered = context.rendered_prompt
    descriptions = {} if rendered is None else rendered.tool_param_descriptions.get(tool.name, {})
    return WinkTool(
        name=tool.name,
        description=tool.description,
        args_schema=_schema(tool, descriptions),
        call=WinkCall(tool, context),
    )


def _schema(tool: Tool, descriptions: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments' JSON schema, with the prompt's own descriptions of parameters."""
    schema: dict[str, Any] = dict(wink("adapters.tool_spec").tool_to_spec(tool)["function"]["parameters"])
    properties = {
        name: {**about, "description": descriptions[name]} if name in descriptions else about
        for name, about in (schema.get("properties") or {}).items()
    }
    return {**schema, "title": tool.name, "description": tool.description, "properties": properties}


def _text(result: Any) -> str:
    if result.exclude_value_from_context:
        return str(result.message)
    return str(result.render() or result.message)
