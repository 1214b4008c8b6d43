"""Charges every model call to a WINK budget."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.outputs import LLMResult

from forge_core.integrations.langgraph.requirements import require_wink
from forge_core.integrations.langgraph.wink_types import wink
from forge_core.langchain.callbacks import TokenTrackingCallback

if TYPE_CHECKING:
    from weakincentives import BudgetTracker


class BudgetTrackingCallback(TokenTrackingCallback):
    """The usage of one evaluation. With a `tracker` it is checked after every model call; a passed budget
    leaves the model call as PromptEvaluationError of phase "budget", so the loop stops right there.

    `evaluation_id` must be new for every evaluation: under an id the tracker keeps the latest sum alone.

    Raises:
        RuntimeError: weakincentives is not installed.
    """

    raise_error = True

    def __init__(
        self, tracker: BudgetTracker | None, evaluation_id: str | None = None, *, prompt_name: str = ""
    ) -> None:
        require_wink("BudgetTrackingCallback")
        super().__init__()
        self.tracker = tracker
        self.evaluation_id = evaluation_id or f"{prompt_name}:{uuid.uuid4().hex}"
        self.prompt_name = prompt_name

    def on_llm_end(self, response: LLMResult, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        super().on_llm_end(response, run_id=run_id, **kwargs)
        if self.tracker is not None:
            self.tracker.record_cumulative(self.evaluation_id, self.wink_usage())
            self.check()

    def wink_usage(self) -> Any:
        """Return all calls so far as WINK's TokenUsage; None before the first. A call that the provider did
        not count is in it by estimate."""
        if self.call_count == 0:
            return None
        usage = self.get_usage()
        return wink("budget").TokenUsage(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
        )

    def check(self) -> None:
        """Raise PromptEvaluationError where the budget is passed: phase "budget", for its time "request"."""
        if self.tracker is None:
            return
        exceeded: Any = None
        try:
            self.tracker.check()
        except wink("budget").BudgetExceededError as error:
            exceeded = error
        if exceeded is None:
            return
        # Outside of the handler: WINK's frozen error takes no traceback or context later on, a raise through
        # a context manager makes a TypeError of it.
        dimension, used = exceeded.exceeded_dimension, exceeded.consumed
        spent = f"{used.input_tokens or 0} tokens in, {used.output_tokens or 0} out"
        raise wink("errors").PromptEvaluationError(
            f"Budget exceeded: {dimension} ({spent}). Raise the budget or shorten the task.",
            prompt_name=self.prompt_name,
            phase="request" if dimension == "deadline" else "budget",
            provider_payload={"exceeded_dimension": dimension},
        )
