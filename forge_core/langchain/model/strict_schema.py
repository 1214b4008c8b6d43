"""A JSON schema under the rules of strict mode.

Strict structured outputs want every object closed and every property required; an optional property is then
one that may be null (https://platform.openai.com/docs/guides/structured-outputs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNSUPPORTED = frozenset({"default"})
_MAPS = ("properties", "$defs", "definitions")


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `schema` that strict mode accepts."""
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
