"""Checks a model's arguments against a tool's parameters, and coerces them where the meaning is clear."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.base import BaseTool

_MAX_SHOWN = 120


def validate(tool: BaseTool, params: object) -> dict[str, Any]:
    """Return the arguments, coerced ("5" → 5, "true" → True) and completed with defaults.

    Raise ToolError naming the parameter, the value and the schema, for a missing, unknown or unfitting one.
    """
    given = _as_mapping(tool, params)
    if tool.checks_own_arguments:
        return dict(given)
    known = {parameter.name: parameter for parameter in tool.parameters}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ToolError(f"{tool.name} has no parameter {name!r}.{hint} {_signature(tool)}")
    arguments: dict[str, Any] = {}
    for parameter in tool.parameters:
        value = given.get(parameter.name)
        if value is None and not (parameter.required and parameter.name in given):
            if parameter.required and parameter.default is None:
                raise ToolError(f"{tool.name} needs {parameter.name!r}, which is missing. {_signature(tool)}")
            if parameter.default is not None:
                arguments[parameter.name] = parameter.default
            continue
        schema = parameter.to_json_schema()
        try:
            arguments[parameter.name] = _fitted(value, schema)
        except ValueError as error:
            raise ToolError(
                f"{tool.name}: {parameter.name!r} is {_shown(value)}, but {error}. Its schema: "
                + json.dumps(schema, ensure_ascii=False, default=str)
            ) from error
    return arguments


def text_of(arguments: Mapping[str, Any], *names: str) -> str:
    """Return the first of these unchecked arguments that is a string, stripped; "" without one."""
    return next((value.strip() for name in names if isinstance(value := arguments.get(name), str)), "")


def records_of(arguments: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in an unchecked argument that should be an array of objects."""
    value = arguments.get(name)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def files_of(paths: Sequence[str]) -> str:
    """Return the only path, or how many different ones there are: "2 files"."""
    distinct = list(dict.fromkeys(path.strip() for path in paths))
    return "".join(distinct) if len(distinct) < 2 else f"{len(distinct)} files"


def _as_mapping(tool: BaseTool, params: object) -> Mapping[str, Any]:
    if isinstance(params, str):
        try:
            params = json.loads(params) if params.strip() else {}
        except ValueError as error:
            raise ToolError(
                f"{tool.name}: the arguments are not JSON: {error}. {_signature(tool)}"
            ) from error
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise ToolError(f"{tool.name}: the arguments are {_shown(params)}, not an object. {_signature(tool)}")
    return params


def _fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the value in the type that its JSON schema names, checked. Raise ValueError when it does not
    fit."""
    match schema.get("type"):
        case "string":
            value = _string(value)
        case "integer":
            value = _integer(value)
        case "number":
            value = _number(value)
        case "boolean":
            value = _boolean(value)
        case "array":
            value = _array(value, schema.get("items"))
        case "object":
            value = _object(value, schema.get("properties"))
            if missing := [name for name in schema.get("required", ()) if name not in value]:
                raise ValueError(f"it lacks {missing[0]!r}")
        case _:  # none, or several
            return value
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"it must be one of {', '.join(map(repr, schema['enum']))}")
    if isinstance(value, int | float):
        if value < schema.get("minimum", -math.inf):
            raise ValueError(f"it must be at least {schema['minimum']:g}")
        if value > schema.get("maximum", math.inf):
            raise ValueError(f"it must be at most {schema['maximum']:g}")
    return value


def _string(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("it must be a string")
    text = str(value)
    if "\0" in text:
        raise ValueError("it contains a NUL character, which no path, command or text file can contain")
    return text


def _integer(value: Any) -> int:
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            value = _number(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("it must be a whole number")
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            raise ValueError("it must be a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("it must be a number")
    return value


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false", "yes", "no", "1", "0"):
        return value.strip().lower() in ("true", "yes", "1")
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise ValueError("it must be true or false")


def _array(value: Any, items: Mapping[str, Any] | None) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _from_json(value, "a list")
    if not isinstance(value, list | tuple):
        raise ValueError("it must be a list")
    return [_part(one, items, f"element {at + 1}") for at, one in enumerate(value)]


def _object(value: Any, properties: Mapping[str, Any] | None) -> dict[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _from_json(value, "an object")
    if not isinstance(value, Mapping):
        raise ValueError("it must be an object")
    schemas = properties or {}
    return {str(key): _part(one, schemas.get(key), f"field {key!r}") for key, one in value.items()}


def _part(value: Any, schema: Mapping[str, Any] | None, where: str) -> Any:
    """Return one element or field, checked."""
    try:
        return _fitted(value, schema or {})
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _from_json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"it must be {what}") from None


def _signature(tool: BaseTool) -> str:
    parts = [
        f"{one.name}: {one.type}" if one.required else f"{one.name}?: {one.type}" for one in tool.parameters
    ]
    return f"Parameters: {', '.join(parts)}." if parts else "It takes no parameters."


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
