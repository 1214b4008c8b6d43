"""Answers of the provider client as LangChain's results and chunks."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core import exceptions
from langchain_core.messages import AIMessage, AIMessageChunk, ContentBlock
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.json import parse_partial_json

from forge_core.langchain.messages.conversion import langchain_calls, parse_arguments
from forge_core.llm.account.pricing import Pricer
from forge_core.llm.http.assembly import AnswerAssembler
from forge_core.llm.models import (
    CompletionResponse,
    StreamChunk,
    TokenUsage,
    ToolCall,
    ToolCallDelta,
    ToolDefinition,
)
from forge_core.llm.salvage.recovery import RecoveredCalls, recover_calls, tool_schemas
from forge_core.llm.salvage.text_gate import TextGate

MODEL_PROVIDER = "openrouter"
"""The provider name in messages and in traces, whatever the endpoint: middleware compares the two, and
langchain-core chooses by it how content is read. It names the protocol, as each LangChain package does."""

WireTools = Sequence[ToolDefinition | dict[str, Any]]

_SPOILERS = ("]", "}", '"]', '"}', '""]', '""}')


def to_result(response: CompletionResponse, pricer: Pricer, tools: WireTools = ()) -> ChatResult:
    """Return the one generation of a whole answer; with `tools`, calls that were printed as text are
    recovered."""
    recovered = _recovered(response, tools)
    if recovered is not None:
        response.message.content, response.message.tool_calls = recovered.text, list(recovered.calls)
    valid, invalid = langchain_calls(response.message.tool_calls or ())
    message = AIMessage(
        content=response.message.text,
        additional_kwargs=_kwargs(response),
        response_metadata=_metadata(response, pricer, recovered),
        usage_metadata=to_usage_metadata(response.usage),
        tool_calls=valid,
        invalid_tool_calls=invalid,
        id=None,
    )
    usage = response.usage
    output = {"model_name": response.model, "token_usage": usage.as_dict() if usage is not None else {}}
    return ChatResult(generations=[ChatGeneration(message=message)], llm_output=output)


class ChunkConverter:
    """Converts the chunks of one stream to LangChain's.

    LangChain merges chunks by joining strings, adding integers and failing on floats, so whatever is not text
    (finish reason, model, cost, usage, reasoning blocks) is held back and returned once, by `last()`.
    """

    def __init__(self, pricer: Pricer, tools: WireTools = ()) -> None:
        self._pricer = pricer
        self._tools = tools
        self._answer = AnswerAssembler()
        self._gate = TextGate(tool_schemas(tools)) if tools else None
        self._held: dict[int, str] = {}
        """Arguments by call that may still turn out to be `null`."""

    def convert(self, chunk: StreamChunk) -> ChatGenerationChunk | None:
        """Return the chunk to yield; None when it has no content."""
        if chunk.comment is not None:
            return None
        calls = self._answer.add(chunk)
        text = chunk.text
        if self._gate is not None and (text or calls):
            text = self._gate.feed(text)
            if calls:  # a model that makes proper calls prints none
                text += self._gate.open()
                self._gate = None
        fields: dict[str, Any] = {}
        if chunk.reasoning:
            fields["additional_kwargs"] = {"reasoning_content": chunk.reasoning}
        if calls:
            fields["tool_call_chunks"] = [self._piece(call) for call in calls]
        if not text and not fields:
            return None
        return ChatGenerationChunk(message=AIMessageChunk(content=text, **fields))

    def _piece(self, call: ToolCallDelta) -> ToolCallChunk:
        """Return the fragment, without arguments that may turn out to be `null`.

        Readers that merge the chunks accept missing arguments as an empty object, but "null" makes an invalid
        call; and what was yielded cannot be taken back.
        """
        arguments = call.arguments
        held = self._held.get(call.index, "" if call.id else None)
        if held is not None:
            arguments = held + arguments
            if "null".startswith(arguments.strip()):
                self._held[call.index], arguments = arguments, ""
            else:
                self._held.pop(call.index, None)
        return _call_chunk(call.index, call.id, call.name, arguments)

    def _released(self) -> list[ToolCallChunk]:
        """Return the arguments that were held back and are not `null`."""
        held = ((index, text) for index, text in self._held.items() if parse_arguments(text) is None)
        return [_call_chunk(index, None, None, text) for index, text in held]

    def last(self) -> ChatGenerationChunk:
        """Return the final chunk, with everything that was held back."""
        response = self._answer.response()
        kwargs = _kwargs(response)
        kwargs.pop("reasoning_content", None)
        text, recovered = self._settled(response)
        return ChatGenerationChunk(
            message=AIMessageChunk(
                content=text,
                additional_kwargs=kwargs,
                response_metadata=_metadata(response, self._pricer, recovered),
                usage_metadata=to_usage_metadata(response.usage),
                tool_call_chunks=[*self._released(), *_spoiled(response.message.tool_calls or [])]
                or _whole(recovered),
                chunk_position="last",
            )
        )

    def _settled(self, response: CompletionResponse) -> tuple[str, RecoveredCalls | None]:
        """Return the text that was not shown yet, and the calls that were found in the whole text."""
        if self._gate is None:
            return "", None
        recovered = _recovered(response, self._tools)
        if recovered is None:
            return self._gate.open(), None
        return recovered.text[self._gate.shown_chars :], recovered


def _recovered(response: CompletionResponse, tools: WireTools) -> RecoveredCalls | None:
    """Return calls that were printed as text; None for an answer that was truncated or has proper calls."""
    if not tools or response.message.tool_calls or response.finish_reason == "length":
        return None
    return recover_calls(response.message.text, list(tools))


def _whole(recovered: RecoveredCalls | None) -> list[ToolCallChunk]:
    calls = recovered.calls if recovered is not None else ()
    return [_call_chunk(index, call.id, call.name, call.arguments) for index, call in enumerate(calls)]


def to_usage_metadata(usage: TokenUsage | None) -> UsageMetadata | None:
    """Token counts in LangChain's form."""
    if usage is None:
        return None
    given = InputTokenDetails(cache_read=usage.cached_tokens, cache_creation=usage.cache_write_tokens)
    made = OutputTokenDetails(reasoning=usage.reasoning_tokens)
    if usage.audio_input_tokens:
        given["audio"] = usage.audio_input_tokens
    if usage.audio_output_tokens:
        made["audio"] = usage.audio_output_tokens
    return UsageMetadata(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        total_tokens=usage.total_tokens,
        input_token_details=given,
        output_token_details=made,
    )


def sum_token_usage(outputs: Iterable[Mapping[str, Any] | None]) -> dict[str, int]:
    """Return the sum of the counts in the `llm_output` of several results."""
    total: dict[str, int] = {}
    for output in outputs:
        for key, value in ((output or {}).get("token_usage") or {}).items():
            if isinstance(value, int) and not isinstance(value, bool):
                total[key] = total.get(key, 0) + value
    return total


def _call_chunk(index: int, call_id: str | None, name: str | None, arguments: str) -> ToolCallChunk:
    return tool_call_chunk(name=name, args=arguments, id=call_id, index=index)


def _spoiled(calls: list[ToolCall]) -> list[ToolCallChunk]:
    """Return fragments that make truncated arguments unparsable.

    Readers that merge the chunks get `tool_calls` from a *partial* JSON parser, which would complete a
    truncated object and let an agent write half a file. One wrong closing bracket more makes the call invalid
    instead.
    """
    spoiled = []
    for index, call in enumerate(calls):
        if parse_arguments(call.arguments) is None:
            end = next((s for s in _SPOILERS if not _completes(call.arguments + s)), "]}")
            if _completes(call.arguments):
                spoiled.append(_call_chunk(index, None, None, end))
    return spoiled


def _completes(arguments: str) -> bool:
    """Return whether LangChain would accept `arguments` as an object."""
    try:
        return isinstance(parse_partial_json(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _kwargs(response: CompletionResponse) -> dict[str, Any]:
    kwargs = dict(response.message.extra)
    if "reasoning" in kwargs:
        kwargs["reasoning_content"] = kwargs.pop("reasoning")
    if "refusal" in kwargs:
        _register_refusals()
    return kwargs


@functools.cache
def _register_refusals() -> None:
    """Include a refusal in the `content_blocks` of our messages, by which langchain-core's parsers (1.7.5 and
    later) raise ModelRefusalError instead of complaining about JSON. Deferred to the first refusal: it loads
    the translators of every provider."""
    if not hasattr(exceptions, "ModelRefusalError"):
        return
    from langchain_core.messages.block_translators import get_translator, register_translator

    if get_translator(MODEL_PROVIDER) is None:
        register_translator(MODEL_PROVIDER, _blocks_with_refusal, _blocks_with_refusal)


def _blocks_with_refusal(message: AIMessage) -> list[ContentBlock]:
    """Return the blocks that langchain-core finds, and the refusal.

    Without a refusal, raise NotImplementedError: langchain-core then uses its own translation.
    """
    refusal = message.additional_kwargs.get("refusal")
    if not refusal:
        raise NotImplementedError
    metadata = {key: value for key, value in message.response_metadata.items() if key != "model_provider"}
    blocks = message.model_copy(update={"response_metadata": metadata}).content_blocks
    return [*blocks, cast("ContentBlock", {"type": "refusal", "refusal": str(refusal)})]


def _metadata(
    response: CompletionResponse, pricer: Pricer, recovered: RecoveredCalls | None
) -> dict[str, Any]:
    cost = pricer(response.model, response.usage) if response.usage is not None else None
    values = {
        "model_provider": MODEL_PROVIDER,
        "model_name": response.model,
        "finish_reason": response.finish_reason,
        "native_finish_reason": response.native_finish_reason,
        "provider": response.provider,
        "id": response.id,
        "generation_id": response.generation_id,
        "cost": None if cost is None else format(cost, "f"),
        "cost_details": response.cost_details,
        "recovered_tool_calls": [call.id for call in recovered.calls] if recovered is not None else None,
    }
    return {key: value for key, value in values.items() if value is not None and value != ""}
