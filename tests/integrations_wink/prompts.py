"""Prompts, tools and answers that the tests of the adapter share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr
from weakincentives.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolResult
from weakincentives.runtime import Session
from weakincentives.runtime.events import InProcessDispatcher, PromptExecuted, PromptRendered, ToolInvoked
from weakincentives.runtime.session import RenderedTools

TEXT = "Work out the sum."
EVENTS = (PromptRendered, RenderedTools, ToolInvoked, PromptExecuted)


class Model(BaseChatModel):
    """Plays AIMessages or errors, one per call, the last one again; each counts 10 tokens in and 5 out."""

    replies: list[Any] = Field(default_factory=list)
    model: str = "test/model"
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _kwargs: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def kwargs(self) -> list[dict[str, Any]]:
        return self._kwargs

    @property
    def _llm_type(self) -> str:
        return "played"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self._seen.append(list(messages))
        self._kwargs.append(kwargs)
        reply = self.replies[min(len(self._seen), len(self.replies)) - 1]
        if callable(reply):
            reply = reply()
        if isinstance(reply, BaseException):
            raise reply
        usage = UsageMetadata(input_tokens=10, output_tokens=5, total_tokens=15)
        message = reply.model_copy(update={"usage_metadata": usage, "id": None})
        return ChatResult(generations=[ChatGeneration(message=message)])


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": n, "args": a, "id": f"call_{i}"} for i, (n, a) in enumerate(wanted)]
    )


def says(text: str) -> AIMessage:
    return AIMessage(text)


@dataclass(frozen=True)
class Add:
    a: int
    b: int = field(default=1, metadata={"description": "second"})


@dataclass(frozen=True)
class Total:
    value: int

    def render(self) -> str:
        return f"total {self.value}"


@dataclass(frozen=True)
class Answer:
    answer: str
    confidence: float


class Handlers:
    """The handlers of one test; `contexts` holds the ToolContext of every call."""

    def __init__(self) -> None:
        self.contexts: list[Any] = []

    def add(self, params: Add, *, context: Any) -> ToolResult[Total]:
        self.contexts.append(context)
        return ToolResult.ok(Total(params.a + params.b))

    def store_then_fail(self, params: Add, *, context: Any) -> ToolResult[Total]:
        self.contexts.append(context)
        context.session[Total].append(Total(-1))
        return ToolResult.error("could not do it")

    def store_then_raise(self, params: Add, *, context: Any) -> ToolResult[Total]:
        self.contexts.append(context)
        context.session[Total].append(Total(-2))
        raise KeyError("broken")


def tool(name: str, handler: Any) -> Any:
    return Tool[Add, Total](name=name, description=f"Does {name}.", handler=handler)


def make_prompt(*tools: Any, output: Any = None, policies: tuple[Any, ...] = (), sections: Any = ()) -> Any:
    template: Any = PromptTemplate if output is None else PromptTemplate[output]
    section = MarkdownSection(title="Task", key="task", template=TEXT, tools=tools)
    return Prompt(
        template(ns="tests", key="sum", name="sum", sections=[section, *sections], policies=list(policies))
    )


def make_session() -> tuple[Any, list[Any]]:
    """A session and the list of its telemetry, in order."""
    dispatcher = InProcessDispatcher()
    session = Session(dispatcher=dispatcher)
    told: list[Any] = []
    for kind in EVENTS:
        dispatcher.subscribe(kind, told.append)
    return session, told


def names(told: list[Any]) -> list[str]:
    return [type(event).__name__ for event in told]
