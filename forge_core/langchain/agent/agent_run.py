"""One run of an agent: asks the model and runs the tools it calls, until a reason to stop is set."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from langchain_core.callbacks import AsyncCallbackManager, AsyncCallbackManagerForChainRun
from langchain_core.messages import AIMessage

from forge_core.errors import ContextLengthError, ProviderError
from forge_core.events import AgentEnd, LLMEnd, LLMStart, Retry
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.langchain.agent.model_call import (
    ModelCall,
    finish_reason_of,
    model_of,
    stopped_reason_for,
    usage_of,
)
from forge_core.langchain.agent.run_control import Deadline, StopSignal
from forge_core.langchain.agent.run_record import FailedStep, RunRecord, error_event, error_text
from forge_core.langchain.agent.tool_calls import (
    PendingCall,
    ToolRound,
    not_run,
    pending_calls,
    result_message,
)
from forge_core.langchain.messages.conversion import langchain_to_forge
from forge_core.llm.http.retry import RetryCount
from forge_core.llm.models import Message, TokenUsage, UserContent
from forge_core.result import AgentResult
from forge_core.tools.executor import cancel_and_wait, wait_for_first

if TYPE_CHECKING:
    from forge_core.langchain.agent.agent import ForgeAgent

EMPTY_ANSWER = "The model sent an empty answer."


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
        self._text: UserContent = ""
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

    async def execute(self, text: UserContent, manager: AsyncCallbackManager, *, partial: str = "") -> None:
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
        await self._agent.steering.deliver(self._record, self._events, self.stop)
        if self._agent.before_call is not None and (note := self._agent.before_call()):
            self._record.add(Message.user(note, within_turn=True))
        self._record.iterations += 1
        await self._query(chain)
        if self._open_calls:
            await self._run_tools(chain)
        elif self._record.reason in ("complete", "denied"):
            await self._continue_if_asked()

    async def _continue_if_asked(self) -> None:
        """Continue a run at its end where `before_end` has something for the model to go on with."""
        if self._agent.before_end is None:
            return
        text = await self.stop.result_of(self._agent.before_end(self._record.output))
        if text:
            self._record.add(Message.user(text, within_turn=True))
            self._record.reason, self._record.warning = None, None

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
        self._open_calls = pending_calls(message, self._agent.registry)
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
            self._record.usage += tools.usage
            self._record.add_results(tools.records(), tools.messages())
            self._open_calls = []
        records = tools.records()
        self._is_last_round_denied = len(tools.denied) == len(records)
        if self._watch is not None:
            reports = [self._watch.observe(record) for record in records]
            self._loop_found = next((report for report in reports if report), None)
        if (ending := tools.ending(agent.stop_tools)) is not None:
            self._record.reason, self._record.output = ending[0], ending[1] or self._record.output

    def _deadline(self, seconds: float | None) -> Deadline:
        return Deadline(seconds, self._agent.clock, self.stop)

    def settle(self) -> AgentResult:
        """Return the result; after a hard cancel, first store what the cancelled call had brought."""
        if self._result is None:
            if self._call is not None:
                self._keep_partial(self._call)
            records = [not_run(call) for call in self._open_calls]
            calls = zip(records, self._open_calls, strict=True)
            messages = [result_message(record, sent_name=call.sent_name) for record, call in calls]
            self._record.add_results(records, messages)
            self._open_calls = []
            reason = self._record.reason or self.stop.reason or "cancelled"
            self._result = self._record.result(reason, is_resumable=self.failed_step() is not None)
        return self._result

    def failed_step(self) -> FailedStep | None:
        """Return where another run can resume, when this one ended because a model call failed."""
        if not self._is_step_open:
            return None
        return FailedStep(self._text, self._record.iterations, self._limit, self._watch, self._partial)
