"""The provider's protocol: values, and the client that speaks it. No LangChain here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.models import (
        CompletionRequest,
        CompletionResponse,
        Message,
        MessageRole,
        StreamChunk,
        TokenUsage,
        ToolCall,
        ToolDefinition,
    )

_MODELS = (
    "CompletionRequest",
    "CompletionResponse",
    "Message",
    "MessageRole",
    "StreamChunk",
    "TokenUsage",
    "ToolCall",
    "ToolDefinition",
)

__getattr__, __dir__ = lazy_exports(
    __name__,
    {"OpenRouterClient": "forge_core.llm.client", **dict.fromkeys(_MODELS, "forge_core.llm.models")},
)

__all__ = [
    "CompletionRequest",
    "CompletionResponse",
    "Message",
    "MessageRole",
    "OpenRouterClient",
    "StreamChunk",
    "TokenUsage",
    "ToolCall",
    "ToolDefinition",
]
