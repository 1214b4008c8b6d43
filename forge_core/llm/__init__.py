"""The provider's protocol: values, and the client that speaks it. No LangChain here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.llm.client import OpenRouterClient as OpenRouterClient
    from forge_core.llm.models import CompletionRequest as CompletionRequest
    from forge_core.llm.models import CompletionResponse as CompletionResponse
    from forge_core.llm.models import Message as Message
    from forge_core.llm.models import MessageRole as MessageRole
    from forge_core.llm.models import StreamChunk as StreamChunk
    from forge_core.llm.models import TokenUsage as TokenUsage
    from forge_core.llm.models import ToolCall as ToolCall
    from forge_core.llm.models import ToolDefinition as ToolDefinition

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.llm.client": ("OpenRouterClient",),
        "forge_core.llm.models": (
            "CompletionRequest",
            "CompletionResponse",
            "Message",
            "MessageRole",
            "StreamChunk",
            "TokenUsage",
            "ToolCall",
            "ToolDefinition",
        ),
    },
)
