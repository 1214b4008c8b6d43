"""The agent: a model and its tools, called in turn until the model has answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool as LangChainTool

from forge_core.errors import ForgeError
from forge_core.events import AgentEvent
from forge_core.langchain.agent.agent_run import AgentRun
from forge_core.langchain.agent.event_queue import EventSink, NoReader, read_events
from forge_core.langchain.agent.run_control import RunClock
from forge_core.langchain.agent.run_record import CallWatch, FailedStep
from forge_core.langchain.agent.steering import Steering
from forge_core.langchain.callbacks.token_tracking import TokenTrackingCallback
from forge_core.langchain.memory.conversation import ConversationMemory
from forge_core.langchain.tools.adapters import LangChainToolAdapter, adapt_tools_for_forge
from forge_core.llm.models import Message, UserContent
from forge_core.result import AgentResult
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import ToolRegistry

DEFAULT_RETRIES = 2
NOTHING_TO_RETRY = "There is nothing to retry: the last turn did not end at a failed model call."


@dataclass(kw_only=True)
class ForgeAgent:
    """A tool-calling agent over any LangChain chat model.

    `tools` may mix Forge tools, LangChain tools and adapters. An agent does one run at a time. `memory` keeps
    the conversation and is valid after every run, however it ended: each tool call has its result.

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
    """Seconds for a whole run, without the time spent waiting for the user; None: no limit."""
    iteration_timeout: float | None = None
    """Seconds for one model call with its tools."""
    max_retries: int | None = None
    """How often a model call that failed in a way that may pass is repeated, even if part of the answer had
    arrived. Retries that the client makes before the first token count too. None: the `max_retries` of `llm`,
    else 2."""
    stop_tools: frozenset[str] = frozenset()
    """A run ends after a step in which one of these tools was called."""
    executor: ToolExecutor = field(default_factory=ToolExecutor)
    """Runs every tool. The default one checks no permission: the caller is the authority."""
    make_context: Callable[[], ExecutionContext] = ExecutionContext
    """Returns the context of one tool call."""
    tracker: TokenTrackingCallback | None = None
    """Holds the totals that LLM_END carries; without one each run counts its own usage."""
    callbacks: Sequence[BaseCallbackHandler] = ()
    make_watch: Callable[[ToolRegistry], CallWatch] | None = None
    """Returns the watch of one run, which can end it with "loop"; None: only `max_iterations` ends it."""
    may_continue: Callable[[str], Awaitable[bool | str]] | None = None
    """Asks the user whether a run that repeats itself or has reached `max_iterations` should continue; the
    argument is the reason. Returned text is sent to the model, and the run continues. None: the run ends."""
    clock: RunClock = field(default_factory=RunClock)
    """Counts the time of runs; whoever waits for the user pauses it."""
    on_message: Callable[[Message], None] | None = None
    """Called with each message as soon as it is in the history."""
    fit_window: Callable[[EventSink, bool], Coroutine[None, None, bool]] | None = None
    """Called before each model call, and with True where it was too long; returns whether it is shorter."""
    before_end: Callable[[str], Coroutine[None, None, str]] | None = None
    """Called with each answer that would end a run; a text that it returns is sent to the model, and the run
    continues."""
    before_call: Callable[[], str] | None = None
    """Called before each step's model call; a text that it returns is sent to the model with it."""

    def __post_init__(self) -> None:
        if self.max_iterations < 1:
            raise ForgeError(f"max_iterations is {self.max_iterations}; at least one model call is needed.")
        self.last_result: AgentResult | None = None
        self.steering = Steering()
        """Messages for the run in progress, which takes them at its next model call."""
        self.call_ids: set[str] = set()
        """Ids of all tool calls so far."""
        self._run: AgentRun | None = None
        self._failed: FailedStep | None = None
        self.set_tools(self.tools)

    def set_tools(self, tools: Sequence[BaseTool | LangChainTool], deferred: Sequence[BaseTool] = ()) -> None:
        """Replace the tools from the next model call on. Raises ValueError when two have the same name.

        `deferred` tools can be called by name, but their definitions are not sent to the model.
        """
        # The agent's own executor runs Forge tools, so adapters around them are removed.
        inner = [tool.forge_tool if isinstance(tool, LangChainToolAdapter) else tool for tool in tools]
        self._all_tools = [*ToolRegistry(adapt_tools_for_forge(inner))]
        self._all_deferred = [*deferred]
        self._offer(self._offered())

    def update_offered_tools(self) -> None:
        """Offer the model, from its next call on, the tools that are of use now (`BaseTool.is_offered`)."""
        registry = self._offered()
        if [*registry] != [*self._registry] or registry.deferred != self._registry.deferred:
            self._offer(registry)

    def _offered(self) -> ToolRegistry:
        context = self.make_context()
        return ToolRegistry(
            (tool for tool in self._all_tools if tool.is_offered(context)),
            deferred=(tool for tool in self._all_deferred if tool.is_offered(context)),
        )

    def _offer(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._bound: Runnable[LanguageModelInput, AIMessage] | None = None

    def set_llm(self, llm: BaseChatModel) -> None:
        """Replace the model from the next model call on."""
        self.llm = llm
        self._bound = None

    async def run(self, input: str, *, callbacks: list[BaseCallbackHandler] | None = None) -> AgentResult:  # noqa: A002
        """Run to the end and return the result. A failure of the model or a tool is in it, not raised.

        Raises:
            ForgeError: another run of this agent is in progress.
        """
        await self.execute(input, NoReader(), callbacks=callbacks)
        assert self.last_result is not None  # set by `execute`
        return self.last_result

    def stream(
        self,
        input: str,  # noqa: A002
        *,
        callbacks: list[BaseCallbackHandler] | None = None,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Run and yield the events, with the promises of `forge_core.events`.

        Raises:
            ForgeError: another run of this agent is in progress.
        """
        return read_events(partial(self.execute, input, callbacks=callbacks))

    def resume(
        self, *, callbacks: list[BaseCallbackHandler] | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Resume the last run at the model call that failed, and yield events as `stream` does.

        No message is added to the history and no tool call is repeated.

        Raises:
            ForgeError: another run of this agent is in progress, or there is nothing to resume.
        """
        return read_events(partial(self.execute, None, callbacks=callbacks))

    async def execute(
        self,
        input: UserContent | None,  # noqa: A002
        events: EventSink,
        *,
        callbacks: Sequence[BaseCallbackHandler] | None = None,
    ) -> None:
        """Run, and emit to `events` what `stream` yields; `input` may be content parts, with images.

        With None as `input` the last run resumes at the model call that failed: no message is added to the
        history and no tool call is repeated.

        Raises:
            ForgeError: another run is in progress, or there is nothing to resume.
        """
        if self._run is not None:
            raise ForgeError("This agent is already running. Wait for the run to end, or interrupt it.")
        failed = self._failed
        if input is None and failed is None:
            raise ForgeError(NOTHING_TO_RETRY)
        manager = AsyncCallbackManager.configure(inheritable_callbacks=[*self.callbacks, *(callbacks or ())])
        self._run = run = AgentRun(self, events, failed if input is None else None)
        try:
            if input is not None:
                await run.execute(input, manager, partial=failed.partial if failed is not None else "")
            elif failed is not None:
                await run.execute(failed.text, manager)
        finally:
            # No await here: memory and result are complete before another run can begin, also after a hard
            # cancel.
            self._run = None
            self.steering.clear()
            self.last_result = run.settle()
            self._failed = run.failed_step()

    def interrupt(self) -> None:
        """Ask the run to end: it keeps what it has, closes its calls and ends with "cancelled"."""
        if self._run is not None:
            self._run.stop.set("cancelled")

    def reset(self) -> None:
        """Clear the conversation; the system message stays."""
        self.memory.clear_history()
        self._failed = None

    @property
    def is_running(self) -> bool:
        return self._run is not None

    @property
    def is_resumable(self) -> bool:
        """Whether the last run ended at a model call that failed, so that a run can resume there."""
        return self._failed is not None and self._run is None

    @property
    def retries(self) -> int:
        """The effective `max_retries`."""
        if self.max_retries is not None:
            return self.max_retries
        for owner in (getattr(self.llm, "client", None), self.llm):
            count = getattr(owner, "max_retries", None)
            if isinstance(count, int):
                return count
        return DEFAULT_RETRIES

    @property
    def registry(self) -> ToolRegistry:
        """The tools that the model is offered by name, LangChain ones in their adapters."""
        return self._registry

    @property
    def model_name(self) -> str:
        """The configured model; empty when `llm` does not name one."""
        return str(getattr(self.llm, "model", None) or getattr(self.llm, "model_name", None) or "")

    def bound_llm(self) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with the tools bound; they are bound once."""
        if self._bound is None:
            definitions: Any = [tool.to_openai_schema() for tool in self._registry]
            self._bound = self.llm.bind_tools(definitions) if definitions else self.llm
        return self._bound

    def new_watch(self) -> CallWatch | None:
        return self.make_watch(self.registry) if self.make_watch is not None else None
