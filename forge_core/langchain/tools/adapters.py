"""Tools both ways: Forge's where LangChain wants its own kind, LangChain's where Forge does."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Annotated, Any, TypeVar

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.utils.pydantic import TypeBaseModel
from pydantic import BaseModel, Field, GetPydanticSchema, ValidationError
from pydantic.v1 import ValidationError as ValidationErrorV1
from pydantic_core import core_schema

from forge_core.approval import Effect
from forge_core.langchain.tools.schema import arguments_model, field_name, parameters_of
from forge_core.llm.http.wire import new_call_id
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult, ToolUse
from forge_core.tools.executor import ToolExecutor

__all__ = [
    "ForgeToolAdapter",
    "LangChainToolAdapter",
    "adapt_tools_for_forge",
    "adapt_tools_for_langchain",
]

_AS_IS = GetPydanticSchema(lambda source, handler: core_schema.any_schema())
"""Keeps pydantic from looking into our own types, or copying them."""

_invoked_as: ContextVar[str | None] = ContextVar("forge_invoked_as", default=None)
"""The id of the call whose `run` or `arun` is about to enter `_run` or `_arun`; None in direct calls."""


class LangChainToolAdapter(LangChainTool):
    """A Forge tool as a LangChain tool. Every call goes through `executor`.

    A failure is text that begins with "Error:"; called with a LangChain tool call the answer is a
    ToolMessage of status "error". Arguments that the schema refuses fail in the same way and run nothing.

    `invoke` works inside a running event loop too, but it blocks that loop: where the executor's
    approver needs the loop (a prompt on a screen), use `ainvoke`.

    Example:
        tool = LangChainToolAdapter(forge_tool=ReadTool())
        text = tool.invoke({"file_path": "setup.py"})
    """

    name: str = ""
    description: str = ""
    forge_tool: Annotated[BaseTool, _AS_IS] = Field(exclude=True)
    executor: Annotated[ToolExecutor, _AS_IS] = Field(default_factory=ToolExecutor, exclude=True)
    """The default one checks no permission: the caller is the authority."""
    context: Annotated[ExecutionContext, _AS_IS] = Field(default_factory=ExecutionContext, exclude=True)
    """What the calls share; each gets a copy with a unique id. The default is the current directory."""

    def __init__(self, **fields: Any) -> None:
        fields = {name: value for name, value in fields.items() if value is not None}
        tool: BaseTool | None = fields.get("forge_tool")
        if tool is not None:
            fields.setdefault("name", tool.name)
            fields.setdefault("description", tool.description)
            fields.setdefault("args_schema", _arguments_schema(tool))
        fields.setdefault("handle_tool_error", True)
        fields.setdefault("handle_validation_error", _refusal)
        super().__init__(**fields)

    @property
    def tool_call_schema(self) -> TypeBaseModel | dict[str, Any]:
        """The arguments' model itself: LangChain would build a copy that loses the nested schemas."""
        return self.args_schema if self.args_schema is not None else super().tool_call_schema

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        token = _invoked_as.set(kwargs.get("tool_call_id") or new_call_id())
        try:
            return super().run(tool_input, *args, **kwargs)
        finally:
            _invoked_as.reset(token)

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        token = _invoked_as.set(kwargs.get("tool_call_id") or new_call_id())
        try:
            return await super().arun(tool_input, *args, **kwargs)
        finally:
            _invoked_as.reset(token)

    def _run(self, /, *args: Any, **kwargs: Any) -> str:
        call_id = _taken_call_id()
        return self._text_for(run_blocking(lambda: self._execute(call_id, args, kwargs)), call_id)

    async def _arun(self, /, *args: Any, **kwargs: Any) -> str:
        call_id = _taken_call_id()
        return self._text_for(await self._execute(call_id, args, kwargs), call_id)

    async def _execute(
        self, call_id: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ToolResult:
        context = dataclasses.replace(self.context, call_id=call_id or new_call_id(), waited_s=0.0)
        return await self.executor.execute(self.forge_tool, self._parameters(args, kwargs), context)

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the call's arguments under their own names, without optional ones that were not given."""
        if self.forge_tool.checks_own_arguments:
            return kwargs
        schema = self.forge_tool.json_schema()
        properties, required = schema.get("properties") or {}, set(schema.get("required") or ())
        original = {field_name(name): name for name in properties}
        given = {**dict(zip(properties, args, strict=False)), **kwargs}
        named = {original.get(name, name): value for name, value in given.items()}
        return {
            name: value
            for name, value in named.items()
            if value is not None or name in required or name not in properties
        }

    def _text_for(self, result: ToolResult, call_id: str | None) -> str:
        """Return the text for the model. Inside `run` a failure is raised: LangChain sets the status by
        it."""
        if not result.success and call_id is not None:
            raise ToolException(result.for_model())
        return result.for_model()


def adapt_tools_for_langchain(
    tools: Sequence[BaseTool | LangChainTool],
    executor: ToolExecutor | None = None,
    context: ExecutionContext | None = None,
) -> list[LangChainTool]:
    """Forge tools in adapters that share executor and context, LangChain tools as they are; order is kept.

    Raises:
        TypeError: an entry is neither.
    """
    shared = {"executor": executor or ToolExecutor(), "context": context or ExecutionContext()}
    return [
        tool if isinstance(tool, LangChainTool) else LangChainToolAdapter(forge_tool=_checked(tool), **shared)
        for tool in tools
    ]


def adapt_tools_for_forge(tools: Sequence[BaseTool | LangChainTool]) -> list[BaseTool]:
    """LangChain tools in adapters, in the same order; Forge tools as they are.

    Raises:
        TypeError: an entry is neither.
    """
    return [
        ForgeToolAdapter(langchain_tool=tool) if isinstance(tool, LangChainTool) else _checked(tool)
        for tool in tools
    ]


def _checked(tool: object) -> BaseTool:
    if isinstance(tool, BaseTool):
        return tool
    raise TypeError(
        f"Neither a Forge nor a LangChain tool: {tool!r}. "
        "Turn a function into one with langchain_core.tools.tool."
    )


def _taken_call_id() -> str | None:
    """Return the id under which LangChain runs this call; only once, so that calls which the tool makes
    itself do not get it."""
    call_id = _invoked_as.get()
    _invoked_as.set(None)
    return call_id


def _arguments_schema(tool: BaseTool) -> type[BaseModel] | dict[str, Any]:
    """Return what LangChain checks arguments by. A tool that checks them itself gives its schema, which it
    only passes on: no model can hold every schema."""
    schema = tool.json_schema()
    if tool.checks_own_arguments:
        return {**schema, "title": tool.name, "description": tool.description}
    return arguments_model(tool.name, tool.description, schema)


def _refusal(error: ValidationError | ValidationErrorV1) -> str:
    problems = "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'arguments'}: {problem['msg']}"
        for problem in error.errors()
    )
    return f"Error: invalid arguments, so nothing was run: {problems}"


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
        """Return the tool's own schema, nested parts kept."""
        return copy.deepcopy(self._schema)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        shown = ", ".join(f"{name}={value!r}" for name, value in params.items())
        return ToolUse(self.effect, target=f"{self.name}({shown})"[:SHOWN_CHARS])

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        call_id = context.call_id or new_call_id()
        call = {"type": "tool_call", "id": call_id, "name": self.name, "args": dict(params)}
        try:
            answer = await self.langchain_tool.ainvoke(call)
        except ToolException as error:
            return ToolResult(False, error=str(error) or "the tool failed")
        except Exception as error:  # a tool's run is a border: foreign code's failure becomes a value
            return ToolResult(False, error=f"{type(error).__name__}: {error}")
        return _result(answer)


def _schema_of(tool: LangChainTool) -> dict[str, Any]:
    """Return the schema that LangChain would send to a model, whichever of its four kinds the tool has."""
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


T = TypeVar("T")


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `work()`, in a loop of its own; where a loop runs already, in a thread of its own.

    The running loop is blocked meanwhile, so `work` must not wait for anything that happens on it (an answer
    on a screen): such callers await instead. Context variables are those of the caller.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="forge-blocking") as pool:
        return pool.submit(context.run, lambda: asyncio.run(work())).result()
