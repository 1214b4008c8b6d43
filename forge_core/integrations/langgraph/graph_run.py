"""One run of a graph: its events while it goes, and what it leaves behind however it ends."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables.config import var_child_runnable_config

from forge_core.errors import ForgeError, ProviderError
from forge_core.events import AgentEnd, AgentEvent, Error
from forge_core.integrations.langgraph.recorder import RunRecorder, Streams
from forge_core.integrations.langgraph.stops import GraphPausedError, LimitReachedError
from forge_core.langchain.agent.model_call import stopped_reason_for
from forge_core.langchain.callbacks import CompositeCallback
from forge_core.langchain.messages import langchain_messages_to_forge
from forge_core.redact import Redactor
from forge_core.result import AgentResult, StoppedReason

if TYPE_CHECKING:
    from forge_core.integrations.langgraph.runner import GraphRunner

_DONE = object()


class GraphRun:
    """Runs once: `drive()` where the answer alone is wanted, or `events()` to follow it."""

    def __init__(self, runner: GraphRunner, payload: Any) -> None:
        self._runner = runner
        self._payload = payload
        self._queue: queue.SimpleQueue[Any] | None = None
        self._stopped = threading.Event()
        self._started = time.monotonic()
        self.state: Any = None
        """The graph's state at the end."""
        self.error: BaseException | None = None
        self.pause: GraphPausedError | None = None
        self.recorder = RunRecorder(self._emit, self._check, runner.tracker, runner.model_name)

    def drive(self) -> AgentResult:
        """Runs to the end in the caller's thread. A failure is kept in `error`, not raised."""
        # A context of its own: within another graph's node LangGraph would take this one for a part of that.
        contextvars.copy_context().run(self._drive)
        return self.result()

    def events(self) -> Iterator[AgentEvent]:
        """The run as events, with the promises of `forge_core.events`. Closing the iterator stops the graph
        before its next call and at the next fragment of an answer."""
        self._queue = queue.SimpleQueue()
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._drive,), name="forge-graph-run")
        thread.start()
        try:
            while (event := self._queue.get()) is not _DONE:
                yield event
        finally:
            self._stopped.set()
            thread.join()
        if self._is_failure():
            assert self.error is not None or self.pause is not None
            yield error_event(self.error or self.pause or ForgeError("unknown"))
        yield AgentEnd(result=self.result())

    def messages(self) -> list[BaseMessage]:
        """The state's messages, oldest first; of a graph without any an empty list."""
        state = self.state
        found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
        return [m for m in found if isinstance(m, BaseMessage)] if isinstance(found, list) else []

    def final_message(self) -> AIMessage | None:
        """The model's last word; None where the graph ended on something else."""
        messages = self.messages()
        last = messages[-1] if messages else None
        return last if isinstance(last, AIMessage) and not last.tool_calls else None

    def result(self) -> AgentResult:
        final = self.final_message()
        failure = self.error or self.pause
        reason = self._reason()
        return AgentResult(
            output=str(final.text) if final is not None and failure is None else "",
            messages=langchain_messages_to_forge(self._own_messages()),
            tool_calls=list(self.recorder.records),
            usage=self.recorder.usage,
            iterations=self.recorder.iterations,
            duration=time.monotonic() - self._started,
            stopped_reason=reason,
            error=shown(failure) if failure is not None and reason == "error" else None,
            warning=shown(failure) if failure is not None and reason != "error" else None,
            finish_reason=self.recorder.finish_reason,
        )

    def _drive(self) -> None:
        var_child_runnable_config.set(None)
        runner = self._runner
        try:
            graph, kwargs = runner.prepare(self)
            self._check()
            for mode, data in graph.stream(self._payload, stream_mode=["values", "updates"], **kwargs):
                if mode == "values":
                    self.state = data
                elif mode == "updates" and "__interrupt__" in data:
                    self._paused(graph, kwargs["config"], data["__interrupt__"])
        except Exception as error:  # the run's border: whoever started it reads `error`
            self.error = error
        finally:
            self.recorder.close()
            self._emit(_DONE)

    def _paused(self, graph: Any, config: dict[str, Any], interrupts: Any) -> None:
        nodes: tuple[str, ...] = ()
        if graph.checkpointer is not None:
            nodes = tuple(dict.fromkeys(graph.get_state(config).next))
        values = [interrupt.value for interrupt in interrupts]
        self.pause = GraphPausedError(
            self._runner.thread_id, values, nodes, can_resume=graph.checkpointer is not None
        )

    def callbacks(self) -> list[BaseCallbackHandler]:
        """The meter first, then the events: a meter that ends the run does not keep its LLM_END."""
        heard = CompositeCallback([self._runner.tracker, self.recorder, *self._runner.callbacks])
        return [heard] if self._queue is None else [heard, Streams()]

    def _check(self) -> None:
        runner = self._runner
        if self._stopped.is_set():
            raise LimitReachedError("cancelled", "The run was stopped.")
        if runner.timeout is not None and time.monotonic() - self._started > runner.timeout:
            raise LimitReachedError("timeout", f"The run took longer than {runner.timeout:g} s.")
        if runner.check is not None:
            runner.check()

    def _emit(self, event: Any) -> None:
        if self._queue is None:
            return
        self._queue.put(event)
        if self._stopped.is_set() and event is not _DONE and event.type == "llm_chunk":
            raise LimitReachedError("cancelled", "The run was stopped.")

    def _own_messages(self) -> list[BaseMessage]:
        """From the latest request on: what a checkpointer brought from before is not of this run."""
        messages = self.messages()
        starts = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
        return messages[starts[-1] :] if starts else messages

    def _is_failure(self) -> bool:
        return self._reason() == "error"

    def _reason(self) -> StoppedReason:
        error = self.error
        if isinstance(error, LimitReachedError):
            return error.reason
        if error is not None:
            return "max_iterations" if type(error).__name__ == "GraphRecursionError" else "error"
        if self.pause is not None:
            return "error"
        return stopped_reason_for(self.recorder.finish_reason)


def error_event(error: BaseException) -> Error:
    """The event that tells of `error`."""
    is_recoverable = isinstance(error, ProviderError) and error.retryable
    return Error(error=shown(error), kind=type(error).__name__, recoverable=is_recoverable)


def shown(error: BaseException) -> str:
    """The error's words, without secrets."""
    text = str(error) or type(error).__name__
    return Redactor()(text if isinstance(error, ForgeError) else f"{type(error).__name__}: {text}")
