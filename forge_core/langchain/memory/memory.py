"""Every kind of conversation memory: unlimited or limited, the last exchanges, with a summary."""

from __future__ import annotations

from typing import Any, Unpack

from langchain_core.language_models import BaseLanguageModel

from forge_core.errors import ConfigError
from forge_core.langchain.memory.conversation import ConversationMemory, MemoryOptions, at_least_one
from forge_core.langchain.memory.summary import summarize
from forge_core.llm.models import Message

__all__ = ["ConversationMemory", "SlidingWindowMemory", "SummaryMemory"]


class SlidingWindowMemory(ConversationMemory):
    """Keeps the last `window_size` exchanges: a user message and everything up to the next one.

    Raises:
        ConfigError: `window_size` is below 1.
    """

    def __init__(self, window_size: int = 10, **options: Unpack[MemoryOptions]) -> None:
        at_least_one("window_size", window_size)
        self.window_size = window_size
        super().__init__(**options)

    def _enforce_window(self) -> None:
        self._window.keep_exchanges(self.window_size)
        super()._enforce_window()


class SummaryMemory(ConversationMemory):
    """Replaces old messages by a summary that a model writes.

    Nothing happens by itself: `await maybe_summarize()` after a turn. The summary stands after the system
    message as a system note; a later one takes the former in. A `backend` keeps the messages, not
    the summary.

    Args:
        summary_threshold: messages of history above which it is time.
        summarizer: the chat model that writes; without one nothing is ever summarised.
        keep_recent: about how many messages stay as they are: no call is parted from its results or from its
            question. Half the threshold unless given.

    Raises:
        ConfigError: `keep_recent` is above `summary_threshold`, or one of them is below 1.
    """

    def __init__(
        self,
        summary_threshold: int = 20,
        summarizer: BaseLanguageModel[Any] | None = None,
        *,
        keep_recent: int | None = None,
        **options: Unpack[MemoryOptions],
    ) -> None:
        at_least_one("summary_threshold", summary_threshold)
        at_least_one("keep_recent", keep_recent)
        if keep_recent is not None and keep_recent > summary_threshold:
            raise ConfigError(
                f"keep_recent is {keep_recent}, above summary_threshold {summary_threshold}: lower it."
            )
        self.summary_threshold = summary_threshold
        self.keep_recent = keep_recent or max(1, summary_threshold // 2)
        self.summarizer = summarizer
        self.summary: str | None = None
        self._is_summarizing = False
        super().__init__(**options)

    def clear_history(self) -> None:
        super().clear_history()
        self.summary = None

    async def maybe_summarize(self) -> bool:
        """Summarises the older messages if there are more than the threshold; says whether it did.

        Messages may be added meanwhile. Where the history is cleared meanwhile, or the model answers nothing,
        all stays as it is, as it does when the model's failure is raised.
        """
        if self.summarizer is None or self._is_summarizing or len(self) <= self.summary_threshold:
            return False
        window = self._window
        old = window.older_than(self.keep_recent)
        if not old:
            return False
        self._is_summarizing = True
        try:
            messages = [entry.message for unit in old for entry in unit.entries]
            summary = await summarize(self.summarizer, messages, self.summary)
        finally:
            self._is_summarizing = False
        if not summary or window is not self._window:
            return False
        window.remove(old)
        self.summary = summary
        return True

    def _preface(self) -> list[Message]:
        if not self.summary:
            return super()._preface()
        return [*super()._preface(), Message.system(f"Summary of the conversation so far:\n{self.summary}")]
