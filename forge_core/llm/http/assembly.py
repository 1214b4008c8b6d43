"""A streamed answer put together: tool calls told apart, reasoning blocks merged, metadata remembered.

Providers number fragments carelessly. Here every call gets its own index, id and name exactly once, whatever
came: two calls under one index, ids repeated on each fragment, or none at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from forge_core.llm.http.wire import new_call_id, parse_json
from forge_core.llm.models import (
    CompletionResponse,
    Message,
    StreamChunk,
    TokenUsage,
    ToolCall,
    ToolCallDelta,
)


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    wire_id: str | None
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class CallAssembler:
    """Tells the fragments of tool calls apart."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self._current: dict[int, _Call] = {}

    def add(self, delta: ToolCallDelta) -> ToolCallDelta:
        """`delta` with the call's own index; its id only on the call's first fragment, its name only once."""
        # Fragments continue the latest call of their index; the index that is given out is our own.
        call = self._current.get(delta.index)
        if call is None or self._starts_another(call, delta):
            call = _Call(len(self.calls), delta.id or new_call_id(), delta.id)
            self.calls.append(call)
            self._current[delta.index] = call
            first_id: str | None = call.id
        else:
            first_id = None
            call.wire_id = call.wire_id or delta.id
        name = _fresh_name(call, delta.name)
        call.name += name or ""
        if delta.arguments:
            call.arguments.append(delta.arguments)
        return ToolCallDelta(call.index, first_id, name, delta.arguments)

    @staticmethod
    def _starts_another(call: _Call, delta: ToolCallDelta) -> bool:
        """A new id with a name is another call; so is a name after arguments that are already whole."""
        if not delta.name:
            return False
        if delta.id and call.wire_id and delta.id != call.wire_id:
            return True
        return not (delta.id and call.wire_id) and _is_whole(call.arguments)

    def finished(self) -> list[ToolCall]:
        """The calls so far, in the order of their first fragments."""
        return [
            ToolCall(call.id, {"name": call.name, "arguments": "".join(call.arguments)})
            for call in self.calls
        ]


def _fresh_name(call: _Call, name: str | None) -> str | None:
    """What `name` adds: nothing when it repeats the name; the whole or a further piece of it otherwise."""
    if not name or name == call.name or call.arguments:
        return name if name and not call.name else None
    return name


def _is_whole(arguments: list[str]) -> bool:
    if not arguments or not arguments[-1].rstrip().endswith("}"):
        return False
    try:
        return isinstance(parse_json("".join(arguments)), dict)
    except ValueError:
        return False


class ReasoningAssembler:
    """Merges the fragments of `reasoning_details` into blocks that can be sent back.

    Fragments of one block share type and index; text, summary and data are joined in order of arrival, of the
    other fields the last value that is not null counts (the signature comes in a last fragment without text).
    """

    _JOINED = frozenset({"text", "summary", "data"})

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def add(self, detail: dict[str, Any]) -> None:
        block = self._block_for(detail)
        for field_name, value in detail.items():
            if field_name in self._JOINED and isinstance(value, str):
                block.setdefault(field_name, "")
                self._pieces.setdefault((id(block), field_name), []).append(value)
            elif value is not None or field_name not in block:
                block[field_name] = value

    def _block_for(self, detail: dict[str, Any]) -> dict[str, Any]:
        index = detail.get("index")
        key = (str(detail.get("type")), str(index))
        block = self._by_key.get(key)
        if block is None or (index is None and _is_other(block, detail)):
            block = {}
            self._blocks.append(block)
            self._by_key[key] = block
        return block

    def finished(self) -> list[dict[str, Any]]:
        """The blocks so far, each a copy."""
        return [
            {key: "".join(self._pieces[id(block), key]) if (id(block), key) in self._pieces else value
             for key, value in block.items()}
            for block in self._blocks
        ]  # fmt: skip


def _is_other(block: dict[str, Any], detail: dict[str, Any]) -> bool:
    """Without an index: encrypted data is always whole, and another id is another block."""
    if detail.get("type") == "reasoning.encrypted":
        return True
    known, new = block.get("id"), detail.get("id")
    return bool(known and new and known != new) or bool(block.get("signature") and detail.get("text"))


class AnswerAssembler:
    """What a stream has brought so far. `add` each chunk; then `response()` is the answer as `complete()`
    gives it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.usage: TokenUsage | None = None
        self.finish_reason: str | None = None
        self.native_finish_reason: str | None = None
        self.model: str | None = None
        self.provider: str | None = None
        self.id: str | None = None
        self.generation_id: str | None = None
        self.cost_details: dict[str, Any] | None = None
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._annotations: list[dict[str, Any]] = []
        self._calls = CallAssembler()
        self._details = ReasoningAssembler()

    @property
    def calls(self) -> list[ToolCall]:
        return self._calls.finished()

    @property
    def reasoning_details(self) -> list[dict[str, Any]]:
        return self._details.finished()

    @property
    def refusal(self) -> str:
        return "".join(self._refusal)

    @property
    def annotations(self) -> list[dict[str, Any]]:
        return list(self._annotations)

    def add(self, chunk: StreamChunk) -> list[ToolCallDelta]:
        """Takes `chunk` in; gives its tool call fragments with their final indexes."""
        if chunk.text:
            self.texts.append(chunk.text)
        if chunk.reasoning:
            self._reasoning.append(chunk.reasoning)
        for detail in chunk.reasoning_details:
            self._details.add(detail)
        if chunk.refusal:
            self._refusal.append(chunk.refusal)
        if chunk.annotations:
            self._annotations.extend(chunk.annotations)
        self._remember(chunk)
        return [self._calls.add(delta) for delta in chunk.tool_calls] if chunk.tool_calls else []

    def _remember(self, chunk: StreamChunk) -> None:
        """Keeps the last value of each field: usage and finish reasons are repeated by some providers."""
        if chunk.finish_reason:
            self.finish_reason = chunk.finish_reason
            self.native_finish_reason = chunk.native_finish_reason
        if chunk.usage is not None:
            self.usage = chunk.usage
            self.cost_details = chunk.cost_details
        if self.id is None or chunk.id != self.id:
            self.id = chunk.id or self.id
            self.model = chunk.model or self.model
            self.generation_id = chunk.generation_id or self.generation_id
        self.provider = chunk.provider or self.provider

    def response(self) -> CompletionResponse:
        """The answer so far."""
        extra: dict[str, Any] = {
            "reasoning": "".join(self._reasoning),
            "reasoning_details": self.reasoning_details,
            "refusal": self.refusal,
            "annotations": self.annotations,
        }
        message = Message.assistant(
            "".join(self.texts), self.calls, **{key: value for key, value in extra.items() if value}
        )
        return CompletionResponse(
            message=message,
            model=self.model or "",
            finish_reason=self.finish_reason,
            native_finish_reason=self.native_finish_reason,
            usage=self.usage,
            id=self.id,
            provider=self.provider,
            generation_id=self.generation_id or self.id,
            cost_details=self.cost_details,
        )
