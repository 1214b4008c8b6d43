"""Messages with tau2's fields and its checks, without audio effects and turn taking."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


def get_now() -> str:
    return datetime.now().isoformat()


class SystemMessage(BaseModel):
    role: Literal["system"]
    content: str | None = None
    turn_idx: int | None = None
    timestamp: str | None = Field(default_factory=get_now)


class ToolCall(BaseModel):
    id: str = ""
    name: str
    arguments: dict[str, Any]
    requestor: Literal["user", "assistant"] = "assistant"


class _ParticipantMessage(BaseModel):
    role: str
    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    is_audio: bool = False
    audio_content: str | None = Field(default=None, exclude=True)
    turn_idx: int | None = None
    timestamp: str | None = Field(default_factory=get_now)
    cost: float | None = None
    usage: dict[str, Any] | None = None
    raw_data: dict[str, Any] | None = None
    generation_time_seconds: float | None = None

    def validate(self) -> None:  # type: ignore[override]
        if not (self.has_text_content() or self.is_tool_call()):
            raise ValueError(f"{type(self).__name__} must have either content or tool_calls. Got {self}")

    def has_text_content(self) -> bool:
        return self.content is not None and bool(self.content.strip())

    def is_tool_call(self) -> bool:
        return self.tool_calls is not None


class AssistantMessage(_ParticipantMessage):
    role: Literal["assistant"]


class UserMessage(_ParticipantMessage):
    role: Literal["user"]


class ToolMessage(BaseModel):
    id: str
    role: Literal["tool"]
    content: str | None = None
    requestor: Literal["user", "assistant"] = "assistant"
    error: bool = False
    turn_idx: int | None = None
    timestamp: str | None = Field(default_factory=get_now)


class MultiToolMessage(BaseModel):
    role: Literal["tool"]
    tool_messages: list[ToolMessage]
