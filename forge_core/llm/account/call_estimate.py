"""What a model call will need, before it is made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal

from forge_core.images.image_reference import media_tokens
from forge_core.llm.account.pricing import Pricer
from forge_core.llm.models import CompletionRequest, Message, TokenUsage, ToolDefinition

_CHARS_PER_TOKEN = 4
"""For a picture or a file, whose encoded data says nothing about its tokens."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A model call that is about to be made."""

    model: str
    chars: int
    """Characters of the request, tools included."""
    max_tokens: int | None
    """The longest answer that the request allows; None if it does not say."""
    price: Pricer

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Decimal | None:
        """Return the price of the call with these tokens, none of them cached; None where it is unknown."""
        return self.price(
            self.model, TokenUsage(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
        )


def planned_call(request: CompletionRequest, price: Pricer) -> PlannedCall:
    """Measure a request. Adds up lengths only: far below a millisecond for a full window."""
    chars = sum(map(_message_chars, request.messages)) + sum(map(_tool_chars, request.tools or ()))
    return PlannedCall(request.model, chars, request.max_tokens, price)


def _message_chars(message: Message) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls or ())
    if isinstance(message.content, list):
        return calls + len(message.text) + media_tokens(message.content) * _CHARS_PER_TOKEN
    return calls + len(message.content or "")


def _tool_chars(tool: ToolDefinition | dict[str, object]) -> int:
    wire = tool.as_openai() if isinstance(tool, ToolDefinition) else tool
    return len(json.dumps(wire, ensure_ascii=False, default=str))
