"""The rarer ways to print a call, and what comes close to one without being one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge_core.llm.models import ToolDefinition
from forge_core.llm.salvage.recovery import recover_calls

TOOLS: list[ToolDefinition | dict[str, Any]] = [
    ToolDefinition("ls", "Lists.", {"type": "object", "properties": {}}),
    ToolDefinition(
        "find",
        "Finds.",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "depth": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "follow": {"type": "boolean"},
                "size": {"type": "integer"},
            },
            "additionalProperties": True,
        },
    ),
]
FIND = '"name": "find", "arguments": {"name": "a"}'


def calls_of(text: str) -> list[tuple[str, Any]] | None:
    found = recover_calls(text, TOOLS)
    return None if found is None else [(call.name, json.loads(call.arguments)) for call in found.calls]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (f'{{"tool_calls": [{{{FIND}}}]}}', {"name": "a"}),
        ('{"type": "function", "function": {"name": "find", "arguments": {"name": "a"}}}', {"name": "a"}),
        ('{"name": "find", "arguments": "{\\"name\\": \\"a\\"}"}', {"name": "a"}),
        ('{"name": "find", "arguments": {"name": "a", "more": 1}}', {"name": "a", "more": 1}),
        ('{"name": "find", "arguments": {"size": 3.0}}', {"size": 3.0}),
        ('{"name": "find", "arguments": {"depth": null}}', {"depth": None}),
        ("<function=find><parameter=depth>None</parameter></function>", {"depth": None}),
        ("<function=find><parameter=follow>False</parameter></function>", {"follow": False}),
        (
            "<tool_call>find<arg_key>name</arg_key><arg_value>a</arg_value></tool_call>",
            {"name": "a"},
        ),
        ('```tool_code\nfind(name="a")\n```', {"name": "a"}),
    ],
)
def test_a_call_is_recovered_with_values_of_its_types(text: str, arguments: dict[str, Any]) -> None:
    assert calls_of(text) == [("find", arguments)]


def test_null_arguments_are_an_empty_object() -> None:
    assert calls_of('{"name": "ls", "arguments": null}') == [("ls", {})]


@pytest.mark.parametrize(
    "text",
    [
        '{"function": {"name": "find", "arguments": {"name": "a"}}, "example": true}',
        '{"function": {"name": "find"}}',
        '{"tool_calls": ["find"]}',
        '{"name": "find", "arguments": "not json"}',
        '{"name": "find", "arguments": [1]}',
        '{"name": "find", "arguments": {"size": true}}',
        '{"name": "find", "arguments": {"size": 2.5}}',
        f"{{{FIND}}} 5",
        f"```json\n{{{FIND}}}\n```\n```tool_code\nthis is no call\n```",
        "<function=find><parameter=follow>maybe</parameter></function>",
        "<tool_call>find\nthe file</tool_call>",
    ],
)
def test_text_that_only_resembles_a_call_stays_text(text: str) -> None:
    assert calls_of(text) is None
