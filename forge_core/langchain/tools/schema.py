"""Tool parameters between JSON schema, Forge's `ToolParameter` and pydantic models."""

from __future__ import annotations

import copy
import keyword
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model

from forge_core.tools.base import JsonType, ToolParameter

JsonSchema = Mapping[str, Any]

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": NoneType,
    "array": list[Any],
    "object": dict[str, Any],
}
_MAX_DEPTH = 20
"""Deeper nesting is taken as "anything": schemas of third-party tools may be recursive."""


def arguments_model(name: str, description: str, schema: JsonSchema) -> type[BaseModel]:
    """Return a pydantic model that accepts what `schema` describes; its own JSON schema is `schema`,
    unchanged.

    Unknown arguments are let through (`model_extra`): the tool's executor rules on them. A parameter whose
    name pydantic cannot take is a field with that name as its alias.
    """
    exact = {**copy.deepcopy(dict(schema)), "title": name, "description": description}

    def replace(generated: dict[str, Any]) -> None:
        generated.clear()
        generated.update(copy.deepcopy(exact))

    required = set(schema.get("required") or ())
    fields: dict[str, Any] = {}
    for parameter, described in (schema.get("properties") or {}).items():
        field = field_name(parameter)
        alias = parameter if field != parameter else None
        fields[field] = _field(described, parameter in required, alias)
    config = ConfigDict(
        extra="allow",
        json_schema_extra=replace,
        protected_namespaces=(),
    )
    return create_model(f"{name}_arguments", __config__=config, __doc__=description, **fields)


def field_name(parameter: str) -> str:
    """Return the parameter's name where a pydantic field may have it, else a stand-in."""
    is_usable = parameter.isidentifier() and not keyword.iskeyword(parameter)
    if is_usable and not parameter.startswith("_") and not hasattr(BaseModel, parameter):
        return parameter
    return "forge_arg_" + "".join(char if char.isalnum() else f"_{ord(char):x}_" for char in parameter)


def parameters_of(schema: JsonSchema) -> tuple[ToolParameter, ...]:
    """Return the properties of an object schema as Forge parameters; of a union one kind is named."""
    required = set(schema.get("required") or ())
    return tuple(
        _parameter(name, described, is_required=name in required)
        for name, described in (schema.get("properties") or {}).items()
    )


def _parameter(name: str, described: JsonSchema, *, is_required: bool) -> ToolParameter:
    kind = _kind(described)
    return ToolParameter(
        name=name,
        type=kind,
        description=str(described.get("description") or ""),
        required=is_required,
        default=described.get("default"),
        enum=described.get("enum"),
        minimum=described.get("minimum"),
        maximum=described.get("maximum"),
        items=described.get("items") if kind == "array" else None,
        properties=described.get("properties") if kind == "object" else None,
    )


def _kind(described: JsonSchema) -> JsonType:
    """Return the one type to name; of several the one that takes most values: a text, else a number."""
    kinds: list[str] = []
    for option in (described, *_options(described)):
        named = option.get("type")
        kinds += named if isinstance(named, list) else [str(named)]
    for wide in ("string", "number"):
        if wide in kinds:
            return cast(JsonType, wide)
    usable = [kind for kind in kinds if kind in get_args(JsonType)]
    if usable:
        return cast(JsonType, usable[0])
    return "object" if "properties" in described else "string"


def _options(described: JsonSchema) -> list[JsonSchema]:
    found: list[JsonSchema] = []
    for key in ("anyOf", "oneOf", "allOf"):
        found += [option for option in described.get(key) or () if isinstance(option, Mapping)]
    return found


def _field(described: JsonSchema, is_required: bool, alias: str | None) -> tuple[Any, Any]:
    kind = _annotation(described)
    limits = {
        ours: described[theirs]
        for ours, theirs in (("ge", "minimum"), ("le", "maximum"))
        if isinstance(described.get(theirs), int | float) and described.get("type") in ("integer", "number")
    }
    if limits:
        kind = Annotated[kind, Field(**limits)]
    description = described.get("description")
    if is_required:
        return kind, Field(description=description, alias=alias)
    return kind | None, Field(default=described.get("default"), description=description, alias=alias)


def _annotation(described: object, depth: int = 0) -> Any:
    """Return the Python type for a schema; `Any` for what has no plain one (a reference, no type at all)."""
    if not isinstance(described, Mapping) or depth > _MAX_DEPTH:
        return Any
    if literal := _literal(described.get("enum")):
        return literal
    kind = described.get("type")
    if isinstance(kind, list):
        return _union([_TYPES.get(str(option), Any) for option in kind])
    if kind == "array" and "items" in described:
        return list[_annotation(described["items"], depth + 1)]  # type: ignore[misc]
    if not isinstance(kind, str) or _options(described):
        return Any
    return _TYPES.get(kind, Any)


def _literal(values: object) -> Any:
    """Return a Literal of these values; None where a Literal cannot hold one of them."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        return None
    if not all(value is None or isinstance(value, str | int | bool) for value in values):
        return None
    return Literal[tuple(values)]


def _union(kinds: list[Any]) -> Any:
    union = kinds[0]
    for kind in kinds[1:]:
        if kind is Any:
            return Any
        union = union | kind
    return union
