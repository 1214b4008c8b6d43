"""A Forge memory where LangChain wants a chat history (`RunnableWithMessageHistory` and the like)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from forge_core.langchain.conversation import ConversationMemory


class MemoryChatHistory(BaseChatMessageHistory):
    """Reads and writes `memory`, with its limits."""

    def __init__(self, memory: ConversationMemory) -> None:
        self.memory = memory

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # declared as a plain attribute there
        return self.memory.to_langchain_messages()

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        for message in messages:
            self.memory.add_langchain_message(message)

    def clear(self) -> None:
        """Forgets the history; the system message stays."""
        self.memory.clear_history()
