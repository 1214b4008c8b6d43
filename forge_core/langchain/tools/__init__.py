"""Adapters between Forge tools and LangChain tools, in both directions."""

from forge_core.langchain.tools.adapters import (
    LangChainToolAdapter,
    adapt_tools_for_forge,
    adapt_tools_for_langchain,
)
from forge_core.langchain.tools.forge_tool_adapter import ForgeToolAdapter

__all__ = ["ForgeToolAdapter", "LangChainToolAdapter", "adapt_tools_for_forge", "adapt_tools_for_langchain"]
