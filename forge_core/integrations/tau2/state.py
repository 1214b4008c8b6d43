"""What the agent knows of one conversation."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ConfigDict, Field


class Tau2ForgeState(BaseModel):
    """Both histories of one conversation, always of the same length and roles."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    system_messages: list[Any] = Field(default_factory=list)
    """tau2's SystemMessage, one."""
    messages: list[Any] = Field(default_factory=list)
    """tau2's messages, each tool result on its own."""
    langchain_messages: list[BaseMessage] = Field(default_factory=list)
    """The same as the model gets them."""
    tool_execution_cache: dict[str, Any] = Field(default_factory=dict)
    """React mode: the results that the copied toolkit gave to the calls of the last message, by call id."""
    prepared_text: str | None = None
    """React mode: what is said next if the real results are those."""


LangChainAgentState = Tau2ForgeState
"""The name of an earlier agent's state."""
