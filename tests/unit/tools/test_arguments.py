from typing import Any

import pytest

from forge_core.errors import ToolError
from forge_core.tools import BaseTool, ExecutionContext, ToolParameter, ToolResult
from forge_core.tools.arguments import validate


class Sample(BaseTool):
    name = "sample"
    description = "Takes one of each."
    parameters = (
        ToolParameter("text", "string"),
        ToolParameter("count", "integer", required=False, default=3, minimum=1, maximum=9),
        ToolParameter("ratio", "number", required=False),
        ToolParameter("flag", "boolean", required=False),
        ToolParameter("mode", "string", required=False, enum=("a", "b")),
        ToolParameter("names", "array", required=False, items={"type": "string"}),
        ToolParameter(
            "edits",
            "array",
            required=False,
            items={"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]},
        ),
        ToolParameter("extra", "object", required=False, properties={"on": {"type": "boolean"}}),
    )

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        return ToolResult(True)


def checked(**params: Any) -> dict[str, Any]:
    return validate(Sample(), {"text": "t", **params})


def test_omitted_arguments_get_their_defaults() -> None:
    assert checked() == {"text": "t", "count": 3}


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("count", "5", 5),
        ("count", 5.0, 5),
        ("count", " 7 ", 7),
        ("count", "5.0", 5),
        ("ratio", "0.5", 0.5),
        ("ratio", 2, 2),
        ("flag", "true", True),
        ("flag", "False", False),
        ("flag", 1, True),
        ("text", 12, "12"),
        ("names", '["a", "b"]', ["a", "b"]),
        ("names", ("a",), ["a"]),
        ("edits", [{"line": "4"}], [{"line": 4}]),
        ("extra", '{"on": "yes", "other": 1}', {"on": True, "other": 1}),
    ],
)
def test_unambiguous_argument_types_are_coerced(name: str, value: Any, meant: Any) -> None:
    fitting = checked(**{name: value})[name]
    assert fitting == meant
    assert type(fitting) is type(meant)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("count", "five", "number"),
        ("count", 5.5, "whole number"),
        ("count", True, "whole number"),
        ("count", 0, "at least 1"),
        ("count", 10, "at most 9"),
        ("count", [1], "whole number"),
        ("ratio", "nan", "number"),
        ("ratio", float("inf"), "number"),
        ("flag", "maybe", "true or false"),
        ("flag", 2, "true or false"),
        ("text", None, "string"),
        ("text", {"a": 1}, "string"),
        ("text", True, "string"),
        ("text", "a\0b", "NUL"),
        ("mode", "c", "one of 'a', 'b'"),
        ("names", "a", "list"),
        ("names", [{"a": 1}], "element 1"),
        ("edits", [{}], "lacks 'line'"),
        ("extra", "x", "object"),
        ("extra", {"on": "perhaps"}, "field 'on'"),
    ],
)
def test_an_invalid_argument_is_reported_with_its_value_and_schema(
    name: str, value: Any, reason: str
) -> None:
    with pytest.raises(ToolError) as caught:
        checked(**{name: value})
    message = str(caught.value)
    assert f"'{name}'" in message
    assert reason in message
    assert '"type"' in message


def test_an_unknown_parameter_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ToolError, match=r"'cuont'.*'count'.*Parameters: text: string, count\?: integer"):
        checked(cuont=1)


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(ToolError, match="needs 'text'"):
        validate(Sample(), {})


def test_null_for_an_optional_parameter_means_its_default() -> None:
    assert checked(count=None, ratio=None) == {"text": "t", "count": 3}


@pytest.mark.parametrize("params", [[1], 5, "[1]", '{"text": '])
def test_arguments_that_are_not_an_object_are_rejected(params: object) -> None:
    with pytest.raises(ToolError, match="sample"):
        validate(Sample(), params)


def test_arguments_given_as_json_text_are_parsed() -> None:
    assert validate(Sample(), '{"text": "x"}')["text"] == "x"


def test_a_huge_value_is_truncated_in_the_error() -> None:
    with pytest.raises(ToolError) as caught:
        checked(count="9" * 100_000)
    assert len(str(caught.value)) < 600
