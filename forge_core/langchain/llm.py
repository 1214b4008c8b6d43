"""The import path of the chat model for users: `from forge_core.langchain.llm import OpenRouterLLM`."""

from forge_core.langchain.model.chat_model import OpenRouterLLM

__all__ = ["OpenRouterLLM"]
