"""Checking arguments against a tool's JSON schema, so that recovery does not invent calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forge_core.llm.http.wire import as_dict, parse_json

_MISFIT = object()
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_MAX_DEPTH = 20


def fit(arguments: Mapping[str, Any], schema: Mapping[str, Any], *, are_texts: bool) -> dict[str, Any] | None:
    """Return `arguments` if they fit `schema`, else None.

    Nothing required may be missing, nothing unknown present, and types and enums must match. With
    `are_texts`, values that are text (from XML) are first parsed as the schema's types.
    """
    properties = as_dict(schema.get("properties"))
    if any(name not in arguments for name in schema.get("required") or ()):
        return None
    fitted: dict[str, Any] = {}
    for name, value in arguments.items():
        part = properties.get(name)
        if part is None:
            if not schema.get("additionalProperties"):
                return None
            fitted[name] = value
            continue
        found = _read_text(value, part, schema) if are_texts and isinstance(value, str) else value
        if found is _MISFIT or not _fits(found, part, schema, 0):
            return None
        fitted[name] = found
    return fitted


def _read_text(text: str, part: Any, root: Mapping[str, Any]) -> Any:
    """Return `text` as the first of the part's types that it can be parsed as."""
    kinds = _kinds(part, root)
    if not kinds or "string" in kinds:
        return text
    try:
        return parse_json(text.strip())
    except ValueError:
        lowered = text.strip().lower()
        if "boolean" in kinds and lowered in ("true", "false"):
            return lowered == "true"
        return None if "null" in kinds and lowered in ("none", "") else _MISFIT


def _kinds(part: Any, root: Mapping[str, Any]) -> set[str]:
    part = _resolved(part, root)
    found = set(_types(part))
    for option in part.get("anyOf") or part.get("oneOf") or ():
        found |= _kinds(option, {}) if isinstance(option, Mapping) and "$ref" not in option else set()
    return found


def _fits(value: Any, part: Any, root: Mapping[str, Any], depth: int) -> bool:
    part = _resolved(part, root)
    if depth > _MAX_DEPTH:
        return False
    options = part.get("anyOf") or part.get("oneOf")
    if isinstance(options, list):
        return any(_fits(value, option, root, depth + 1) for option in options)
    if "enum" in part and value not in part["enum"]:
        return False
    kinds = _types(part)
    if kinds and not any(_is_a(value, name) for name in kinds):
        return False
    if isinstance(value, list) and "items" in part:
        return all(_fits(item, part["items"], root, depth + 1) for item in value)
    if isinstance(value, dict):
        return all(name in value for name in part.get("required") or ())
    return True


def _types(part: Mapping[str, Any]) -> list[str]:
    kind = part.get("type")
    return [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []


def _is_a(value: Any, kind: str) -> bool:
    # bool is a subclass of int, but true is not a number in JSON.
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and value.is_integer() and kind == "integer":
        return True
    return isinstance(value, _TYPES.get(kind, (object,)))


def _resolved(part: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    plain = as_dict(part)
    reference = plain.get("$ref")
    if not isinstance(reference, str):
        return plain
    found: Mapping[str, Any] = root
    for name in reference.removeprefix("#/").split("/"):
        found = as_dict(found.get(name))
    return found
