"""Answers of the session's model for MCP servers: requests of their own, outside the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forge_core.events import LLMEnd
from forge_core.session.session_parts import SessionParts

if TYPE_CHECKING:
    from forge_core.mcp.sampling import SampleAnswer, SampleRequest


class ServerSampling:
    """Calls the model. A call counts in the session's tokens, cost and budget, as those of sub-agents do."""

    def __init__(
        self, parts: SessionParts, model: Callable[[], str], on_cut: Callable[[LLMEnd], None]
    ) -> None:
        """`model` returns the name of the model in use; `on_cut` is called with each call that brought no
        answer."""
        self._agent, self._provider = parts.agent, parts.provider
        self._journal, self._events = parts.journal, parts.events
        self._model = model
        self._on_cut = on_cut

    @property
    def model(self) -> str:
        """The model that would answer now."""
        return self._model()

    async def answer(self, request: SampleRequest) -> SampleAnswer:
        """Return the model's answer. It is given nothing but the request, and no tools. Raises ForgeError."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        from forge_core.langchain.memory.summary import streamed_answer
        from forge_core.mcp.sampling import SampleAnswer
        from forge_core.session.side_calls import SideCalls

        kinds = {"user": HumanMessage, "assistant": AIMessage}
        messages = [kinds[one.role](one.text) for one in request.messages]
        system = [SystemMessage(request.system)] if request.system else []
        model, calls = self._model(), SideCalls(self._provider)
        options: dict[str, Any] = {"max_tokens": request.max_tokens}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.stop:
            options["stop"] = [*request.stop]
        try:
            text = await streamed_answer(
                self._agent.llm,
                [*system, *messages],
                {
                    "run_name": "sampling",
                    "tags": ["sampling"],
                    "callbacks": [*self._agent.callbacks, calls, calls.answered],
                },
                **options,
            )
        finally:
            calls.record(self._journal, "sampling", model, self._agent.tracker, self._on_cut)
            self._events.figures_changed()
        written = sum(one.completion_tokens for one in calls.answered.usage_by_model().values())
        return SampleAnswer(text, model, is_cut=written >= request.max_tokens)
