"""Adapters between Forge tools and LangChain tools, in both directions."""

from forge_core.langchain.tools.adapters import (
    ForgeToolAdapter,
    LangChainToolAdapter,
    adapt_tools_for_forge,
    adapt_tools_for_langchain,
)

__all__ = ["ForgeToolAdapter", "LangChainToolAdapter", "adapt_tools_for_forge", "adapt_tools_for_langchain"]
