"""A LangChain tool to bind to a chat model."""

from __future__ import annotations

from langchain_core.tools import tool


@tool
def read_file(path: str) -> str:
    """Reads a file."""
    return path
