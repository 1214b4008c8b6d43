"""An answer put together from chunks: tool calls separated, reasoning blocks merged, metadata collected.

Providers are careless about the numbers of fragments. Here every call gets its own index, id and name exactly
once, even if two calls share an index, or ids are repeated on each fragment or missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from forge_core.llm.http.wire import SurrogateJoiner, choice_in, new_call_id, parse_json, read_chunk
from forge_core.llm.models import CompletionResponse, Message, StreamChunk, ToolCall, ToolCallDelta


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    wire_id: str | None
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class CallAssembler:
    """Assigns the fragments of tool calls to their calls."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self._current: dict[int, _Call] = {}

    def add(self, delta: ToolCallDelta) -> ToolCallDelta:
        """Return `delta` with the call's own index; its id on the first fragment only, its name only once."""
        # Fragments continue the latest call with their index; the index returned is our own.
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
        """Return whether `delta` starts another call: by a new id with a name, or a name after complete
        arguments."""
        if not delta.name:
            return False
        if delta.id and call.wire_id and delta.id != call.wire_id:
            return True
        # Without two ids to compare, only complete arguments show that a further name begins another call.
        return not (delta.id and call.wire_id) and _is_whole(call.arguments)

    def finished(self) -> list[ToolCall]:
        """Return the calls so far, in the order of their first fragments."""
        return [
            ToolCall(call.id, {"name": call.name, "arguments": "".join(call.arguments)})
            for call in self.calls
        ]


def _fresh_name(call: _Call, name: str | None) -> str | None:
    """Return what `name` adds to the call's name: all of it, a further piece, or nothing if it is
    repeated."""
    # Some providers repeat the whole name on each fragment, others send it in pieces.
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
                # Joined only in `finished`: growing a string per fragment would copy it each time.
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
        """Return copies of the blocks so far."""
        return [
            {key: "".join(self._pieces[id(block), key]) if (id(block), key) in self._pieces else value
             for key, value in block.items()}
            for block in self._blocks
        ]  # fmt: skip


def _is_other(block: dict[str, Any], detail: dict[str, Any]) -> bool:
    """Return whether a fragment without an index starts another block: encrypted data is always complete, and
    another id means another block."""
    if detail.get("type") == "reasoning.encrypted":
        return True
    known, new = block.get("id"), detail.get("id")
    return bool(known and new and known != new) or bool(block.get("signature") and detail.get("text"))


class AnswerAssembler:
    """Puts an answer together. After each chunk was added, `response()` is the answer."""

    def __init__(self) -> None:
        self._response = CompletionResponse(Message.assistant())
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._annotations: list[dict[str, Any]] = []
        self._calls = CallAssembler()
        self._details = ReasoningAssembler()

    def add(self, chunk: StreamChunk) -> list[ToolCallDelta]:
        """Add `chunk`; return its fragments of tool calls with their final indexes."""
        if chunk.text:
            self._texts.append(chunk.text)
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
        """Store the last value of each field: some providers repeat usage and finish reasons."""
        response = self._response
        if chunk.finish_reason:
            response.finish_reason = chunk.finish_reason
            response.native_finish_reason = chunk.native_finish_reason
        if chunk.usage is not None:
            response.usage = chunk.usage
            response.cost_details = chunk.cost_details
        if response.id is None or chunk.id != response.id:
            response.id = chunk.id or response.id
            response.model = chunk.model or response.model
            response.generation_id = chunk.generation_id or response.generation_id
        response.provider = chunk.provider or response.provider

    def response(self) -> CompletionResponse:
        """Return the answer so far."""
        extra: dict[str, Any] = {
            "reasoning": "".join(self._reasoning),
            "reasoning_details": self._details.finished(),
            "refusal": "".join(self._refusal),
            "annotations": list(self._annotations),
        }
        message = Message.assistant(
            "".join(self._texts),
            self._calls.finished(),
            **{key: value for key, value in extra.items() if value},
        )
        generation_id = self._response.generation_id or self._response.id
        return replace(self._response, message=message, generation_id=generation_id)


def read_response(payload: dict[str, Any], generation_id: str | None = None) -> CompletionResponse | None:
    """Return a whole answer, which is put together like a stream of one chunk; None without a choice."""
    choice = choice_in(payload)
    if not choice:
        return None
    chunk = read_chunk(payload)
    SurrogateJoiner().mend(chunk)
    chunk.generation_id = generation_id
    for place, delta in enumerate(chunk.tool_calls):
        delta.index = place  # calls of a whole answer are never fragments of one call
    answer = AnswerAssembler()
    answer.add(chunk)
    response = answer.response()
    response.raw = payload
    message = choice.get("message")
    whole = {
        "reasoning_details": chunk.reasoning_details,  # nor are these blocks
        "images": message.get("images") if isinstance(message, dict) else None,
    }
    response.message.extra.update({key: value for key, value in whole.items() if value})
    return response
