"""Answers of the session's model to requests of their own, outside the conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forge_core.events import LLMEnd
from forge_core.session.session_parts import SessionParts

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """What the model has answered."""

    text: str
    model: str
    completion_tokens: int


class SideModel:
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
    def name(self) -> str:
        """The model that would answer now."""
        return self._model()

    @property
    def context_window(self) -> int | None:
        """Its context window in tokens; None if that is unknown."""
        return self._provider.context_window(self._model())

    async def ask(self, system: str, text: str, purpose: str) -> str:
        """Return the answer to one message. Raises ForgeError."""
        from langchain_core.messages import HumanMessage, SystemMessage

        return (await self.answer([SystemMessage(system), HumanMessage(text)], purpose)).text

    async def answer(self, messages: Sequence[BaseMessage], purpose: str, **options: Any) -> SideAnswer:
        """Return the answer to messages. The model is given nothing else, and no tools.

        `purpose` is recorded with the usage; `options` are parameters of the request. Raises ForgeError.
        """
        from forge_core.langchain.memory.summary import streamed_answer
        from forge_core.session.side_calls import SideCalls

        model, calls = self._model(), SideCalls(self._provider)
        try:
            text = await streamed_answer(
                self._agent.llm,
                messages,
                {
                    "run_name": purpose,
                    "tags": [purpose],
                    "callbacks": [*self._agent.callbacks, calls, calls.answered],
                },
                **options,
            )
        finally:
            calls.record(self._journal, purpose, model, self._agent.tracker, self._on_cut)
            self._events.figures_changed()
        written = sum(one.completion_tokens for one in calls.answered.usage_by_model().values())
        return SideAnswer(text, model, written)
