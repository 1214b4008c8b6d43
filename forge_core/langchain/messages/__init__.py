"""Conversion of messages between Forge and LangChain."""

from forge_core.langchain.messages.conversion import (
    forge_messages_to_langchain,
    forge_to_langchain,
    langchain_calls,
    langchain_messages_to_forge,
    langchain_to_forge,
    parse_arguments,
)

__all__ = [
    "forge_messages_to_langchain",
    "forge_to_langchain",
    "langchain_calls",
    "langchain_messages_to_forge",
    "langchain_to_forge",
    "parse_arguments",
]
