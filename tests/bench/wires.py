"""The two protocols in which the loopback model answers, as server-sent events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Protocol

_MODEL = "bench/model"
_numbers = itertools.count()


class Wire(Protocol):
    """How an answer's beginning, text and end look."""

    def start(self) -> bytes: ...

    def text(self, fragment: str) -> bytes: ...

    def end(self, tokens: int) -> bytes: ...


class ChatCompletions:
    """OpenRouter's chat completions."""

    def start(self) -> bytes:
        return b""

    def text(self, fragment: str) -> bytes:
        return self._chunk({"choices": [{"index": 0, "delta": {"content": fragment}}]})

    def end(self, tokens: int) -> bytes:
        usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": tokens + 100}
        last = {
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": usage | {"cost": 0.001},
        }
        return self._chunk(last) + b"data: [DONE]\n\n"

    def calls(self, wanted: Sequence[tuple[str, dict[str, object]]]) -> bytes:
        """A whole answer that calls tools, each a name and its arguments."""
        made = [
            {
                "index": index,
                "id": f"call_{next(_numbers)}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(wanted)
        ]
        delta = {"choices": [{"index": 0, "delta": {"tool_calls": made}, "finish_reason": "tool_calls"}]}
        return self._chunk(delta) + self.end(10)

    @staticmethod
    def _chunk(value: dict[str, object]) -> bytes:
        chunk = {"id": "gen-1", "object": "chat.completion.chunk", "model": _MODEL, **value}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"


class Responses:
    """OpenAI's responses, which some of the programs that Forge is compared with speak."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def start(self) -> bytes:
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}
        return self._event("response.created", response={"id": "r1", "status": "in_progress"}) + self._event(
            "response.output_item.added", output_index=0, item=item
        )

    def text(self, fragment: str) -> bytes:
        self._said.append(fragment)
        return self._event(
            "response.output_text.delta", item_id="m1", output_index=0, content_index=0, delta=fragment
        )

    def end(self, tokens: int, calls: Sequence[tuple[str, dict[str, object] | str]] = ()) -> bytes:
        """The end of an answer, with calls of tools: a name and its arguments, or the text of a custom tool."""
        content = [{"type": "output_text", "text": "".join(self._said), "annotations": []}]
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 100,
        }
        items = [item, *(self._call(name, given) for name, given in calls)]
        response = {"id": "r1", "status": "completed", "output": items, "usage": usage}
        done = [
            self._event("response.output_item.done", output_index=index, item=one)
            for index, one in enumerate(items)
        ]
        return b"".join([*done, self._event("response.completed", response=response)])

    @staticmethod
    def _call(name: str, given: dict[str, object] | str) -> dict[str, object]:
        number = next(_numbers)
        call = {"id": f"c{number}", "call_id": f"call_{number}", "name": name, "status": "completed"}
        if isinstance(given, str):
            return {"type": "custom_tool_call", **call, "input": given}
        return {"type": "function_call", **call, "arguments": json.dumps(given)}

    @staticmethod
    def _event(kind: str, **fields: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
