"""The values that travel between the provider client and everything above it.

Plain dataclasses, checked by hand: pydantic reads the wire (`wire.py`), nothing else needs it.
Names follow the OpenAI chat-completions protocol as OpenRouter speaks it
(https://openrouter.ai/docs/api/reference/overview).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

Content: TypeAlias = "str | list[dict[str, Any]] | None"
"""Text, or a list of content parts ({"type": "text" | "image_url" | "file" | …}), or nothing."""
UserContent: TypeAlias = "str | list[dict[str, Any]]"
"""What a user sends: text, or content parts."""


class MessageRole(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(slots=True)
class ToolCall:
    """A call that the model requests. `function` holds `name` and `arguments` (raw JSON text, maybe
    malformed)."""

    id: str
    function: dict[str, str]
    type: str = "function"

    @property
    def name(self) -> str:
        return self.function.get("name", "")

    @property
    def arguments(self) -> str:
        return self.function.get("arguments", "")


@dataclass(slots=True)
class Message:
    """One entry of a conversation."""

    role: MessageRole
    content: Content = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    """On a tool result: the call that it answers."""
    name: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """What must survive a round trip and has no field of its own: `reasoning`, `reasoning_details`, `id`,
    `usage`, `status` ("error" on a failed tool result), `partial` (True on an interrupted answer), …"""

    @property
    def text(self) -> str:
        """The text of the content, its text parts joined."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")

    @classmethod
    def system(cls, content: Content, **extra: Any) -> Message:
        return cls(MessageRole.SYSTEM, content, extra=extra)

    @classmethod
    def user(cls, content: Content, **extra: Any) -> Message:
        return cls(MessageRole.USER, content, extra=extra)

    @classmethod
    def assistant(
        cls, content: Content = None, tool_calls: list[ToolCall] | None = None, **extra: Any
    ) -> Message:
        return cls(MessageRole.ASSISTANT, content, tool_calls=tool_calls or None, extra=extra)

    @classmethod
    def tool_result(cls, tool_call_id: str, content: Content, **extra: Any) -> Message:
        return cls(MessageRole.TOOL, content, tool_call_id=tool_call_id, extra=extra)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens and price of one or more calls, as the provider counts them.

    `cached_tokens`, `cache_write_tokens` and `audio_input_tokens` are subsets of `prompt_tokens`,
    `reasoning_tokens` and `audio_output_tokens` of `completion_tokens`. `cost_usd` is None where the price is
    unknown: never 0 for "don't know".
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: Decimal | None = None
    estimated: bool = False
    """True where any figure is our estimate and not the provider's count."""
    audio_input_tokens: int = 0
    audio_output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Return the sum; its cost is unknown if that of a part that used tokens is."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in TOKEN_COUNTS}
        is_estimate = self.estimated or other.estimated
        return TokenUsage(**counts, cost_usd=_sum_cost(self, other), estimated=is_estimate)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures JSON-ready; the cost as a string, so that no digit is lost."""
        return {
            **{name: getattr(self, name) for name in TOKEN_COUNTS},
            "total_tokens": self.total_tokens,
            "cost_usd": None if self.cost_usd is None else str(self.cost_usd),
            "estimated": self.estimated,
        }


TOKEN_COUNTS = tuple(field.name for field in fields(TokenUsage) if field.type == "int")
"""The fields of TokenUsage that count tokens."""


def _sum_cost(a: TokenUsage, b: TokenUsage) -> Decimal | None:
    if a.total_tokens == 0 and a.cost_usd is None:
        return b.cost_usd
    if b.total_tokens == 0 and b.cost_usd is None:
        return a.cost_usd
    if a.cost_usd is None or b.cost_usd is None:
        return None
    return a.cost_usd + b.cost_usd


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """The description of a tool for the provider; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool | None = None

    def as_openai(self) -> dict[str, Any]:
        function: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        if self.strict is not None:
            function["strict"] = self.strict
        return {"type": "function", "function": function}


@dataclass(slots=True)
class CompletionRequest:
    """One request. Only what is set is sent; `extra` goes into the body as is (reasoning, provider, …)."""

    model: str
    messages: list[Message]
    tools: list[ToolDefinition | dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: list[str] | None = None
    response_format: dict[str, Any] | None = None
    fallbacks: tuple[str, ...] = ()
    """Models that answer, in this order, when `model` cannot."""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class CompletionResponse:
    """One whole answer."""

    message: Message
    model: str = ""
    """The model that answered; the price follows it."""
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    usage: TokenUsage | None = None
    id: str | None = None
    provider: str | None = None
    generation_id: str | None = None
    """The `X-Generation-Id` header: the only handle on a cancelled generation."""
    cost_details: dict[str, Any] | None = None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ToolCallDelta:
    """A fragment of a streamed tool call. Two calls may share an index; then they differ by `id`."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(slots=True)
class StreamChunk:
    """The content of one event of a stream. The last one has `finish_reason` and usually `usage`."""

    text: str = ""
    reasoning: str = ""
    reasoning_details: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[ToolCallDelta] = field(default_factory=list)
    refusal: str = ""
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    usage: TokenUsage | None = None
    model: str | None = None
    provider: str | None = None
    id: str | None = None
    generation_id: str | None = None
    cost_details: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    comment: str | None = None
    """The text of a keep-alive comment (": OPENROUTER PROCESSING"); such a chunk carries nothing else."""
