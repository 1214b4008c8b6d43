"""What the model's provider is sent of the schema of a server's tool.

Providers refuse a whole request because of one schema that they do not support. So references are followed,
and what not every provider takes is left out: conditions, name patterns, recursion, unions at the top. The
arguments are checked against the whole schema of the server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from forge_core.sanitize import safe_text
from forge_core.untrusted import escape_tags

Schema: TypeAlias = dict[str, Any]

_DEPTHS = (12, 6, 3, 1)
"""Levels of nesting; fewer for a schema that is too long."""
_MAX_CHARS = 30_000
_MAX_PARTS = 2_000
"""Schemas within a schema, after references are followed: a small one can stand for very many."""
_MAX_ENUM = 200
_MAX_VALUE = 200
"""Characters of a default."""
_MAX_TEXT = {"title": 100, "description": 1_024}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names of parameters that every provider takes."""
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_NUMBERS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)
_JSON_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def sent_schema(schema: Mapping[str, Any]) -> Schema:
    """Return a schema of an object that accepts all that `schema` accepts, and that every provider takes."""
    for depth in _DEPTHS:
        made = _Simplifier(schema).whole(depth)
        if len(json.dumps(made)) <= _MAX_CHARS:
            return made
    for part in made["properties"].values():
        for key in _MAX_TEXT:
            part.pop(key, None)
    return made if len(json.dumps(made)) <= _MAX_CHARS else {"type": "object", "properties": {}}


class _Simplifier:
    """Simplifies the parts of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MAX_PARTS

    def whole(self, depth: int) -> Schema:
        made = self._part(self._root, depth, ())
        for branch in made.pop(
            "anyOf", ()
        ):  # any of them may be meant, so none of their parameters is needed
            for name, part in branch.get("properties", {}).items():
                made.setdefault("properties", {}).setdefault(name, part)
            if branch.get("additionalProperties") is not False:
                made.pop("additionalProperties", None)
        made.pop("enum", None)
        return {**made, "type": "object", "properties": made.get("properties", {})}

    def _part(self, schema: object, depth: int, above: tuple[str, ...]) -> Schema:
        """Return a simplified part; `above` are the references that lead to it."""
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0:
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            target = self._target(reference)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            if reference in above or not isinstance(target, Mapping):
                return _kept(beside)
            return self._part({**target, **beside}, depth, (*above, reference))
        made = _kept(schema)
        if depth > 0:
            self._add_properties(made, schema, depth, above)
            self._add_items(made, schema, depth, above)
            self._add_branches(made, schema, depth, above)
        return _with_type(made)

    def _target(self, reference: str) -> object:
        """Return what a reference within the schema leads to; None for any other one."""
        found: object = self._root
        if not reference.startswith("#"):
            return None
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping):
                found = found.get(key)
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return found if reference == "#" or "/" in reference else None

    def _add_properties(
        self, made: Schema, schema: Mapping[str, Any], depth: int, above: tuple[str, ...]
    ) -> None:
        given = schema.get("properties")
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            made["additionalProperties"] = self._part(others, depth - 1, above) or True
        elif others is False and not schema.get("patternProperties"):
            made["additionalProperties"] = False
        if not isinstance(given, Mapping):
            return
        refused = [name for name, part in given.items() if not _NAME.fullmatch(name) and part is not False]
        named = {name: part for name, part in given.items() if _NAME.fullmatch(name) and part is not False}
        made["properties"] = {name: self._part(part, depth - 1, above) for name, part in named.items()}
        if refused:  # the model can still give them, by what the description says
            made.pop("additionalProperties", None)
            names = ", ".join(json.dumps(name) for name in refused[:20])
            _add_text(made, f"It also takes the parameters {names}.")
        required = schema.get("required")
        wanted = [name for name in required if name in named] if isinstance(required, list) else []
        if wanted:
            made["required"] = list(dict.fromkeys(wanted))

    def _add_items(self, made: Schema, schema: Mapping[str, Any], depth: int, above: tuple[str, ...]) -> None:
        items = schema.get("items")
        has_places = isinstance(items, list) or "prefixItems" in schema
        if isinstance(items, Mapping) and not has_places:
            made["items"] = self._part(items, depth - 1, above)

    def _add_branches(
        self, made: Schema, schema: Mapping[str, Any], depth: int, above: tuple[str, ...]
    ) -> None:
        for branch in _branches(schema, "allOf"):
            _merge(made, self._part(branch, depth, above))
        for key in ("anyOf", "oneOf"):
            found = [self._part(branch, depth - 1, above) for branch in _branches(schema, key)]
            if found and all(found) and "anyOf" not in made:
                made["anyOf"] = [one for index, one in enumerate(found) if one not in found[:index]]


def _kept(schema: Mapping[str, Any]) -> Schema:
    """Return what holds no other schemas."""
    made: Schema = {}
    kinds = schema.get("type")
    named = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind in _TYPES]
    if named:
        made["type"] = named[0] if len(named) == 1 else named
    for key, limit in _MAX_TEXT.items():
        if isinstance(text := schema.get(key), str) and text.strip():
            made[key] = _clean(text)[:limit]
    for key in _NUMBERS:
        if isinstance(number := schema.get(key), int | float) and not isinstance(number, bool):
            made[key] = number
    if isinstance(form := schema.get("format"), str) and len(form) <= _MAX_VALUE:
        made["format"] = _clean(form)
    if "default" in schema and len(json.dumps(schema["default"])) <= _MAX_VALUE:
        made["default"] = schema["default"]
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        if len(values) <= _MAX_ENUM:
            made["enum"] = values
        else:
            some = ", ".join(json.dumps(value) for value in values[:5])
            _add_text(made, f"One of {len(values):,} values, such as {some}.")
    return made


def _with_type(made: Schema) -> Schema:
    """Return a part with the type that it obviously has; an array names its items."""
    if "type" not in made and "anyOf" not in made:
        if "properties" in made:
            made["type"] = "object"
        elif "items" in made:
            made["type"] = "array"
        elif kinds := {_JSON_TYPES.get(type(value), "") for value in made.get("enum", ())}:
            made |= {"type": kinds.pop()} if len(kinds) == 1 and "" not in kinds else {}
    if made.get("type") == "array":
        made.setdefault("items", {})
    return made


def _branches(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _merge(made: Schema, branch: Schema) -> None:
    """Add to a part what one more schema says, which has to hold too."""
    for key, value in branch.items():
        match key:
            case "properties":
                made[key] = {**value, **made.get(key, {})}
            case "required":
                made[key] = list(dict.fromkeys((*made.get(key, ()), *value)))
            case "additionalProperties" if value is False:
                pass  # it knows only the properties beside it
            case _:
                made.setdefault(key, value)


def _add_text(made: Schema, text: str) -> None:
    made["description"] = f"{made.get('description', '')} {_clean(text)[: _MAX_TEXT['description']]}".strip()


def _clean(text: str) -> str:
    return "\n".join(escape_tags(line) for line in safe_text(text).strip().splitlines())
