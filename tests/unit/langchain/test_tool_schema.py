"""Pydantic models out of tool schemas, the odd ones that foreign tools bring included."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pydantic import ValidationError

from forge_core.langchain.tools.schema import arguments_model, parameters_of


def model_for(**properties: Any) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return arguments_model("test", "A test.", schema)


@pytest.mark.parametrize(
    ("described", "good", "bad"),
    [
        ({"type": "string", "enum": ["a", "b"]}, "a", "c"),
        ({"enum": ["a", 1, None]}, 1, "c"),
        ({"type": "number", "enum": [0.5, 1.5]}, 0.5, "no number"),
        ({"type": ["string", "null"]}, None, 3),
        ({"type": ["integer", "string"]}, "x", []),
        ({"type": "null"}, None, 1),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], ["x"]),
        ({"type": "array"}, [1, "x"], "x"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, [[True]], [["x"]]),
        ({"type": "object", "properties": {"a": {}}}, {"a": 1}, "x"),
        ({"type": "integer", "minimum": 2, "maximum": 3}, 2, 4),
        ({"type": "number", "minimum": 0.5}, 0.5, 0.4),
    ],
)
def test_a_schema_accepts_valid_values_and_rejects_others(described: Any, good: Any, bad: Any) -> None:
    model = model_for(value=described)
    assert model(value=good).value == good
    with pytest.raises(ValidationError):
        model(value=bad)


@pytest.mark.parametrize(
    "described",
    [
        {},
        {"$ref": "#/$defs/Nowhere"},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": ["string", "strange"]},
        {"type": "strange"},
        {"type": "string", "minimum": 3},
        {"enum": []},
        {"type": 7},
    ],
)
def test_a_property_without_a_plain_type_accepts_text(described: Any) -> None:
    schema = {"type": "object", "properties": {"value": described}, "required": ["value"]}
    assert parameters_of(schema)[0].name == "value"
    assert arguments_model("test", "", schema)(value="text").value == "text"


def test_deep_schema_nesting_is_truncated() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    assert model_for(value=schema)(value=[]).value == []


def test_the_given_json_schema_is_returned_and_protected_from_changes() -> None:
    given = {"type": "object", "properties": {"a": {"type": "string", "x-own": [1]}}, "required": ["a"]}
    model = arguments_model("test", "A test.", given)
    told = model.model_json_schema()
    assert told == {**given, "title": "test", "description": "A test."}
    told["properties"]["a"]["x-own"].append(2)
    given["properties"]["a"]["x-own"].append(3)
    assert model.model_json_schema()["properties"]["a"]["x-own"] == [1]


def test_unknown_arguments_are_passed_to_the_executor() -> None:
    model = model_for(a={"type": "string"})
    assert model(a="x", b=3).model_extra == {"b": 3}


@pytest.mark.parametrize("seed", range(30))
def test_any_string_can_be_a_parameter_name(seed: int) -> None:
    rng = random.Random(seed)
    letters = "ab_-. $é0Zclas"
    names = {"".join(rng.choice(letters) for _ in range(rng.randint(1, 8))) for _ in range(6)}
    names |= {rng.choice(["copy", "json", "model_fields", "class", "None", "__init__", "schema", "_x"])}
    model = model_for(**{name: {"type": "integer"} for name in names})
    model.model_validate(dict.fromkeys(names, 1))
    assert set(model.model_json_schema()["properties"]) == names
