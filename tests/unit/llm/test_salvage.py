"""Calls printed as text are recovered; text that only speaks of calls is not."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from forge_core.llm.models import ToolDefinition
from forge_core.llm.salvage.recovery import RECOVERED, recover_calls

TOOLS: list[ToolDefinition | dict[str, Any]] = [
    ToolDefinition(
        "read",
        "Reads.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer"},
                "raw": {"type": "boolean"},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    {
        "type": "function",
        "function": {
            "name": "grep",
            "parameters": {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "mode": {"anyOf": [{"enum": ["files", "lines"]}, {"type": "null"}]},
                    "paths": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["pattern"],
            },
        },
    },
    ToolDefinition("ls", "Lists.", {"type": "object", "properties": {}}),
]
READ = ("read", {"path": "/x"})
NAMED = '{"name": "read", "arguments": {"path": "/x"}}'


def calls_of(text: str) -> list[tuple[str, Any]]:
    found = recover_calls(text, TOOLS)
    return [] if found is None else [(call.name, json.loads(call.arguments)) for call in found.calls]


@pytest.mark.parametrize(
    "text",
    [
        NAMED,
        f"  {NAMED}\n",
        '{"name": "read", "parameters": {"path": "/x"}}',
        '{"tool": "read", "args": {"path": "/x"}}',
        '{"tool_name": "read", "tool_input": {"path": "/x"}}',
        '{"action": "read", "action_input": {"path": "/x"}}',
        '{"thought": "hm", "action": "read", "action_input": {"path": "/x"}}',
        '{"type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"/x\\"}"}}',
        '{"id": "1", "type": "function", "name": "functions.read", "arguments": {"path": "/x"}}',
        f"[{NAMED}]",
        f'{{"tool_calls": [{NAMED}]}}',
        f"```json\n{NAMED}\n```",
        f"```\n{NAMED}\n```",
        f"```tool_call\n{NAMED}\n```\n",
        '[read(path="/x")]',
        "read(path='/x')",
        'default_api.read(path="/x")',
        '```tool_code\nread(path="/x")\n```',
        f"<tool_call>\n{NAMED}\n</tool_call>",
        f"<tool_call>{NAMED}</tool_call><|im_end|>",
        f"<tool_call>\n{NAMED}\n",
        f"<|tool_call|>[{NAMED}]<|/tool_call|>",
        f"I will read it.\n<tool_call>\n{NAMED}\n</tool_call>",
        f"<think>maybe {{\n</think>\n\n{NAMED}",
        f"<think>hm</think>\n<tool_call>{NAMED}</tool_call>",
        "<tool_call>\n<function=read>\n<parameter=path>\n/x\n</parameter>\n</function>\n</tool_call>",
        "<function=read>\n<parameter=path>\n/x\n</parameter>\n</function>",
        '<function=read>{"path": "/x"}</function>',
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>/x</arg_value>\n</tool_call>",
        '<function_calls>\n<invoke name="read">\n<parameter name="path">/x</parameter>\n</invoke>\n</function_calls>',
        '<invoke name="read">\n<parameter name="path">/x</parameter>\n</invoke>',
        f"[TOOL_CALLS][{NAMED}]",
        '[TOOL_CALLS]read{"path": "/x"}',
        '[TOOL_CALLS]read[ARGS]{"path": "/x"}',
        f"<|python_tag|>{NAMED}",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
        '{"path": "/x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        '{"path": "/x"}<|tool_call_end|><|tool_calls_section_end|>',
        'Thought: I should read it.\nAction: read\nAction Input: {"path": "/x"}',
        'Action: read\nAction Input: {"path": "/x"}\nObservation: made up\nFinal Answer: 3',
    ],
)
def test_a_printed_call_is_recovered(text: str) -> None:
    assert calls_of(text) == [READ]


def test_several_calls_are_recovered_in_order() -> None:
    grep = '{"name": "grep", "arguments": {"pattern": "a.b", "mode": "files", "paths": ["x"]}}'
    both = [READ, ("grep", {"pattern": "a.b", "mode": "files", "paths": ["x"]})]
    assert calls_of(f"{NAMED}\n{grep}") == both
    assert calls_of(f"[{NAMED}, {grep}]") == both
    assert calls_of(f"```json\n{NAMED}\n```\n```json\n{grep}\n```") == both
    assert calls_of(f"<tool_call>{NAMED}</tool_call>\n<tool_call>{grep}</tool_call>") == both
    assert calls_of(f"<tool_call>{NAMED}\n<tool_call>{grep}") == both
    assert calls_of('[read(path="/x"), grep(pattern="a.b", mode="files", paths=["x"])]') == both


def test_the_text_before_a_call_is_kept_and_the_call_is_marked() -> None:
    found = recover_calls(f"I will read it.\n\n<tool_call>{NAMED}</tool_call>", TOOLS)
    assert found is not None
    assert found.text == "I will read it."
    assert found.calls[0].id.startswith(RECOVERED)


def test_xml_values_are_converted_to_the_schema_types() -> None:
    text = "<function=read><parameter=path>12</parameter><parameter=limit>12</parameter><parameter=raw>True</parameter></function>"
    assert calls_of(text) == [("read", {"path": "12", "limit": 12, "raw": True})]


def test_text_in_xml_is_kept_verbatim() -> None:
    text = "<function=read>\n<parameter=path>\n  a &amp; <b>\n\nc\n</parameter>\n</function>"
    assert calls_of(text) == [("read", {"path": "  a &amp; <b>\n\nc"})]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The file is at /x.",
        f"You could send {NAMED} to read it.",
        f"For example:\n\n```json\n{NAMED}\n```",
        f"```json\n{NAMED}\n```\nThat would read the file.",
        f"Use the tag:\n<tool_call>{NAMED}</tool_call>\nand the file is read.",
        f"The format is <tool_call>{NAMED}</tool_call>",
        f"Write this:\n```\n<tool_call>\n{NAMED}\n</tool_call>\n```",
        f"Write this:\n```\n<tool_call>\n{NAMED}\n</tool_call>",
        'To read a file call `read(path="/x")`.',
        'read(path="/x") reads the file.',
        '```python\nread(path="/x")\n```',
        'x = read(path="/x")',
        'print(read(path="/x"))',
        'read("/x")',
        'read(path=open("/etc/passwd").read())',
        "read(**{'path': '/x'})",
        '{"name": "read", "description": "x", "arguments": {"path": "/x"}}',
        '{"name": "read"}',
        '{"name": "Ada", "arguments": {"path": "/x"}}',
        '{"name": "unknown_tool", "arguments": {}}',
        '{"path": "/x"}',
        '[{"name": "read", "arguments": {"path": "/x"}}, {"other": 1}]',
        '{"name": "read", "arguments": {"path": "/x", "invented": 1}}',
        '{"name": "read", "arguments": {"path": 5}}',
        '{"name": "read", "arguments": {"limit": 5}}',
        '{"name": "read", "arguments": {"path": "/x", "limit": "many"}}',
        '{"name": "grep", "arguments": {"pattern": "x", "mode": "wrong"}}',
        '{"name": "grep", "arguments": {"pattern": "x", "paths": [1]}}',
        '{"name": "read", "arguments": {"path": "/x"',
        '{"name": "read", "arguments": "{\\"path\\": \\"/x"}',
        '<tool_call>\n{"name": "read", "arguments": {"path": "/x',
        "<tool_call>read the file</tool_call>",
        "<tool_call></tool_call>",
        "<function=read>\n<parameter=path>\n/x\n</function>",
        "<function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>",
        "<function=read>words</function>",
        "<function=read><parameter=limit>x</parameter><parameter=path>/x</parameter></function>",
        "Action: read\nAction Input: the file /x",
        "Action: read\nAction Input:",
        "[TOOL_CALLS]",
        "[TOOL_CALLS]read",
        "<|python_tag|>print(1)",
        "[1, 2, 3]",
        "[read]",
        "{" * 10_000,
        "[" * 10_000 + '"',
        "read(" * 5_000,
    ],
)
def test_an_ordinary_answer_is_not_treated_as_a_call(text: str) -> None:
    assert recover_calls(text, TOOLS) is None


def test_without_tools_nothing_is_treated_as_a_call() -> None:
    assert recover_calls(NAMED, []) is None


def test_one_invalid_call_prevents_recovery_of_all() -> None:
    assert recover_calls(f'{NAMED}\n{{"name": "read", "arguments": {{}}}}', TOOLS) is None


def test_a_tool_without_parameters_can_be_called() -> None:
    assert calls_of('{"name": "ls", "arguments": {}}') == [("ls", {})]
    assert calls_of("<tool_call>ls</tool_call>") == [("ls", {})]
    assert calls_of("ls()") == [("ls", {})]


def test_references_in_a_schema_are_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Point"}},
        "required": ["at"],
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    }
    tools: list[ToolDefinition | dict[str, Any]] = [ToolDefinition("go", "", schema)]
    assert recover_calls('{"name": "go", "arguments": {"at": {"x": 1}}}', tools) is not None
    assert recover_calls('{"name": "go", "arguments": {"at": {}}}', tools) is None
    assert recover_calls('{"name": "go", "arguments": {"at": 5}}', tools) is None


@pytest.mark.parametrize(
    "filler",
    [
        "<tool_call>\n",
        "<tool_call>{\n",
        "<function=read>\n",
        '<invoke name="read">\n',
        "[TOOL_CALLS]read{\n",
        "Action: x\nAction Input: {\n",
        "```\n",
        "```json\n",
        "<think>\n",
    ],
)
def test_hostile_repetition_is_parsed_quickly(filler: str) -> None:
    started = time.process_time()
    recover_calls(filler * 3000, TOOLS)
    assert time.process_time() - started < 2
