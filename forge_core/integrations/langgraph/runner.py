"""Runs of LangChain's agent graph, or of another compiled graph, over Forge's own types."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool as LangChainTool

from forge_core.errors import ForgeError, ProviderError
from forge_core.events import AgentEnd, AgentEvent, Error
from forge_core.integrations.langgraph.configs import LangGraphClientConfig
from forge_core.integrations.langgraph.event_recorder import RunRecorder, Streams
from forge_core.integrations.langgraph.requirements import require_langgraph
from forge_core.langchain.agent.model_call import stopped_reason_for
from forge_core.langchain.callbacks import CompositeCallback, TokenTrackingCallback
from forge_core.langchain.memory.conversation import CANCELLED
from forge_core.langchain.messages import langchain_messages_to_forge
from forge_core.langchain.tools import adapt_tools_for_langchain
from forge_core.redact import Redactor
from forge_core.result import AgentResult, StoppedReason
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.executor import ToolExecutor

_DONE = object()


@dataclass(kw_only=True)
class GraphRunner:
    """Runs LangChain's agent graph, or `graph`, with Forge's models and tools.

    Synchronous: the graph runs in the caller's thread, for `stream` in one of its own. Tools run one at a
    time and, in the agent graph, in call order. One run at a time.

    A graph of your own gets the tools as `config["configurable"]["forge_tools"]`, LangChain tools that its
    nodes can bind to a model or put into a ToolNode; limits, meter and events hold for it too.

    Raises:
        RuntimeError: langgraph or langchain is not installed.
        ForgeError: neither a model nor a graph is given.

    Example:
        runner = GraphRunner(llm=OpenRouterLLM(model="…"), tools=[ReadTool()])
        result = runner.run("What does setup.py do?")
    """

    llm: BaseChatModel | None = None
    tools: Sequence[BaseTool | LangChainTool] = ()
    graph: Any = None
    """A compiled graph instead of the agent's; its state holds `messages`."""
    config: LangGraphClientConfig = field(default_factory=LangGraphClientConfig)
    system_prompt: str | None = None
    response_format: Any = None
    """A strategy of langchain.agents.structured_output for the agent graph."""
    tool_choice: str | Mapping[str, Any] | None = "auto"
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    """Sent with every model call of the agent graph."""
    timeout: float | None = None
    """Seconds after which no further call is made; one that is under way is not broken off."""
    check: Callable[[], None] | None = None
    """Called before every model and tool call; what it raises ends the run."""
    tracker: TokenTrackingCallback = field(default_factory=TokenTrackingCallback)
    callbacks: Sequence[BaseCallbackHandler] = ()
    checkpointer: Any = None
    """A LangGraph checkpointer. Where the run may pause and none is given, one in memory serves."""
    middleware: Sequence[Any] = ()
    """More middleware for the agent graph, outside of Forge's own."""
    executor: ToolExecutor = field(default_factory=ToolExecutor)
    """Runs Forge's tools. The default one checks no permission: the caller is the authority."""
    context: ExecutionContext = field(default_factory=ExecutionContext)

    def __post_init__(self) -> None:
        require_langgraph("GraphRunner")
        if self.llm is None and self.graph is None:
            raise ForgeError("GraphRunner needs a model or a graph. Give `llm` or `graph`.")
        self.thread_id = self.config.thread_id or uuid.uuid4().hex
        self._lock = threading.RLock()
        self._run: GraphRun | None = None
        self._forgets = False
        self._tools = adapt_tools_for_langchain(self.tools, self.executor, self.context)
        if self.checkpointer is None and (self.config.interrupt_before or self.config.interrupt_after):
            self._forgets = True
            self.checkpointer = _graph_module("checkpoint.memory").InMemorySaver()
        self._graph = self._agent_graph() if self.graph is None else self._given_graph()

    @property
    def model_name(self) -> str:
        return str(getattr(self.llm, "model", None) or getattr(self.llm, "model_name", None) or "")

    def run(self, text: str) -> AgentResult:
        """Return the whole run's result. A failure or a pause is reported in it, not raised."""
        return self.start(text).drive()

    def stream(self, text: str) -> Generator[AgentEvent, None, None]:
        """Return the run as events; AGENT_END with the result is last."""
        yield from self.start(text).events()

    def resume(self, value: Any = None) -> AgentResult:
        """Continue the paused run and return its result; `interrupt()` returns `value` in the node."""
        return self.restart(value).drive()

    def start(self, text: str) -> GraphRun:
        """Return a run that has not begun yet."""
        self.forget()
        return self._begin({"messages": [*self._cancelled(), HumanMessage(text, id=str(uuid.uuid4()))]})

    def restart(self, value: Any = None) -> GraphRun:
        """Return a run that continues after a pause, not started yet.

        Raises:
            ForgeError: nothing is paused.
        """
        state = self._graph.get_state(self._config()) if self._graph.checkpointer is not None else None
        if state is None or not state.next:
            raise ForgeError(f"Nothing is paused in thread {self.thread_id!r}. Start a run first.")
        waits_for_value = any(task.interrupts for task in state.tasks)
        return self._begin(_graph_module("types").Command(resume=value) if waits_for_value else None)

    def prepare(self, run: GraphRun) -> tuple[Any, dict[str, Any]]:
        """Return the graph and the keywords of its `stream` for one run."""
        kwargs = self.config.to_invoke_kwargs()
        kwargs["config"] |= self._config() | {"callbacks": run.callbacks()}
        if self.graph is None:
            kwargs["config"]["max_concurrency"] = 1  # parallel calls in call order
        return self._graph, kwargs

    def forget(self) -> None:
        """Drop what the checkpointer made here keeps of a finished run: the next one starts from nothing."""
        if self._forgets:
            self.checkpointer.delete_thread(self.thread_id)

    def _begin(self, payload: Any) -> GraphRun:
        self._run = GraphRun(self, payload)
        return self._run

    def _cancelled(self) -> list[ToolMessage]:
        """Return answers to the calls that a pause left open, for a new request in place of a resume:
        providers refuse a history with an unanswered call."""
        if self._graph.checkpointer is None:
            return []
        values = self._graph.get_state(self._config()).values
        messages = values.get("messages", []) if isinstance(values, Mapping) else []
        last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
        return [
            ToolMessage(CANCELLED, name=call["name"], tool_call_id=call["id"] or "", status="error")
            for call in (last.tool_calls if last is not None else ())
            if call["id"] not in answered
        ]

    def _config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.thread_id, "forge_tools": self._tools}}

    def _agent_graph(self) -> Any:
        from forge_core.integrations.langgraph.middleware import ForgeCalls

        calls = ForgeCalls(
            self._lock,
            lambda: None if self._run is None else self._run.recorder,
            self.tool_choice,
            self.model_settings,
        )
        return import_module("langchain.agents").create_agent(
            self.llm,
            self._tools,
            system_prompt=self.system_prompt,
            middleware=[*self.middleware, calls],
            response_format=self.response_format,
            checkpointer=self.checkpointer,
        )

    def _given_graph(self) -> Any:
        if self.checkpointer is None:
            return self.graph
        return self.graph.copy(update={"checkpointer": self.checkpointer})


def _graph_module(name: str) -> Any:
    return import_module(f"langgraph.{name}")


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
        """Run to the end in the caller's thread. A failure is kept in `error`, not raised."""
        # A context of its own: within another graph's node LangGraph would take this one for a part of that.
        contextvars.copy_context().run(self._drive)
        return self.result()

    def events(self) -> Iterator[AgentEvent]:
        """Return the run as events, with the promises of `forge_core.events`. Closing the iterator stops the
        graph before its next call and at the next fragment of an answer."""
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
        failure = self.error or self.pause
        if failure is not None and self._reason() == "error":
            yield error_event(failure)
        yield AgentEnd(result=self.result())

    def messages(self) -> list[BaseMessage]:
        """Return the state's messages, oldest first; of a graph without any an empty list."""
        state = self.state
        found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
        return [m for m in found if isinstance(m, BaseMessage)] if isinstance(found, list) else []

    def final_message(self) -> AIMessage | None:
        """Return the model's final message; None where the graph ended on something else."""
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
        can_resume = graph.checkpointer is not None
        nodes = tuple(dict.fromkeys(graph.get_state(config).next)) if can_resume else ()
        values = [interrupt.value for interrupt in interrupts]
        self.pause = GraphPausedError(self._runner.thread_id, values, nodes, can_resume=can_resume)

    def callbacks(self) -> list[BaseCallbackHandler]:
        """Return the tracker first, then the recorder, which emits LLM_END also where the tracker raises."""
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
        """Return the messages from the latest request on: earlier ones come from a checkpointer, not from
        this run."""
        messages = self.messages()
        starts = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
        return messages[starts[-1] :] if starts else messages

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
    """Return the ERROR event for `error`."""
    is_recoverable = isinstance(error, ProviderError) and error.retryable
    return Error(error=shown(error), kind=type(error).__name__, recoverable=is_recoverable)


def shown(error: BaseException) -> str:
    """Return the error's message, without secrets."""
    text = str(error) or type(error).__name__
    return Redactor()(text if isinstance(error, ForgeError) else f"{type(error).__name__}: {text}")


class LimitReachedError(ForgeError):
    """A limit of the run was exceeded; no further call is made."""

    def __init__(self, reason: StoppedReason, message: str) -> None:
        super().__init__(message)
        self.reason: StoppedReason = reason


class GraphPausedError(ForgeError):
    """The graph waits for the user: at a node where it should pause, or in `interrupt()`."""

    def __init__(
        self, thread_id: str, interrupts: Sequence[Any], nodes: Sequence[str], *, can_resume: bool
    ) -> None:
        where = f" before {', '.join(nodes)}" if nodes else ""
        todo = (
            "Call resume() to continue."
            if can_resume
            else "It has no checkpointer, so it cannot be resumed. Give it one."
        )
        super().__init__(f"The graph of thread {thread_id!r} is paused{where}. {todo}")
        self.thread_id = thread_id
        self.interrupts = tuple(interrupts)
        """The values given to `interrupt()`; empty at a node."""
        self.nodes = tuple(nodes)
        """The nodes that come next, where a checkpointer knows them."""
        self.can_resume = can_resume
