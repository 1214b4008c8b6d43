"""Conversation memory: plain, sliding window, summary."""

from forge_core.langchain.memory.conversation import ConversationMemory
from forge_core.langchain.memory.memory import SlidingWindowMemory, SummaryMemory

__all__ = ["ConversationMemory", "SlidingWindowMemory", "SummaryMemory"]
