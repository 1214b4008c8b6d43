"""Conversation memory: plain, sliding window, summary."""

from forge_core.langchain.memory.conversation import ConversationMemory, SlidingWindowMemory
from forge_core.langchain.memory.summary import SummaryMemory

__all__ = ["ConversationMemory", "SlidingWindowMemory", "SummaryMemory"]
