"""A chat model that plays a script: the tests' only double for a provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field, PrivateAttr


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; with `raw` its arguments go out as that text, whatever it is."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    raw: str | None = None
    fragments: int = 3


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class Gate:
    """The stream waits here: it sets `reached`, then waits for `open`."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Finish:
    reason: str


Piece = str | Call | Reasoning | Gate | Finish | Exception
Reply = Sequence[Piece]


class ScriptedLLM(BaseChatModel):
    """Plays one reply per model call, in order; the last one again when the script is over.

    `seen` holds the messages of every call, `bound` the tools of the last.
    """

    replies: list[Any] = Field(default_factory=list)
    model: str = "scripted/model"
    prompt_tokens: int = 10
    cost: str | None = "0.001"
    usage: bool = True
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[Any] = PrivateAttr(default_factory=list)
    _closed: int = PrivateAttr(default=0)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def bound(self) -> list[Any]:
        return self._bound

    @property
    def closed(self) -> int:
        """How many streams were closed before their end."""
        return self._closed

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        self._bound = list(tools)
        return self.bind(tools=tools, **kwargs)

    def _next(self, messages: list[BaseMessage]) -> Reply:
        self._seen.append(list(messages))
        return self.replies[min(len(self._seen), len(self.replies)) - 1]

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        is_whole = False
        try:
            async for chunk in self._play(self._next(messages)):
                yield chunk
            is_whole = True
        finally:
            self._closed += not is_whole

    async def _play(self, reply: Reply) -> AsyncIterator[ChatGenerationChunk]:
        finish, index = "stop", 0
        for piece in reply:
            match piece:
                case Exception():
                    raise piece
                case Gate():
                    piece.reached.set()
                    await piece.open.wait()
                case Finish():
                    finish = piece.reason
                case Call():
                    finish = "tool_calls" if finish == "stop" else finish
                    for chunk in _call_chunks(piece, index):
                        yield chunk
                    index += 1
                case Reasoning():
                    yield _chunk(additional_kwargs={"reasoning_content": piece.text})
                case str():
                    yield _chunk(content=piece)
        yield self._last(reply, finish)

    def _last(self, reply: Reply, finish: str) -> ChatGenerationChunk:
        out = sum(1 for piece in reply if isinstance(piece, str))
        usage = UsageMetadata(
            input_tokens=self.prompt_tokens, output_tokens=out, total_tokens=self.prompt_tokens + out
        )
        metadata = {"model_name": self.model, "finish_reason": finish}
        if self.cost is not None:
            metadata["cost"] = self.cost
        message = AIMessageChunk(
            content="",
            response_metadata=metadata,
            usage_metadata=usage if self.usage else None,
            chunk_position="last",
        )
        return ChatGenerationChunk(message=message)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._next(messages)
        for piece in reply:
            if isinstance(piece, Exception):
                raise piece
        text = "".join(piece for piece in reply if isinstance(piece, str))
        calls = [
            {"name": piece.name, "args": piece.arguments, "id": piece.id or f"call_{number}"}
            for number, piece in enumerate(reply)
            if isinstance(piece, Call)
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text, tool_calls=calls))])


def _call_chunks(call: Call, index: int) -> Iterator[ChatGenerationChunk]:
    text = json.dumps(call.arguments) if call.raw is None else call.raw
    step = max(1, -(-len(text) // call.fragments))
    parts = [text[start : start + step] for start in range(0, len(text), step)] or [""]
    for number, part in enumerate(parts):
        first = number == 0
        yield _chunk(
            tool_call_chunks=[
                tool_call_chunk(
                    name=call.name if first else None,
                    args=part,
                    id=(call.id or f"call_{index}") if first else None,
                    index=index,
                )
            ]
        )


def _chunk(content: str = "", **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))
