"""A reply in the provider's shape: server-sent events in fragments, or one JSON document.

The shapes are OpenRouter's (https://openrouter.ai/docs/api/reference/overview, …/streaming, …/errors).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forge_core.config.forge_config import OFFLINE_MODEL
from forge_core.llm.tokens import estimate_tokens
from forge_core.offline.conversation import Call
from forge_core.offline.steps import ModelReply

PROVIDER = "Forge offline"
CONTEXT_LENGTH = 200_000
MAX_CHUNKS = 240
"""Text fragments of one answer, at most: a long file arrives in larger pieces, not in more."""
_WORD_GROUP_CHARS = 14
_ARGUMENT_CHARS = 40
_WORDS = re.compile(r"\s*\S+\s*")


@dataclass(frozen=True, slots=True)
class ReplyEncoder:
    """Encodes one reply, as a document or as a stream of events."""

    reply: ModelReply
    id: str
    model: str
    prompt_tokens: int

    def document(self) -> dict[str, Any]:
        """Return the whole answer as one document."""
        calls = self.reply.calls
        message: dict[str, Any] = {"role": "assistant", "content": self.reply.text or None, "refusal": None}
        if calls:
            message["tool_calls"] = [
                {"index": n, "id": self._call_id(n), "type": "function"}
                | {"function": {"name": call.name, "arguments": _raw(call)}}
                for n, call in enumerate(calls)
            ]
        choice = {"index": 0, "message": message, "logprobs": None, **self._finish()}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def events(self) -> Iterator[bytes]:
        """Yield server-sent events: role, words, calls in fragments, finish reason, usage, [DONE]."""
        yield b": FORGE OFFLINE\n\n"
        yield self._event({"role": "assistant", "content": ""})
        for piece in pieces(self.reply.text):
            yield self._event({"content": piece})
        for index, call in enumerate(self.reply.calls):
            for fragment in _call_fragments(call, index, self._call_id(index)):
                yield self._event({"tool_calls": [fragment]})
        yield self._event({"content": ""}, **self._finish())
        yield _data({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def _usage(self) -> dict[str, Any]:
        """Return the estimated tokens, at no cost."""
        reply = self.reply
        completion = estimate_tokens(reply.text + "".join(call.name + _raw(call) for call in reply.calls))
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
            "cost": 0,
            "is_byok": False,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }

    def _head(self, kind: str) -> dict[str, Any]:
        made = {"object": kind, "created": int(time.time())}
        return {"id": self.id, "provider": PROVIDER, "model": self.model, **made}

    def _finish(self) -> dict[str, str]:
        reason = "tool_calls" if self.reply.calls else "stop"
        return {"finish_reason": reason, "native_finish_reason": reason}

    def _event(self, delta: Mapping[str, Any], **choice: str) -> bytes:
        finish: dict[str, Any] = choice or {"finish_reason": None, "native_finish_reason": None}
        body = {"index": 0, "delta": delta, "logprobs": None, **finish}
        return _data({**self._head("chat.completion.chunk"), "choices": [body]})

    def _call_id(self, index: int) -> str:
        return f"call_{self.id.rsplit('-', 1)[-1]}_{index}"


def pieces(text: str) -> Iterator[str]:
    """Return `text` in groups of whole words, at most MAX_CHUNKS of them; joined they are `text`."""
    least = max(_WORD_GROUP_CHARS, -(-len(text) // MAX_CHUNKS))
    start = 0
    for word in _WORDS.finditer(text):
        if word.end() - start >= least:
            yield text[start : word.end()]
            start = word.end()
    if start < len(text):
        yield text[start:]


def error(code: int, message: str, error_type: str) -> dict[str, Any]:
    """Return an error body as the provider words them."""
    return {"error": {"code": code, "message": message, "metadata": {"error_type": error_type}}}


def models() -> dict[str, Any]:
    """Return the catalogue of one."""
    text, taken = ["text"], ["text", "image"]
    price = {"prompt": "0", "completion": "0", "request": "0", "image": "0"}
    entry = {
        "id": OFFLINE_MODEL,
        "name": "Forge offline (rules, no AI)",
        "description": "Built into Forge: serves plain requests about the current folder without a network.",
        "context_length": CONTEXT_LENGTH,
        "pricing": price,
        "architecture": {
            "modality": "text+image->text",
            "input_modalities": taken,
            "output_modalities": text,
        },
        "supported_parameters": ["tools", "tool_choice"],
    }
    return {"data": [entry]}


def _data(document: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode("ascii") + b"\n\n"


def _raw(call: Call) -> str:
    return json.dumps(dict(call.arguments))


def _call_fragments(call: Call, index: int, call_id: str) -> Iterator[dict[str, Any]]:
    function = {"name": call.name, "arguments": ""}
    yield {"index": index, "id": call_id, "type": "function", "function": function}
    raw = _raw(call)
    size = max(_ARGUMENT_CHARS, -(-len(raw) // MAX_CHUNKS))
    for start in range(0, len(raw), size):
        yield {"index": index, "type": "function", "function": {"arguments": raw[start : start + size]}}
