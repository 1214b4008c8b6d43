"""One run of an agent: the loop itself, and what it leaves behind however it ends.

A step is one model call with its tools. A model call that fails in a way that may pass, also in mid-answer,
is repeated here, because only the run knows that nothing of a broken answer has been acted upon. Repeating it
counts as no further iteration.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.callbacks import AsyncCallbackManager, AsyncCallbackManagerForChainRun
from langchain_core.messages import AIMessage

from forge_core.errors import ForgeError, ProviderError
from forge_core.events import AgentEnd, AgentEvent, Error, LLMEnd, LLMStart, Permission, Retry
from forge_core.langchain.agent.model_call import (
    ModelCall,
    finish_reason_of,
    model_of,
    stopped_reason_for,
    usage_of,
)
from forge_core.langchain.agent.run_control import Deadline, RunClock, StopSignal
from forge_core.langchain.agent.tool_calls import PendingCall, ToolRound, not_run
from forge_core.langchain.messages.conversion import langchain_to_forge
from forge_core.llm.http.retry import RetryCount
from forge_core.llm.marking import tool_output
from forge_core.llm.models import Message, TokenUsage
from forge_core.redact import Redactor
from forge_core.result import AgentResult, StoppedReason, ToolCallRecord
from forge_core.tools.awaiting import ended, first
from forge_core.tools.base import ExecutionContext, ToolCategory

if TYPE_CHECKING:
    from forge_core.langchain.agent.agent import CallWatch, ForgeAgent


_FOREIGN = frozenset({ToolCategory.FILE, ToolCategory.SEARCH, ToolCategory.EXECUTION, ToolCategory.NETWORK})
EMPTY_ANSWER = "The model sent an empty answer."
DEFAULT_RETRIES = 2


@dataclass(frozen=True, slots=True)
class FailedStep:
    """The step at which a run ended because the model call failed; another run can begin with it."""

    text: str
    """What the run was started with."""
    iteration: int
    limit: int
    """Iterations after which the person is asked whether to go on."""
    watch: CallWatch | None
    partial: str
    """What had come of the answer, for a next message to refer to; a run that resumes drops it."""


class AgentRun:
    """Runs once. `events()` drives it; `settle()` gives the result and leaves the memory valid."""

    def __init__(self, agent: ForgeAgent, resumed: FailedStep | None = None) -> None:
        self._agent = agent
        self._resumed = resumed
        self.clock = RunClock()
        self.stop = StopSignal()
        self._started = time.monotonic()
        self._messages: list[Message] = []
        self._records: list[ToolCallRecord] = []
        self._open_calls: list[PendingCall] = []
        self._call: ModelCall | None = None
        self._usage = TokenUsage()
        self._iterations = 0
        self._output = ""
        self._reason: StoppedReason | None = None
        self._error: Exception | None = None
        self._finish_reason: str | None = None
        self._warning: str | None = None
        self._is_last_round_denied = False
        self._result: AgentResult | None = None
        self._limit = agent.max_iterations
        self._watch = agent.make_watch() if agent.make_watch else None
        if resumed is not None:
            self._iterations = resumed.iteration - 1
            self._limit, self._watch = resumed.limit, resumed.watch
        self._circle: str | None = None
        self._text = ""
        self._retry: Retry | None = None
        """Of the model call that has just failed."""
        self._is_step_open = resumed is not None
        """Whether the last model call has failed and no other has brought anything since."""
        self._broken = "" if resumed is None else resumed.partial
        """What the step's failed model calls have brought last."""

    async def events(
        self, text: str, manager: AsyncCallbackManager, *, before: str = ""
    ) -> AsyncGenerator[AgentEvent, None]:
        """Runs on `text`; a run that resumes adds nothing to the history. `before`: what had come of an
        answer that failed, which the text may refer to."""
        self._text = text
        if before.strip():
            self._remember(Message.assistant(before, partial=True))
        if self._resumed is None:
            self._remember(Message.user(text))
        chain = await manager.on_chain_start({"name": "ForgeAgent"}, {"input": text}, name="ForgeAgent")
        deadline = Deadline(self._agent.timeout, self.clock, self.stop)
        try:
            async with aclosing(self._loop(chain)) as events:
                async for event in events:
                    yield event
        except (
            BaseException
        ) as error:  # a hard cancel: nothing more is yielded, but the chain run gets its end
            await chain.on_chain_error(error)
            raise
        finally:
            deadline.cancel()
        if self._error is not None:
            yield _error_event(self._error)
            await chain.on_chain_error(self._error)
        result = self.settle()
        if self._error is None:
            await chain.on_chain_end({"output": result.output, "stopped_reason": result.stopped_reason})
        yield AgentEnd(result=result)

    async def _loop(self, chain: AsyncCallbackManagerForChainRun) -> AsyncGenerator[AgentEvent, None]:
        while self._reason is None:
            if self._iterations >= self._limit and not await self._extend():
                return
            self._iterations += 1
            deadline = Deadline(self._agent.iteration_timeout, self.clock, self.stop)
            try:
                async with aclosing(self._ask(chain)) as events:
                    async for event in events:
                        yield event
                if self._open_calls:
                    async with aclosing(self._run_tools(chain)) as tool_events:
                        async for event in tool_events:
                            yield event
            finally:
                deadline.cancel()
            self._reason = self._reason or self.stop.reason
            if self._circle is not None and self._reason is None:
                await self._leave_circle(self._circle)

    async def _extend(self) -> bool:
        """Whether the person wants more calls than the limit; else the run's reason is set."""
        what = f"{self._iterations} model calls were made for this request, the limit."
        if await self._may_go_on(what):
            self._limit += self._agent.max_iterations
            return True
        self._reason = self.stop.reason or "max_iterations"
        return False

    async def _leave_circle(self, what: str) -> None:
        """Ends the run, or starts the watch anew when the person wants it to go on."""
        if not await self._may_go_on(what):
            self._reason, self._warning = self.stop.reason or "loop", f"{what} Stopped there."
        elif self._agent.make_watch is not None:
            self._watch = self._agent.make_watch()
        self._circle = None

    async def _may_go_on(self, what: str) -> bool:
        """The person's answer; no when there is nobody to ask, or an interrupt comes first."""
        if self._agent.go_on is None:
            return False
        asking = asyncio.ensure_future(self._agent.go_on(what))
        interrupted = ExecutionContext(interrupted=self.stop.event)
        try:
            with self.clock.paused():
                came = await first(asking, interrupted, None)
            if came != "done" or asking.cancelled() or asking.exception():
                return False
            answer = asking.result()
        finally:
            await ended(asking)
        if answer and isinstance(answer, str):
            self._remember(Message.user(answer, within_turn=True))
        return bool(answer)

    async def _ask(self, chain: AsyncCallbackManagerForChainRun) -> AsyncGenerator[AgentEvent, None]:
        """Asks the model, again where the call fails in a way that may pass and a retry is left."""
        retries = RetryCount()
        while True:
            async with aclosing(self._attempt(chain, retries)) as events:
                async for event in events:
                    yield event
            if self._retry is None:
                return
            retry, self._retry = self._retry, None
            yield retry
            if not await self._wait(retry.wait_s):
                self._reason, self._output = self.stop.reason, self._broken
                return

    async def _attempt(
        self, chain: AsyncCallbackManagerForChainRun, retries: RetryCount
    ) -> AsyncGenerator[AgentEvent, None]:
        model = _configured_model(self._agent)
        yield LLMStart(iteration=self._iterations, model=model)
        history = self._agent.memory.to_langchain_messages()
        self._call = ModelCall(self._agent.bound_llm(), history, chain.get_child(), self.stop, retries)
        async with aclosing(self._call.events()) as chunks:
            async for chunk in chunks:
                yield chunk
        call, self._call = self._call, None
        message: AIMessage | None = None
        if call.error is not None:
            self._fail(call, call.error, retries)
        elif call.stopped:
            self._keep_partial(call)
        else:
            message = self._keep_answer(call)
        usage = self._priced(usage_of(message, history, call), model_of(message) or model)
        self._usage += usage
        yield LLMEnd(
            usage=usage,
            cost_usd=usage.cost_usd,
            finish_reason=self._finish_reason,
            duration_s=call.duration_s,
            total_usage=self._total_usage(usage, is_cut=message is None),
            model=model_of(message) or model,
        )

    def _fail(self, call: ModelCall, error: Exception, retries: RetryCount) -> None:
        """Prepares the retry, or ends the run at this step. Nothing of the answer goes to the memory."""
        self._finish_reason = None
        self._is_step_open = True
        self._broken = call.text or self._broken
        most = self._agent.retries
        wait_s = retries.next_wait(error, most) if isinstance(error, ProviderError) else None
        if wait_s is None:
            self._error, self._reason, self._output = error, "error", self._broken
        else:
            self._retry = Retry.of(
                _words(error), attempt=retries.done, max_retries=most, wait_s=wait_s, discards_answer=True
            )

    async def _wait(self, seconds: float) -> bool:
        """Whether the time has passed without a request to stop."""
        try:
            async with asyncio.timeout(seconds):
                await self.stop.event.wait()
        except TimeoutError:
            return self.stop.reason is None
        return False

    def _keep_answer(self, call: ModelCall) -> AIMessage:
        message = call.message(self._agent.call_ids)
        self._is_step_open, self._broken = False, ""
        self._finish_reason = finish_reason_of(message)
        self._output = call.text
        self._open_calls = _pending(message)
        if self._open_calls or self._output.strip():
            self._remember(langchain_to_forge(message))
        else:  # some providers refuse a history with an empty answer, from then on
            self._warning = EMPTY_ANSWER
        if not self._open_calls:
            done = stopped_reason_for(self._finish_reason)
            self._reason = "denied" if done == "complete" and self._is_last_round_denied else done
        return message

    def _keep_partial(self, call: ModelCall) -> None:
        """After an interrupt: partial text is kept and marked, an empty answer or half tool calls are not."""
        self._output = call.text
        self._finish_reason = None
        self._reason = self.stop.reason
        if call.text.strip():
            self._is_step_open, self._broken = False, ""
            self._remember(Message.assistant(call.text, partial=True))

    def _priced(self, usage: TokenUsage, model: str) -> TokenUsage:
        tracker = self._agent.tracker
        return usage if tracker is None else tracker.priced(usage, model)

    def _total_usage(self, usage: TokenUsage, *, is_cut: bool) -> TokenUsage:
        tracker = self._agent.tracker
        if tracker is None:
            return self._usage
        if is_cut and usage.total_tokens:  # LangChain ends it with on_llm_error, which no tracker counts
            tracker.add_estimate(usage, _configured_model(self._agent))
        return tracker.get_usage()

    async def _run_tools(self, chain: AsyncCallbackManagerForChainRun) -> AsyncGenerator[AgentEvent, None]:
        agent = self._agent
        round_ = ToolRound(
            self._open_calls,
            agent.registry,
            agent.executor,
            agent.make_context,
            chain.get_child(),
            self.stop,
        )
        try:
            async with aclosing(round_.events()) as events:
                async for event in events:
                    if isinstance(event, Permission):
                        await chain.get_child().on_custom_event("permission", event.data, run_id=chain.run_id)
                    yield event
        finally:
            unread = {call.id for call in self._open_calls if call.problem is not None}
            self._answer(round_.records(), own=round_.denied | unread)
        self._is_last_round_denied = len(round_.denied) == len(round_.records())
        if self._watch is not None:
            told = [self._watch.observe(record) for record in round_.records()]
            self._circle = next((what for what in told if what), None)
        if any(record.name in agent.stop_tools for record in round_.records()):
            self._reason = "stop_tool"

    def _answer(self, records: list[ToolCallRecord], own: set[str]) -> None:
        """Every open call gets its result, in call order; those in `own` are words of Forge or the person."""
        for record in records:
            extra = {} if record.success else {"status": "error"}
            text = record.result if record.id in own else self._as_data(record)
            self._remember(Message.tool_result(record.id, text, name=record.name, **extra))
        self._records.extend(records)
        self._open_calls = []

    def _as_data(self, record: ToolCallRecord) -> str:
        """The result as the model gets it: what comes from files, commands and other machines is framed."""
        tool = self._agent.registry.get(record.name)
        is_foreign = tool is not None and tool.category in _FOREIGN
        return tool_output(record.name, record.result) if is_foreign else record.result

    def _remember(self, message: Message) -> None:
        self._messages.append(message)
        self._agent.memory.add_message(message)

    def settle(self) -> AgentResult:
        """The result; after a hard cancel it first stores what the broken-off call had brought."""
        if self._result is None:
            if self._call is not None:
                self._keep_partial(self._call)
            if self._open_calls:
                self._answer(
                    [not_run(call) for call in self._open_calls], {call.id for call in self._open_calls}
                )
            self._result = self._build_result()
        return self._result

    def _build_result(self) -> AgentResult:
        reason = self._reason or self.stop.reason or "cancelled"
        warning = self._warning
        if reason == "max_iterations":
            warning = f"Stopped after {self._iterations} model calls, the maximum. Send “go on” to continue."
        return AgentResult(
            output=self._output,
            messages=self._messages,
            tool_calls=self._records,
            usage=self._usage,
            iterations=self._iterations,
            duration=time.monotonic() - self._started,
            stopped_reason=reason,
            error=None if self._error is None else _words(self._error),
            warning=warning,
            finish_reason=self._finish_reason,
            is_resumable=self.failed_step() is not None,
        )

    def failed_step(self) -> FailedStep | None:
        """Where another run can go on, when this one has ended because a model call failed."""
        if not self._is_step_open:
            return None
        return FailedStep(self._text, self._iterations, self._limit, self._watch, self._broken)


def _pending(message: AIMessage) -> list[PendingCall]:
    calls = [PendingCall(call["id"] or "", call["name"], call["args"]) for call in message.tool_calls]
    broken = [
        PendingCall(call["id"] or "", call["name"] or "", {}, call["error"] or "not valid JSON")
        for call in message.invalid_tool_calls
    ]
    return calls + broken


def _configured_model(agent: ForgeAgent) -> str:
    return str(getattr(agent.llm, "model", None) or getattr(agent.llm, "model_name", None) or "")


def _error_event(error: Exception) -> Error:
    return Error(error=_words(error), kind=type(error).__name__, recoverable=_is_recoverable(error))


def _is_recoverable(error: Exception) -> bool:
    return isinstance(error, ProviderError) and error.retryable


def _words(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if not isinstance(error, ForgeError):
        text = f"{type(error).__name__}: {text}"
    return Redactor()(text)
