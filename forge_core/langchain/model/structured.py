"""Structured output: by a forced tool call, by the API's JSON schema, or by plain JSON mode."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.language_models import LanguageModelInput
from langchain_core.output_parsers import (
    BaseOutputParser,
    JsonOutputParser,
    PydanticOutputParser,
)
from langchain_core.output_parsers.openai_tools import JsonOutputKeyToolsParser, PydanticToolsParser
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from langchain_core.utils.pydantic import is_basemodel_subclass

if TYPE_CHECKING:
    from forge_core.langchain.model.chat_model import OpenRouterLLM

StructuredMethod: TypeAlias = Literal["function_calling", "json_schema", "json_mode"]

_Parser: TypeAlias = "BaseOutputParser[Any] | Runnable[Any, Any]"


def structured(
    llm: OpenRouterLLM,
    schema: dict[str, Any] | type | None,
    *,
    method: StructuredMethod = "function_calling",
    include_raw: bool = False,
    strict: bool | None = None,
    **kwargs: Any,
) -> Runnable[LanguageModelInput, Any]:
    """Return `llm` with a parser behind it.

    `function_calling` forces one tool call; `json_schema` has the API hold the model to the schema and asks
    OpenRouter for providers that can; `json_mode` only asks for JSON, so the prompt must describe it. A
    pydantic class gives instances, anything else dictionaries. With `include_raw` the result is a dictionary
    of raw, parsed, parsing_error.

    Raises:
        ValueError: an unknown method, a missing schema, or an argument that means nothing here.
    """
    if schema is None and method != "json_mode":
        raise ValueError(f"method {method!r} needs a schema. Give one, or use method='json_mode'.")
    if method == "function_calling":
        runnable, parser = _by_tool(llm, schema, strict, kwargs)
    elif method == "json_schema":
        runnable, parser = _by_schema(llm, schema, strict, kwargs)
    elif method == "json_mode":
        marks = _marks(method, schema, kwargs)
        runnable = llm.bind(response_format={"type": "json_object"}, **marks)
        parser = _json_parser(schema)
    else:
        raise ValueError(f"Unknown method {method!r}. Use function_calling, json_schema or json_mode.")
    return _with_raw(runnable, parser) if include_raw else runnable | parser


def _by_tool(
    llm: OpenRouterLLM, schema: Any, strict: bool | None, kwargs: dict[str, Any]
) -> tuple[Runnable[LanguageModelInput, Any], _Parser]:
    name = convert_to_openai_tool(schema)["function"]["name"]
    marks = _marks("function_calling", schema, kwargs)
    bound = llm.bind_tools([schema], tool_choice=name, strict=strict, parallel_tool_calls=False, **marks)
    if _is_model(schema):
        return bound, PydanticToolsParser(tools=[schema], first_tool_only=True)
    return bound, JsonOutputKeyToolsParser(key_name=name, first_tool_only=True)


def _by_schema(
    llm: OpenRouterLLM, schema: Any, strict: bool | None, kwargs: dict[str, Any]
) -> tuple[Runnable[LanguageModelInput, Any], _Parser]:
    plain = convert_to_json_schema(schema)
    is_strict = strict is not False
    body = {
        "name": str(plain.pop("title", "answer")).replace(" ", "_")[:64] or "answer",
        "strict": is_strict,
        "schema": strict_schema(plain) if is_strict else plain,
    }
    if plain.get("description"):
        body["description"] = plain["description"]
    marks = _marks("json_schema", schema, kwargs)
    if llm.client.provider.routes_requests:
        routing: Mapping[str, Any] = marks.pop("provider", None) or llm.provider or {}
        marks["provider"] = {"require_parameters": True, **routing}
    return llm.bind(response_format={"type": "json_schema", "json_schema": body}, **marks), _json_parser(
        schema
    )


def _marks(method: str, schema: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments to bind; the format is for tracing only and is not sent."""
    return {**kwargs, "ls_structured_output_format": {"kwargs": {"method": method}, "schema": schema}}


def _json_parser(schema: Any) -> BaseOutputParser[Any]:
    return PydanticOutputParser(pydantic_object=schema) if _is_model(schema) else JsonOutputParser()


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and is_basemodel_subclass(schema)


def _with_raw(
    runnable: Runnable[LanguageModelInput, Any], parser: _Parser
) -> Runnable[LanguageModelInput, Any]:
    parsed = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
    failed = RunnablePassthrough.assign(parsed=lambda _: None)
    return RunnableMap(raw=runnable) | parsed.with_fallbacks([failed], exception_key="parsing_error")


_UNSUPPORTED = frozenset({"default"})
_MAPS = ("properties", "$defs", "definitions")


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `schema` that strict mode accepts."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _UNSUPPORTED:
            continue
        if key in _MAPS and isinstance(value, Mapping):
            made[key] = {name: _strict(part) for name, part in value.items()}
        elif key not in ("enum", "const", "examples", "required"):
            made[key] = _strict(value)
        else:
            made[key] = value
    if "properties" in made or made.get("type") == "object":
        _close(made, schema)
    if "$ref" in made:  # nothing but definitions may stand beside a reference
        return {key: made[key] for key in ("$ref", "$defs", "definitions") if key in made}
    return made


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return strict_schema(value)
    return [_strict(item) for item in value] if isinstance(value, list) else value


def _close(made: dict[str, Any], original: Mapping[str, Any]) -> None:
    required = set(original.get("required") or ())
    properties = made.setdefault("properties", {})
    for name, part in properties.items():
        if name not in required:
            properties[name] = _nullable(part)
    made["required"] = list(properties)
    made["additionalProperties"] = False


def _nullable(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    options = part.get("anyOf")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return part
    if isinstance(options, list):
        has_null = any(isinstance(option, Mapping) and option.get("type") == "null" for option in options)
        return part if has_null else {**part, "anyOf": [*options, {"type": "null"}]}
    if isinstance(kind, str) and "enum" not in part and "const" not in part:
        return {**part, "type": [kind, "null"]}
    return {"anyOf": [part, {"type": "null"}]}
