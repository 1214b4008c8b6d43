"""Callback handlers: token tracking, logging, streaming, composite."""

from forge_core.langchain.callbacks.base import CompositeCallback, ForgeCallbackHandler
from forge_core.langchain.callbacks.logging import LoggingCallback
from forge_core.langchain.callbacks.streaming import StreamingCallback
from forge_core.langchain.callbacks.token_tracking import TokenTrackingCallback

__all__ = [
    "CompositeCallback",
    "ForgeCallbackHandler",
    "LoggingCallback",
    "StreamingCallback",
    "TokenTrackingCallback",
]
