"""The only package that knows LangChain: chat model, tool adapters, memory, callbacks and the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.events import AgentEvent as AgentEvent
    from forge_core.events import AgentEventType as AgentEventType
    from forge_core.langchain.agent import ForgeAgent as ForgeAgent
    from forge_core.langchain.callbacks import CompositeCallback as CompositeCallback
    from forge_core.langchain.callbacks import ForgeCallbackHandler as ForgeCallbackHandler
    from forge_core.langchain.callbacks import LoggingCallback as LoggingCallback
    from forge_core.langchain.callbacks import StreamingCallback as StreamingCallback
    from forge_core.langchain.callbacks import TokenTrackingCallback as TokenTrackingCallback
    from forge_core.langchain.llm import OpenRouterLLM as OpenRouterLLM
    from forge_core.langchain.memory import ConversationMemory as ConversationMemory
    from forge_core.langchain.memory import SlidingWindowMemory as SlidingWindowMemory
    from forge_core.langchain.memory import SummaryMemory as SummaryMemory
    from forge_core.langchain.messages import forge_messages_to_langchain as forge_messages_to_langchain
    from forge_core.langchain.messages import forge_to_langchain as forge_to_langchain
    from forge_core.langchain.messages import langchain_messages_to_forge as langchain_messages_to_forge
    from forge_core.langchain.messages import langchain_to_forge as langchain_to_forge
    from forge_core.langchain.tools import ForgeToolAdapter as ForgeToolAdapter
    from forge_core.langchain.tools import LangChainToolAdapter as LangChainToolAdapter
    from forge_core.langchain.tools import adapt_tools_for_forge as adapt_tools_for_forge
    from forge_core.langchain.tools import adapt_tools_for_langchain as adapt_tools_for_langchain
    from forge_core.result import AgentResult as AgentResult
    from forge_core.result import ToolCallRecord as ToolCallRecord

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.events": ("AgentEvent", "AgentEventType"),
        "forge_core.langchain.agent": ("ForgeAgent",),
        "forge_core.langchain.callbacks": (
            "CompositeCallback",
            "ForgeCallbackHandler",
            "LoggingCallback",
            "StreamingCallback",
            "TokenTrackingCallback",
        ),
        "forge_core.langchain.llm": ("OpenRouterLLM",),
        "forge_core.langchain.memory": ("ConversationMemory", "SlidingWindowMemory", "SummaryMemory"),
        "forge_core.langchain.messages": (
            "forge_messages_to_langchain",
            "forge_to_langchain",
            "langchain_messages_to_forge",
            "langchain_to_forge",
        ),
        "forge_core.langchain.tools": (
            "ForgeToolAdapter",
            "LangChainToolAdapter",
            "adapt_tools_for_forge",
            "adapt_tools_for_langchain",
        ),
        "forge_core.result": ("AgentResult", "ToolCallRecord"),
    },
)
