"""The agent: a model and its tools, called in turn until the model has answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    BaseCallbackHandler,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool as LangChainTool

from forge_core.errors import ContextLengthError, ForgeError, ProviderError
from forge_core.events import AgentEnd, AgentEvent, LLMEnd, LLMStart, Retry
from forge_core.langchain.agent.event_queue import EventSink, NoReader, read_events
from forge_core.langchain.agent.model_call import (
    ModelCall,
    finish_reason_of,
    model_of,
    stopped_reason_for,
    usage_of,
)
from forge_core.langchain.agent.run_control import Deadline, RunClock, StopSignal
from forge_core.langchain.agent.run_record import CallWatch, FailedStep, RunRecord, error_event, error_text
from forge_core.langchain.agent.tool_calls import (
    PendingCall,
    ToolRound,
    not_run,
    pending_calls,
    result_message,
)
from forge_core.langchain.callbacks.token_tracking import TokenTrackingCallback
from forge_core.langchain.memory.conversation import ConversationMemory
from forge_core.langchain.messages.conversion import langchain_to_forge
from forge_core.langchain.tools.adapters import LangChainToolAdapter, adapt_tools_for_forge
from forge_core.llm.http.retry import RetryCount
from forge_core.llm.models import Message, TokenUsage
from forge_core.result import AgentResult
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.executor import ToolExecutor, cancel_and_wait, wait_for_first
from forge_core.tools.registry import ToolRegistry

DEFAULT_RETRIES = 2
EMPTY_ANSWER = "The model sent an empty answer."
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
        """Replace the tools from the next model call on. Raises ValueError when two have the same name."""
        # The agent's own executor runs Forge tools, so adapters around them are removed.
        inner = [tool.forge_tool if isinstance(tool, LangChainToolAdapter) else tool for tool in tools]
        self._registry = ToolRegistry(adapt_tools_for_forge(inner))
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
        input: str | None,  # noqa: A002
        events: EventSink,
        *,
        callbacks: Sequence[BaseCallbackHandler] | None = None,
    ) -> None:
        """Run, and emit to `events` what `stream` yields.

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
        """The tools by name, LangChain ones in their adapters."""
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


class AgentRun:
    """One run of an agent: asks the model and runs the tools it calls, until a reason to stop is set.

    A step is one model call with its tools. A model call that fails in a way that may pass is repeated here,
    even when it failed in the middle of the answer: only the run knows that nothing of a broken answer has
    been acted upon. The repetition does not count as another iteration.

    `execute()` runs once; `settle()` returns the result and leaves the memory valid, whatever happened.
    """

    def __init__(self, agent: ForgeAgent, events: EventSink, resumed: FailedStep | None = None) -> None:
        self.stop = StopSignal()
        self._agent = agent
        self._events = events
        self._resumed = resumed
        self._text = ""
        self._limit = agent.max_iterations if resumed is None else resumed.limit
        self._watch = agent.new_watch() if resumed is None else resumed.watch
        self._loop_found: str | None = None
        # The step that failed was counted already, and its repetition counts it again.
        iterations = 0 if resumed is None else resumed.iteration - 1
        self._record = RunRecord(agent.memory, iterations, agent.on_message)
        self._result: AgentResult | None = None
        # The current step.
        self._call: ModelCall | None = None
        self._open_calls: list[PendingCall] = []
        self._is_last_round_denied = False
        self._is_step_open = resumed is not None
        """Whether the last model call failed and none has brought anything since."""
        self._partial = "" if resumed is None else resumed.partial
        """The last partial answer of the step's failed model calls."""

    async def execute(self, text: str, manager: AsyncCallbackManager, *, partial: str = "") -> None:
        """Run on `text`; a run that resumes adds nothing to the history.

        `partial`: the partial answer of a model call that failed before, which `text` may refer to.
        """
        self._text = text
        if partial.strip():
            self._record.add(Message.assistant(partial, partial=True))
        if self._resumed is None:
            self._record.add(Message.user(text))
        chain = await manager.on_chain_start({"name": "ForgeAgent"}, {"input": text}, name="ForgeAgent")
        try:
            with self._deadline(self._agent.timeout):
                while self._record.reason is None and await self._may_step():
                    with self._deadline(self._agent.iteration_timeout):
                        await self._step(chain)
                    await self._check_progress()
        except BaseException as error:  # a hard cancel: nothing more is emitted, but the chain gets its end
            await chain.on_chain_error(error)
            raise
        result = self.settle()
        if self._record.error is not None:
            self._events.emit(error_event(self._record.error))
            await chain.on_chain_error(self._record.error)
        else:
            await chain.on_chain_end({"output": result.output, "stopped_reason": result.stopped_reason})
        self._events.emit(AgentEnd(result=result))

    async def _may_step(self) -> bool:
        """Return whether another model call may be made; at the limit, ask the user."""
        if self._record.iterations < self._limit:
            return True
        if await self._may_continue(
            f"{self._record.iterations} model calls were made for this request, the limit."
        ):
            self._limit += self._agent.max_iterations
            return True
        self._record.reason = self.stop.reason or "max_iterations"
        return False

    async def _step(self, chain: AsyncCallbackManagerForChainRun) -> None:
        self._record.iterations += 1
        await self._query(chain)
        if self._open_calls:
            await self._run_tools(chain)

    async def _check_progress(self) -> None:
        """Stop the run where it was asked to stop, or where it repeats itself and the user agrees."""
        self._record.reason = self._record.reason or self.stop.reason
        found, self._loop_found = self._loop_found, None
        if found is None or self._record.reason is not None:
            return
        if await self._may_continue(found):
            self._watch = self._agent.new_watch()
        else:
            self._record.reason, self._record.warning = self.stop.reason or "loop", f"{found} Stopped there."

    async def _may_continue(self, question: str) -> bool:
        """Return the user's answer; False when no user can be asked, or an interrupt comes first."""
        if self._agent.may_continue is None:
            return False
        asking = asyncio.ensure_future(self._agent.may_continue(question))
        try:
            with self._agent.clock.paused():
                came = await wait_for_first(asking, self.stop.event)
            if came != "done" or asking.cancelled() or asking.exception():
                return False
            answer = asking.result()
        finally:
            await cancel_and_wait(asking)
        if answer and isinstance(answer, str):
            self._record.add(Message.user(answer, within_turn=True))
        return bool(answer)

    async def _query(self, chain: AsyncCallbackManagerForChainRun) -> None:
        """Ask the model; again after failures that may pass, and once more where a shorter history helps."""
        retries, is_shortened = RetryCount(), False
        await self._fit_window()
        while True:
            if (retry := await self._attempt(chain, retries)) is not None:
                self._events.emit(retry)
                if await self.stop.sleep(retry.wait_s):
                    continue
                self._record.reason, self._record.output = self.stop.reason, self._partial
                return
            is_too_long = isinstance(self._record.error, ContextLengthError) and not is_shortened
            if not is_too_long or not await self._fit_window(has_overflowed=True):
                return
            is_shortened, self._record.error, self._record.reason = True, None, None

    async def _fit_window(self, *, has_overflowed: bool = False) -> bool:
        """Return whether the history was made shorter; an interrupt cancels that."""
        fit = self._agent.fit_window
        return fit is not None and bool(await self.stop.result_of(fit(self._events, has_overflowed)))

    async def _attempt(self, chain: AsyncCallbackManagerForChainRun, retries: RetryCount) -> Retry | None:
        """Make one model call; return the retry to make when it failed."""
        model = self._agent.model_name
        self._events.emit(LLMStart(iteration=self._record.iterations, model=model))
        await self.stop.ends(self._events.ready())
        history = self._agent.memory.to_langchain_messages()
        self._call = ModelCall(self._agent.bound_llm(), history, chain.get_child(), self.stop, retries)
        await self._call.stream(self._events)
        # A hard cancel does not get here: `_call` stays set, and `settle` stores what it had brought.
        call, self._call = self._call, None
        message: AIMessage | None = None
        retry: Retry | None = None
        if call.error is not None:
            retry = self._fail(call, call.error, retries)
        elif call.stopped:
            self._keep_partial(call)
        else:
            message = self._keep_answer(call)
        usage = self._count(usage_of(message, history, call), model_of(message) or model)
        self._events.emit(
            LLMEnd(
                usage=usage,
                cost_usd=usage.cost_usd,
                finish_reason=self._record.finish_reason,
                duration_s=call.duration_s,
                total_usage=self._total_usage(usage, is_cut=message is None),
                model=model_of(message) or model,
            )
        )
        return retry

    def _fail(self, call: ModelCall, error: Exception, retries: RetryCount) -> Retry | None:
        """Return the retry, or end the run at this step. Nothing of the answer goes into the memory."""
        self._record.finish_reason = None
        self._is_step_open = True
        self._partial = call.text or self._partial
        limit = self._agent.retries
        wait_s = retries.next_wait(error, limit) if isinstance(error, ProviderError) else None
        if wait_s is None:
            self._record.fail(error, self._partial)
            return None
        return Retry.of(
            error_text(error), attempt=retries.done, max_retries=limit, wait_s=wait_s, discards_answer=True
        )

    def _keep_answer(self, call: ModelCall) -> AIMessage:
        message = call.message(self._agent.call_ids)
        self._is_step_open, self._partial = False, ""
        self._record.finish_reason = finish_reason_of(message)
        self._record.output = call.text
        self._open_calls = pending_calls(message)
        if self._open_calls or self._record.output.strip():
            self._record.add(langchain_to_forge(message))
        else:  # some providers refuse a history with an empty answer, from then on
            self._record.warning = EMPTY_ANSWER
        if not self._open_calls:
            done = stopped_reason_for(self._record.finish_reason)
            self._record.reason = "denied" if done == "complete" and self._is_last_round_denied else done
        return message

    def _keep_partial(self, call: ModelCall) -> None:
        """After an interrupt, keep partial text and mark it; drop an empty answer and half tool calls."""
        self._record.output = call.text
        self._record.finish_reason = None
        self._record.reason = self.stop.reason
        if call.text.strip():
            self._is_step_open, self._partial = False, ""
            self._record.add(Message.assistant(call.text, partial=True))

    def _count(self, usage: TokenUsage, model: str) -> TokenUsage:
        tracker = self._agent.tracker
        priced = usage if tracker is None else tracker.priced(usage, model)
        self._record.usage += priced
        return priced

    def _total_usage(self, usage: TokenUsage, *, is_cut: bool) -> TokenUsage:
        tracker = self._agent.tracker
        if tracker is None:
            return self._record.usage
        if is_cut and usage.total_tokens:  # LangChain reports it as on_llm_error, which no tracker counts
            tracker.add_estimate(usage, self._agent.model_name)
        return tracker.get_usage()

    async def _run_tools(self, chain: AsyncCallbackManagerForChainRun) -> None:
        agent = self._agent
        await self.stop.ends(self._events.ready())
        tools = ToolRound(
            self._open_calls,
            agent.registry,
            agent.executor,
            agent.make_context,
            chain,
            self.stop,
            self._events.emit,
        )
        try:
            await tools.run()
        finally:
            # Also after a hard cancel every call in the memory gets its result; `settle` finds none left
            # open.
            self._record.add_results(tools.records(), tools.messages())
            self._open_calls = []
        records = tools.records()
        self._is_last_round_denied = len(tools.denied) == len(records)
        if self._watch is not None:
            reports = [self._watch.observe(record) for record in records]
            self._loop_found = next((report for report in reports if report), None)
        if any(record.name in agent.stop_tools for record in records):
            self._record.reason = "stop_tool"

    def _deadline(self, seconds: float | None) -> Deadline:
        return Deadline(seconds, self._agent.clock, self.stop)

    def settle(self) -> AgentResult:
        """Return the result; after a hard cancel, first store what the cancelled call had brought."""
        if self._result is None:
            if self._call is not None:
                self._keep_partial(self._call)
            records = [not_run(call) for call in self._open_calls]
            self._record.add_results(records, map(result_message, records))
            self._open_calls = []
            reason = self._record.reason or self.stop.reason or "cancelled"
            self._result = self._record.result(reason, is_resumable=self.failed_step() is not None)
        return self._result

    def failed_step(self) -> FailedStep | None:
        """Return where another run can resume, when this one ended because a model call failed."""
        if not self._is_step_open:
            return None
        return FailedStep(self._text, self._record.iterations, self._limit, self._watch, self._partial)
