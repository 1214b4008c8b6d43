"""WINK's prompts on LangGraph: a provider adapter for `weakincentives` 0.27."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from langchain_core.language_models import BaseChatModel

from forge_core.events import AgentEvent
from forge_core.integrations.langgraph.configs import LangGraphClientConfig, LangGraphModelConfig
from forge_core.integrations.langgraph.evaluation import Evaluation, ResponseFormat, failure_events
from forge_core.integrations.langgraph.requirements import require_langgraph, require_wink
from forge_core.integrations.langgraph.wink_tools import EvaluationArguments, ToolExecutionContext
from forge_core.integrations.langgraph.wink_types import session_id, wink
from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult

if TYPE_CHECKING:
    from weakincentives import Budget, BudgetTracker, Deadline
    from weakincentives.prompt import Prompt
    from weakincentives.runtime import Heartbeat, RunContext, Session

    class ProviderAdapter:
        """As the type checker sees it where weakincentives is not installed."""

else:
    try:
        from weakincentives.adapters.core import ProviderAdapter
    except ImportError:

        class ProviderAdapter:
            """Placeholder where weakincentives is not installed; the constructor raises."""


LANGGRAPH_ADAPTER_NAME = "langgraph"


class LangGraphAdapter(ProviderAdapter):
    """Evaluates prompts on LangChain's agent graph, or on a compiled graph of your own.

    A rendered prompt goes to the model once, as the user's message; where it declares structured output, the
    JSON schema is in the system message (see `response_format`). Usage, limits, events, rollback and
    errors are those of WINK's own adapters.

    Args:
        model: the model's name; with `model_config.model_provider` it becomes "provider/model".
        llm: any chat model; the default is OpenRouterLLM, with key and endpoint from the environment.
        tool_choice: "auto", "none", "required" or a tool's name; a forced choice holds for the first call.
        graph: a compiled graph instead of the agent's. It gets the prompt's tools as
            `config["configurable"]["forge_tools"]`.
        checkpointer: keeps the thread between evaluations; the thread's id is the session's unless
            `client_config.thread_id` says otherwise.
        middleware: more middleware for the agent graph.
        response_format: how the model is asked for structured output.

    Raises:
        RuntimeError: langgraph, langchain or weakincentives is not installed.

    Example:
        adapter = LangGraphAdapter(model="openai/gpt-5-mini")
        response = adapter.evaluate(prompt, session=session)
    """

    def __init__(
        self,
        *,
        model: str,
        llm: BaseChatModel | None = None,
        client_config: LangGraphClientConfig | None = None,
        model_config: LangGraphModelConfig | None = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        graph: Any = None,
        checkpointer: Any = None,
        middleware: Sequence[Any] = (),
        response_format: ResponseFormat = "prompt",
    ) -> None:
        require_langgraph("LangGraphAdapter")
        require_wink("LangGraphAdapter")
        super().__init__()
        self.client_config = client_config or LangGraphClientConfig()
        self.model_config = model_config or LangGraphModelConfig()
        self.model = self.model_config.full_name(model)
        self.tool_choice = tool_choice
        self.graph = graph
        self.checkpointer = checkpointer
        self.middleware = tuple(middleware)
        self.response_format: ResponseFormat = response_format
        self.settings: dict[str, Any] = (
            {} if self.model_config.parallel_tool_calls else {"parallel_tool_calls": False}
        )
        params = self.model_config.to_request_params()
        if llm is None:
            self.llm: BaseChatModel = OpenRouterLLM(model=self.model, **params)
        else:
            self.llm = llm
            self.settings |= params
        self._paused: dict[str, Evaluation] = {}

    @property
    def adapter_name(self) -> str:
        return LANGGRAPH_ADAPTER_NAME

    def evaluate(
        self,
        prompt: Prompt,
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        budget_tracker: BudgetTracker | None = None,
        heartbeat: Heartbeat | None = None,
        run_context: RunContext | None = None,
    ) -> Any:
        """Return the PromptResponse.

        Raises:
            PromptEvaluationError: phase "request" (deadline, recursion limit, provider, a paused graph),
                "tool" (an invalid state update), "budget", or "response" (no answer, or not the structured
                one; `provider_payload["raw_text"]`).
            ThrottleError: the provider's limits.
            VisibilityExpansionRequired: a tool asks for another rendering.
        """
        arguments = EvaluationArguments(
            deadline=deadline, budget_tracker=budget_tracker, heartbeat=heartbeat, run_context=run_context
        )
        evaluation = self._begin(prompt, session, budget, arguments)
        return self._finished(evaluation, evaluation.run())

    def stream(
        self,
        prompt: Prompt,
        *,
        session: Session,
        budget: Budget | None = None,
        **arguments: Unpack[EvaluationArguments],
    ) -> Generator[AgentEvent, None, Any]:
        """Return the evaluation as Forge's events, AGENT_END last; the generator's value is the
        PromptResponse.

        A failure is an ERROR event and AGENT_END's `stopped_reason`; the value is then None. Only
        VisibilityExpansionRequired is raised.
        """
        try:
            evaluation = self._begin(prompt, session, budget, arguments)
        except wink("errors").PromptEvaluationError as error:
            yield from failure_events(error, AgentResult("", [], [], TokenUsage(), 0))
            return None
        response = yield from evaluation.stream()
        self._remember(evaluation)
        return response

    def resume(
        self,
        *,
        session: Session,
        value: Any = None,
        deadline: Deadline | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> Any:
        """Continue the paused evaluation of `session` and return its PromptResponse.

        `value` is what `interrupt()` gives back in the graph; a pause at a node needs none. `deadline`
        replaces the first one, which did not stop while the graph waited. Usage is added to the earlier one.

        Raises:
            RuntimeError: nothing of that session is paused in this adapter.
        """
        thread_id = self.thread_id(session)
        evaluation = self._paused.pop(thread_id, None)
        if evaluation is None:
            raise RuntimeError(f"Nothing is paused in thread {thread_id!r}. Call evaluate() first.")
        return self._finished(evaluation, evaluation.resume(value, deadline, heartbeat))

    def thread_id(self, session: Session) -> str:
        """Return the id under which a checkpointer keeps the session's runs."""
        return self.client_config.thread_id or str(session_id(session) or id(session))

    def _begin(
        self, prompt: Prompt, session: Session, budget: Budget | None, arguments: EvaluationArguments
    ) -> Evaluation:
        context = ToolExecutionContext(session=session, prompt=prompt, adapter=self, **arguments)
        if context.budget_tracker is None and budget is not None:
            context.budget_tracker = wink("budget").BudgetTracker(budget)
        budgets = (budget, getattr(context.budget_tracker, "budget", None))
        ends = (context.deadline, *(getattr(one, "deadline", None) for one in budgets))
        context.deadline = min(
            (end for end in ends if end is not None), key=lambda end: end.expires_at, default=None
        )
        evaluation = Evaluation(self, context)
        self._paused.pop(self.thread_id(session), None)
        evaluation.check()
        evaluation.render()
        return evaluation

    def _finished(self, evaluation: Evaluation, outcome: Any) -> Any:
        self._remember(evaluation)
        return evaluation.conclude(outcome)

    def _remember(self, evaluation: Evaluation) -> None:
        if evaluation.is_resumable:
            self._paused[evaluation.runner.thread_id] = evaluation
