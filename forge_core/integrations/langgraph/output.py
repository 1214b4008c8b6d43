"""Structured output: how the model is asked for it, and how its answer is read."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, Literal

from forge_core.integrations.langgraph.wink_types import Rendered, wink

ResponseFormat = Literal["prompt", "provider", "tool"]
"""prompt: the schema stands in the system message, which every model takes; provider: the provider's own JSON
mode; tool: a tool that the model must call."""

_RAW_CHARS = 2_000


def output_schema(rendered: Rendered) -> dict[str, Any] | None:
    """The JSON schema of the prompt's output, an array as `{"items": […]}`; None for plain text."""
    if rendered.output_type is None:
        return None
    serde = wink("serde")
    extra = "ignore" if rendered.allow_extra_keys else "forbid"
    schema: dict[str, Any] = serde.schema(rendered.output_type, extra=extra)
    if rendered.container != "array":
        return schema
    return {
        "title": f"{rendered.output_type.__name__}List",
        "type": "object",
        "properties": {"items": {"type": "array", "items": schema}},
        "required": ["items"],
        "additionalProperties": False,
    }


def system_words(schema: dict[str, Any]) -> str:
    """Tells the model the form of its last answer."""
    return (
        "When you are done, answer with one JSON value and nothing else. It must follow this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )


def agent_format(schema: dict[str, Any], how: ResponseFormat) -> Any:
    """The strategy for `create_agent(response_format=…)`; None where the prompt asks."""
    if how == "prompt":
        return None
    strategies = import_module("langchain.agents.structured_output")
    named = {"description": "The final answer.", "title": "Answer", **schema}
    return strategies.ProviderStrategy(named) if how == "provider" else strategies.ToolStrategy(named)


def parse_output(text: str, rendered: Rendered, prompt_name: str) -> Any:
    """The prompt's dataclass, or list of them; None where it declares none.

    Raises:
        PromptEvaluationError: phase "response", with the text, where it does not fit.
    """
    if rendered.output_type is None:
        return None
    structured = wink("prompt.structured_output")
    try:
        return structured.parse_structured_output(text, rendered)
    except (structured.OutputParseError, TypeError, ValueError) as error:
        raise response_error(
            f"The answer is not the structured output asked for: {error}", text, prompt_name
        ) from error


def response_error(message: str, raw: str, prompt_name: str) -> Any:
    """A PromptEvaluationError of phase "response" that keeps what came."""
    return wink("errors").PromptEvaluationError(
        message, prompt_name=prompt_name, phase="response", provider_payload={"raw_text": raw[:_RAW_CHARS]}
    )
