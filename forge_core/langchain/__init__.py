"""The only package that knows LangChain: chat model, tool adapters, memory, callbacks and the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.events import AgentEvent, AgentEventType
    from forge_core.langchain.agent import ForgeAgent
    from forge_core.langchain.callbacks import (
        CompositeCallback,
        ForgeCallbackHandler,
        LoggingCallback,
        StreamingCallback,
        TokenTrackingCallback,
    )
    from forge_core.langchain.llm import OpenRouterLLM
    from forge_core.langchain.memory import ConversationMemory, SlidingWindowMemory, SummaryMemory
    from forge_core.langchain.messages import (
        forge_messages_to_langchain,
        forge_to_langchain,
        langchain_messages_to_forge,
        langchain_to_forge,
    )
    from forge_core.langchain.tools import (
        ForgeToolAdapter,
        LangChainToolAdapter,
        adapt_tools_for_forge,
        adapt_tools_for_langchain,
    )
    from forge_core.result import AgentResult, ToolCallRecord

_HERE = "forge_core.langchain"
_EXPORTS = {
    "AgentEvent": "forge_core.events",
    "AgentEventType": "forge_core.events",
    "AgentResult": "forge_core.result",
    "CompositeCallback": f"{_HERE}.callbacks",
    "ConversationMemory": f"{_HERE}.memory",
    "ForgeAgent": f"{_HERE}.agent",
    "ForgeCallbackHandler": f"{_HERE}.callbacks",
    "ForgeToolAdapter": f"{_HERE}.tools",
    "LangChainToolAdapter": f"{_HERE}.tools",
    "LoggingCallback": f"{_HERE}.callbacks",
    "OpenRouterLLM": f"{_HERE}.llm",
    "SlidingWindowMemory": f"{_HERE}.memory",
    "StreamingCallback": f"{_HERE}.callbacks",
    "SummaryMemory": f"{_HERE}.memory",
    "TokenTrackingCallback": f"{_HERE}.callbacks",
    "ToolCallRecord": "forge_core.result",
    "adapt_tools_for_forge": f"{_HERE}.tools",
    "adapt_tools_for_langchain": f"{_HERE}.tools",
    "forge_messages_to_langchain": f"{_HERE}.messages",
    "forge_to_langchain": f"{_HERE}.messages",
    "langchain_messages_to_forge": f"{_HERE}.messages",
    "langchain_to_forge": f"{_HERE}.messages",
}

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)

__all__ = [
    "AgentEvent",
    "AgentEventType",
    "AgentResult",
    "CompositeCallback",
    "ConversationMemory",
    "ForgeAgent",
    "ForgeCallbackHandler",
    "ForgeToolAdapter",
    "LangChainToolAdapter",
    "LoggingCallback",
    "OpenRouterLLM",
    "SlidingWindowMemory",
    "StreamingCallback",
    "SummaryMemory",
    "TokenTrackingCallback",
    "ToolCallRecord",
    "adapt_tools_for_forge",
    "adapt_tools_for_langchain",
    "forge_messages_to_langchain",
    "forge_to_langchain",
    "langchain_messages_to_forge",
    "langchain_to_forge",
]
