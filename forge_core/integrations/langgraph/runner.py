"""An agent graph over Forge's own types."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool as LangChainTool

from forge_core.errors import ForgeError
from forge_core.events import AgentEvent
from forge_core.integrations.langgraph.configs import LangGraphClientConfig
from forge_core.integrations.langgraph.graph_run import GraphRun
from forge_core.integrations.langgraph.requirements import require_langgraph
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.langchain.memory.conversation import CANCELLED
from forge_core.langchain.tools import adapt_tools_for_langchain
from forge_core.result import AgentResult
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.executor import ToolExecutor


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
        """The whole run's result. A failure, a pause included, is told in it, not raised."""
        return self.start(text).drive()

    def stream(self, text: str) -> Generator[AgentEvent, None, None]:
        """The run as events; AGENT_END with the result is last."""
        yield from self.start(text).events()

    def resume(self, value: Any = None) -> AgentResult:
        """Goes on where the run paused; `value` is what `interrupt()` gives back in the node."""
        return self.restart(value).drive()

    def start(self, text: str) -> GraphRun:
        """A run that has not begun yet."""
        self.forget()
        return self._begin({"messages": [*self._cancelled(), HumanMessage(text, id=str(uuid.uuid4()))]})

    def restart(self, value: Any = None) -> GraphRun:
        """A run that goes on after a pause, not begun yet.

        Raises:
            ForgeError: nothing is paused.
        """
        state = self._graph.get_state(self._config()) if self._graph.checkpointer is not None else None
        if state is None or not state.next:
            raise ForgeError(f"Nothing is paused in thread {self.thread_id!r}. Start a run first.")
        waits_for_value = any(task.interrupts for task in state.tasks)
        return self._begin(_graph_module("types").Command(resume=value) if waits_for_value else None)

    def prepare(self, run: GraphRun) -> tuple[Any, dict[str, Any]]:
        """The graph and the keywords of its `stream` for one run."""
        kwargs = self.config.to_invoke_kwargs()
        kwargs["config"] |= self._config() | {"callbacks": run.callbacks()}
        if self.graph is None:
            kwargs["config"]["max_concurrency"] = 1  # parallel calls in call order
        return self._graph, kwargs

    def forget(self) -> None:
        """Drops what the checkpointer made here keeps of a finished run: the next one starts afresh."""
        if self._forgets:
            self.checkpointer.delete_thread(self.thread_id)

    def _begin(self, payload: Any) -> GraphRun:
        self._run = GraphRun(self, payload)
        return self._run

    def _cancelled(self) -> list[ToolMessage]:
        """Answers to the calls that a pause left open when a new request comes instead of a resume: a
        provider refuses a history with a call that has none."""
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
