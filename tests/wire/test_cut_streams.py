"""A stream that is cut anywhere: the step is sent again, no call runs twice and the answer is the same.

A server on loopback plays a recorded turn of two model calls, the first with reasoning, text and two tool
calls. Each case cuts one of the two answers after so many bytes, once, by a reset or by an end of the
connection without the rest, and serves it whole when it is asked for again. FORGE_FULL=1 cuts after every
byte, otherwise after every byte around the joints and a sample of the others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from forge_core.approval import Effect
from forge_core.errors import ConnectionFailedError
from forge_core.events import AgentEnd, AgentEvent, LLMChunk, LLMEnd, LLMStart, Retry, ToolStart
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.http import retry
from forge_core.llm.models import MessageRole
from forge_core.tools.base import BaseTool, ExecutionContext, ToolParameter, ToolResult
from tests.support.sse_server import MODEL, Cut, Reply, Reset, Seen, SseServer, Step

pytestmark = pytest.mark.slow


FIRST_ANSWER = b"".join(
    b"data: " + line + b"\n\n"
    for line in (
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{"reasoning":"Two notes."}}]}',
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{"content":"I note gr\u00fcn \ud83e\udd8a"}}]}',
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1",'
        rb'"type":"function","function":{"name":"note","arguments":"{\"text\":"}}]}}]}',
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,'
        rb'"function":{"arguments":"\"one\"}"}}]}}]}',
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2",'
        rb'"type":"function","function":{"name":"note","arguments":"{\"text\":\"two\"}"}}]}}]}',
        rb'{"id":"gen-a","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        rb'{"id":"gen-a","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}',
        b"[DONE]",
    )
)
LAST_ANSWER = b"".join(
    b"data: " + line + b"\n\n"
    for line in (
        rb'{"id":"gen-b","choices":[{"index":0,"delta":{"content":"Both are "}}]}',
        rb'{"id":"gen-b","choices":[{"index":0,"delta":{"content":"noted."},"finish_reason":"stop"}]}',
        rb'{"id":"gen-b","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}',
        b"[DONE]",
    )
)
ANSWERS = (FIRST_ANSWER, LAST_ANSWER)


@dataclass
class Note(BaseTool):
    """Writes down what it is called with."""

    name = "note"
    description = "Takes a note."
    parameters = (ToolParameter("text", "string", "the note"),)
    effect = Effect.READ
    taken: list[str] = field(default_factory=list)

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.taken.append(params["text"])
        return ToolResult(True, f"noted {params['text']}")


def offsets(data: bytes) -> list[int]:
    """After how many bytes to cut: all in a full run, else those around each line end and every 29th."""
    if os.environ.get("FORGE_FULL"):
        return list(range(len(data)))
    joints = {at + step for at, byte in enumerate(data) if byte == 0x0A for step in (-1, 0, 1)}
    return sorted(joints.union(range(0, len(data), 29)) & set(range(len(data))))


def cut(data: bytes, at: int, end: Step) -> Reply:
    return Reply([data[:at], end], framing="close" if isinstance(end, Cut) else "chunked")


async def run(step: int, broken: Reply) -> tuple[ForgeAgent, Note, list[AgentEvent], list[Any]]:
    """The events of a turn whose answer number `step` comes as `broken` at first; and its requests."""
    note, broken_replies = Note(), [broken]

    def reply(seen: Seen) -> Reply:
        current = int(seen.json["messages"][-1]["role"] == "tool")
        return broken_replies.pop() if current == step and broken_replies else Reply([ANSWERS[current]])

    with SseServer(routes={"POST /chat/completions": reply}) as server:
        async with OpenRouterClient("sk-or-test", server.base_url) as client:
            agent = ForgeAgent(llm=OpenRouterLLM(client=client, model=MODEL), tools=[note])
            events = [event async for event in agent.stream("Take two notes.")]
        return agent, note, events, [seen.json["messages"] for seen in server.requests]


def assert_valid(messages: Sequence[dict[str, Any]]) -> None:
    """Every call is answered, in order, right behind the message that makes it."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert not waiting


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.0)


@pytest.mark.parametrize("end", [Reset(), Cut()], ids=["reset", "truncated"])
@pytest.mark.parametrize("step", [0, 1], ids=["with-calls", "last"])
async def test_a_stream_cut_after_any_byte_gives_the_same_turn(step: int, end: Step) -> None:
    expected = [
        MessageRole.USER,
        MessageRole.ASSISTANT,
        MessageRole.TOOL,
        MessageRole.TOOL,
        MessageRole.ASSISTANT,
    ]
    for at in offsets(ANSWERS[step]):
        agent, note, events, requests = await run(step, cut(ANSWERS[step], at, end))
        result = events[-1]
        assert isinstance(result, AgentEnd), at
        assert (result.result.stopped_reason, result.result.output) == ("complete", "Both are noted."), at
        assert result.result.iterations == 2, at
        assert note.taken == ["one", "two"], at
        assert [message.role for message in agent.memory.get_history()] == expected, at
        assert not any(message.extra.get("partial") for message in agent.memory.get_history()), at
        assert not agent.is_resumable
        for messages in requests:
            assert_valid(messages)
        assert_told(events, at)


def assert_told(events: list[AgentEvent], at: int) -> None:
    """Each start has its end; a reader that drops what a notice voids has each text once."""
    texts: list[str] = []
    answer = ""
    open_calls = 0
    for event in events:
        match event:
            case LLMStart():
                open_calls, answer = open_calls + 1, ""
            case LLMEnd():
                open_calls -= 1
                texts.append(answer)
            case Retry(discards_answer=True):
                texts.pop()
            case LLMChunk(kind="answer", text=text):
                answer += text
            case ToolStart():
                assert open_calls == 0, at
    assert open_calls == 0, at
    assert texts == ["I note grün 🦊", "Both are noted."], at


async def test_a_directly_read_broken_stream_raises_without_repeating_text() -> None:
    broken = cut(FIRST_ANSWER, FIRST_ANSWER.index(b"tool_calls"), Cut())
    with SseServer(broken, Reply([FIRST_ANSWER])) as server:
        async with OpenRouterClient("sk-or-test", server.base_url) as client:
            texts = []
            with pytest.raises(ConnectionFailedError) as caught:
                async for chunk in OpenRouterLLM(client=client, model=MODEL).astream("Take two notes."):
                    texts.append(chunk.text)
        assert len(server.requests) == 1
    assert "".join(texts) == caught.value.partial_text == "I note grün 🦊"
