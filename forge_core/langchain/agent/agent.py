"""The agent: ask the model, run the tools it calls, tell it the results, until it is done."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, AgentEvent
from forge_core.langchain.agent.run import DEFAULT_RETRIES, AgentRun, FailedStep
from forge_core.langchain.agent.run_control import RunClock
from forge_core.langchain.callbacks.token_tracking import TokenTrackingCallback
from forge_core.langchain.memory.conversation import ConversationMemory
from forge_core.langchain.tools.adapters import LangChainToolAdapter, adapt_tools_for_forge
from forge_core.result import AgentResult, ToolCallRecord
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import ToolRegistry

NOTHING_TO_RETRY = "There is nothing to retry: the last turn did not end at a failed model call."


class CallWatch(Protocol):
    """Looks at the calls of one run, in their order."""

    def observe(self, record: ToolCallRecord) -> str | None:
        """A sentence for the person when the run goes round in circles."""


@dataclass(kw_only=True)
class ForgeAgent:
    """A tool-calling agent over any LangChain chat model.

    Tools may be Forge tools, LangChain tools and adapters mixed. One run at a time; the conversation lives in
    `memory` and is valid after every run, however it ended: each tool call has its result.

    Example:
        agent = ForgeAgent(llm=OpenRouterLLM(model="…"), tools=[ReadTool()])
        result = await agent.run("What does setup.py do?")
    """

    llm: BaseChatModel
    tools: Sequence[BaseTool | LangChainTool] = ()
    memory: ConversationMemory = field(default_factory=ConversationMemory)
    max_iterations: int = 10
    """Model calls per run."""
    timeout: float | None = 300.0
    """Seconds for a whole run, without the time spent waiting for the person; None: no limit."""
    iteration_timeout: float | None = None
    """Seconds for one model call with its tools."""
    max_retries: int | None = None
    """How often a model call that failed in a way that may pass is repeated, in mid-answer too; the retries
    that the model's client makes before the first token count. None: as often as `llm` itself says, else
    twice."""
    stop_tools: frozenset[str] = frozenset()
    """A run ends after a round in which one of these was called."""
    executor: ToolExecutor = field(default_factory=ToolExecutor)
    """Runs every tool. The default one checks no permission: the caller is the authority."""
    make_context: Callable[[], ExecutionContext] = ExecutionContext
    """Gives each call its context."""
    tracker: TokenTrackingCallback | None = None
    """Holds the totals that LLM_END carries; without one a run counts for itself."""
    callbacks: Sequence[BaseCallbackHandler] = ()
    make_watch: Callable[[], CallWatch] | None = None
    """Gives each run a watch, which ends it with "loop" when it says so; None: only `max_iterations` does."""
    go_on: Callable[[str], Awaitable[bool | str]] | None = None
    """Asks the person, with what is the matter, whether a run that loops or has reached `max_iterations`
    should go on; words of theirs go to the model, and the run goes on. None: it ends. The time that takes is
    not counted."""

    def __post_init__(self) -> None:
        if self.max_iterations < 1:
            raise ForgeError(f"max_iterations is {self.max_iterations}; at least one model call is needed.")
        self.last_result: AgentResult | None = None
        self.call_ids: set[str] = set()
        """Ids of all tool calls so far."""
        self._run: AgentRun | None = None
        self._failed: FailedStep | None = None
        self.set_tools(self.tools)

    def set_tools(self, tools: Sequence[BaseTool | LangChainTool]) -> None:
        """Replaces the tools from the next model call on. Raises ValueError when two have the same name."""
        self._registry = ToolRegistry(adapt_tools_for_forge(_unwrap(tools)))
        self._bound: Runnable[LanguageModelInput, AIMessage] | None = None

    def set_llm(self, llm: BaseChatModel) -> None:
        """Replaces the model from the next model call on."""
        self.llm = llm
        self._bound = None

    @property
    def clock(self) -> RunClock | None:
        """The running run's clock; pause it while a person is asked."""
        return self._run.clock if self._run else None

    @property
    def is_running(self) -> bool:
        return self._run is not None

    async def run(self, input: str, *, callbacks: list[BaseCallbackHandler] | None = None) -> AgentResult:  # noqa: A002
        """The whole run's result. A model's or tool's failure is told in it, not raised."""
        result: AgentResult | None = None
        async with aclosing(self.stream(input, callbacks=callbacks)) as events:
            async for event in events:
                if isinstance(event, AgentEnd):
                    result = event.result
        assert result is not None  # AGENT_END is always last
        return result

    async def stream(
        self,
        input: str,  # noqa: A002
        *,
        callbacks: list[BaseCallbackHandler] | None = None,
    ) -> AsyncGenerator[AgentEvent, None]:
        """The run as events, with the promises of `forge_core.events`.

        Raises:
            ForgeError: another run of this agent is going on.
        """
        async with aclosing(self._events(input, None, callbacks)) as events:
            async for event in events:
                yield event

    async def resume(
        self, *, callbacks: list[BaseCallbackHandler] | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Goes on with the last run at the model call that failed, as events like `stream`.

        The history is used as it is: no message is added and no tool call is run again.

        Raises:
            ForgeError: another run of this agent is going on, or the last one did not end so.
        """
        failed = self._failed
        if failed is None:
            raise ForgeError(NOTHING_TO_RETRY)
        async with aclosing(self._events(failed.text, failed, callbacks)) as events:
            async for event in events:
                yield event

    async def _events(
        self, text: str, resumed: FailedStep | None, callbacks: list[BaseCallbackHandler] | None
    ) -> AsyncGenerator[AgentEvent, None]:
        if self._run is not None:
            raise ForgeError("This agent is running already. Wait for the run to end, or interrupt it.")
        run = AgentRun(self, resumed)
        before = self._failed.partial if self._failed is not None and resumed is None else ""
        self._run, self._failed = run, None
        try:
            async with aclosing(run.events(text, self._callback_manager(callbacks), before=before)) as events:
                async for event in events:
                    yield event
        finally:
            self._run = None
            self.last_result = run.settle()
            self._failed = run.failed_step()

    def interrupt(self) -> None:
        """Asks the running run to end: it keeps what it has, closes its calls and ends with "cancelled"."""
        if self._run is not None:
            self._run.stop.set("cancelled")

    def reset(self) -> None:
        """Forgets the conversation; the system message stays."""
        self.memory.clear_history()
        self._failed = None

    @property
    def is_resumable(self) -> bool:
        """Whether the last run ended at a model call that failed, so that `resume` can go on from there."""
        return self._failed is not None and self._run is None

    @property
    def retries(self) -> int:
        """`max_retries`, worked out."""
        if self.max_retries is not None:
            return self.max_retries
        for owner in (getattr(self.llm, "client", None), self.llm):
            count = getattr(owner, "max_retries", None)
            if isinstance(count, int):
                return count
        return DEFAULT_RETRIES

    @property
    def registry(self) -> ToolRegistry:
        """The tools by name, LangChain ones in their adapters."""
        return self._registry

    def bound_llm(self) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with the tools bound; bound once."""
        if self._bound is None:
            definitions: Any = [tool.to_openai_schema() for tool in self._registry]
            self._bound = self.llm.bind_tools(definitions) if definitions else self.llm
        return self._bound

    def _callback_manager(self, callbacks: list[BaseCallbackHandler] | None) -> AsyncCallbackManager:
        return AsyncCallbackManager.configure(inheritable_callbacks=[*self.callbacks, *(callbacks or ())])


def warm_up() -> None:
    """Imports what LangChain leaves to the first run: a tenth of a second that an Enter would wait for."""
    AsyncCallbackManager.configure()
    convert_to_openai_tool({"type": "function", "function": {"name": "any"}})


def _unwrap(tools: Sequence[BaseTool | LangChainTool]) -> list[BaseTool | LangChainTool]:
    """Adapters of Forge tools opened again: the agent's own executor runs them."""
    return [tool.forge_tool if isinstance(tool, LangChainToolAdapter) else tool for tool in tools]
