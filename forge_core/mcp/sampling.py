"""Requests of servers for an answer from the user's model. The user sees each request, and each answer before
it is sent.

https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from forge_core.approval import Question, Questioner, QuestionOption, QuestionRequest
from forge_core.errors import ForgeError
from forge_core.mcp.elicitation import UnaskableError
from forge_core.mcp.server_questions import ServerQuestion
from forge_core.sanitize import safe_line

MAX_CHARS = 20_000
"""Of a request, all of which is shown."""
REFUSE, ALLOW = "Decline", "Let the model answer, this once"
KEEP, SEND = "Do not send it", "Send it to the server"
_ROLES = {"user": "User", "assistant": "Model"}


@dataclass(frozen=True, slots=True)
class SampleMessage:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """What a server wants the model to answer. All text in it is untrusted."""

    messages: tuple[SampleMessage, ...]
    system: str
    """The system prompt; empty for none."""
    max_tokens: int
    temperature: float | None
    stop: tuple[str, ...]

    @classmethod
    def read(cls, params: Mapping[str, Any]) -> SampleRequest:
        """Return the request with these parameters, which have the types of the protocol. Raises
        UnaskableError."""
        messages = tuple(_message(one) for one in params.get("messages", ()))
        system, stop = params.get("systemPrompt") or "", tuple(params.get("stopSequences") or ())
        if params.get("tools"):
            raise UnaskableError("it wants the model to call tools, which Forge does not let it")
        size = len(system) + sum(len(one.text) for one in messages) + sum(map(len, stop))
        if size > MAX_CHARS:
            raise UnaskableError(f"its request has {size:,} characters; at most {MAX_CHARS:,} are shown")
        if not messages:
            raise UnaskableError("its request has no messages")
        return cls(messages, system, max(params["maxTokens"], 1), params.get("temperature"), stop)

    def text(self, model: str) -> str:
        """Return what the user is shown. The texts of the server are indented."""
        return "\n".join(self._lines(model))

    def _lines(self, model: str) -> Iterator[str]:
        yield f"It asks for an answer from {safe_line(model)}, of at most {self.max_tokens:,} tokens."
        yield "The answer counts towards your tokens, cost and budget."
        parts = [("System prompt", self.system)] if self.system else []
        parts += [(_ROLES[one.role], one.text) for one in self.messages]
        if self.stop:
            parts.append(("The answer ends before", "\n".join(map(repr, self.stop))))
        for head, text in parts:
            yield from ("", f"{head}:", *_indented(text))


def _message(item: Mapping[str, Any]) -> SampleMessage:
    content = item["content"]
    blocks = content if isinstance(content, list) else [content]
    if any(one.get("type") != "text" for one in blocks):
        raise UnaskableError("its request holds more than text, which Forge does not send to the model")
    return SampleMessage(item["role"], "\n".join(one["text"] for one in blocks))


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """The model's answer."""

    text: str
    model: str
    is_cut: bool
    """Whether it ends at the longest length."""


async def sampled(
    asked: ServerQuestion,
    model: str,
    ask: Questioner,
    answer: Callable[[SampleRequest], Awaitable[SampleAnswer]],
    report: Callable[[str], None],
) -> Mapping[str, Any] | None:
    """Return the result for the server, as in the protocol; None if the user declines, there is no user, or
    the model does not answer. `model` is the one that would answer; `report` says what went wrong."""
    name = asked.server.name
    try:
        request = SampleRequest.read(asked.params)
        reply = await ask(_question(asked, request.text(model), "Sampling", REFUSE, ALLOW))
        if reply.declined or reply.answers != ((ALLOW,),):
            return None
        found = await answer(request)
    except UnaskableError as error:
        report(f"The MCP server {name!r} was not answered: {error}.")
        return None
    except ForgeError as error:
        report(f"The MCP server {name!r} got no answer from the model: {error}")
        return None
    shown = "\n".join([f"{safe_line(found.model)} has answered:", "", *_indented(found.text)])
    reply = await ask(_question(asked, shown, "Answer", KEEP, SEND))
    if reply.declined or reply.answers != ((SEND,),):
        return None
    return {
        "role": "assistant",
        "content": {"type": "text", "text": found.text},
        "model": found.model,
        "stopReason": "maxTokens" if found.is_cut else "endTurn",
    }


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())


def _question(asked: ServerQuestion, text: str, header: str, no: str, yes: str) -> QuestionRequest:
    question = Question(text, header, (QuestionOption(no), QuestionOption(yes)), words=None)
    return QuestionRequest(asked.call_id, (question,), asked.server.name)
