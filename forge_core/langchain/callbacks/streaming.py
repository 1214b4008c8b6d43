"""A callback with the text of an answer while it streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from forge_core.langchain.callbacks.base import ForgeCallbackHandler
from forge_core.langchain.callbacks.usage import answer_of, message_of
from forge_core.langchain.messages.content import text_of


class StreamingCallback(ForgeCallbackHandler):
    """Passes on the text of an answer as it arrives.

    `on_token` gets each fragment that holds text; `on_complete` gets the whole text once per answer, also
    when the model did not stream. The buffer is that of the latest answer: a new model call empties it. Made
    for one model call at a time; parallel ones would mix their text.
    """

    def __init__(
        self,
        on_token: Callable[[str], object] | None = None,
        on_complete: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__()
        self.on_token = on_token
        self.on_complete = on_complete
        self._parts: list[str] = []

    def get_buffer(self) -> str:
        """Return the text of the latest answer so far."""
        if len(self._parts) > 1:  # joined once: a reader per token does not pay for every fragment again
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def clear_buffer(self) -> None:
        self._parts = []

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        self.clear_buffer()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.clear_buffer()

    def on_llm_new_token(self, token: str | list[str | dict[str, Any]], **kwargs: Any) -> None:
        text = text_of(token)
        if not text:
            return
        self._parts.append(text)
        if self.on_token is not None:
            self._safe_call(self.on_token, text)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        if self.on_complete is not None:
            self._safe_call(self.on_complete, self.get_buffer() or _whole_text(response))


def _whole_text(response: LLMResult) -> str:
    message, answer = message_of(response), answer_of(response)
    if message is not None:
        return str(message.text)
    return answer.text if answer is not None else ""
