"""A chat model's settings and a call's arguments, as one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from forge_core.langchain.messages.conversion import langchain_messages_to_forge
from forge_core.llm.models import CompletionRequest, ToolDefinition

REQUEST_FIELDS = frozenset(
    {
        "temperature",
        "max_tokens",
        "top_p",
        "frequency_penalty",
        "presence_penalty",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "fallbacks",
    }
)
"""Arguments that are fields of CompletionRequest; every other one goes into the body under its own name."""

_NOT_SENT = frozenset({"stream", "streaming", "run_manager", "strict", "ls_structured_output_format"})


def build_request(
    model: str,
    messages: Sequence[BaseMessage],
    defaults: Mapping[str, Any],
    stop: Sequence[str],
    arguments: Mapping[str, Any],
) -> CompletionRequest:
    """Return the request of a call. Its `arguments` override the `defaults` of the model, also with None; the
    stop sequences of both apply, each once."""
    merged = {**defaults, **arguments}
    tools = merged.pop("tools", None)
    model = merged.pop("model", None) or model
    wanted_stop = [*stop, *_as_list(merged.pop("stop", None)), *_as_list(merged.pop("stop_sequences", None))]
    fields = {key: merged.pop(key) for key in REQUEST_FIELDS & merged.keys()}
    if "tool_choice" in fields:
        fields["tool_choice"] = to_tool_choice(fields["tool_choice"], tools or ())
    return CompletionRequest(
        model=model,
        messages=langchain_messages_to_forge(messages),
        tools=[tool if _is_wire_tool(tool) else convert_to_openai_tool(tool) for tool in tools or ()] or None,
        stop=list(dict.fromkeys(wanted_stop)) or None,
        extra={key: value for key, value in merged.items() if value is not None and key not in _NOT_SENT},
        **fields,
    )


def recoverable_tools(request: CompletionRequest) -> Sequence[ToolDefinition | dict[str, Any]]:
    """Return the tools that a printed call may mean; none where no call is allowed."""
    if request.tool_choice == "none" or request.response_format is not None:
        return ()
    return request.tools or ()


def to_tool_choice(choice: Any, tools: Sequence[Any]) -> Any:
    """Return `tool_choice` in the API's form: a tool's name selects that tool, "any" and True require some
    call."""
    if choice is None or isinstance(choice, dict):
        return choice
    if choice is True or choice == "any":
        return "required"
    if choice is False:
        return None
    if choice in ("auto", "none", "required"):
        return choice
    names = [tool["function"]["name"] for tool in tools if _is_wire_tool(tool)]
    if names and choice not in names:
        raise ValueError(f"tool_choice {choice!r} is none of the bound tools: {', '.join(names)}.")
    return {"type": "function", "function": {"name": choice}}


def _is_wire_tool(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict)


def _as_list(stop: Any) -> list[str]:
    if stop is None:
        return []
    return [stop] if isinstance(stop, str) else list(stop)
