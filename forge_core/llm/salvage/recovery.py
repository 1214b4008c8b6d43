"""Recovering tool calls that a model printed as text.

Weak and local models often print a call instead of making it. Two forms are recognised: calls in the markup
that models were trained on (Hermes, Qwen, GLM, Llama, Mistral, DeepSeek, Kimi, Claude's invoke), and answers
that consist of calls as JSON, fenced JSON, Python or ReAct lines.

Prose and code that quote a call are left alone: markup must begin a line outside code fences and end the
answer; JSON and Python must be the whole answer; the tool must have been offered, and its arguments must fit
its schema. A truncated call is not completed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge_core.llm.http.wire import new_call_id
from forge_core.llm.models import ToolCall, ToolDefinition
from forge_core.llm.salvage.json_calls import FENCE_LANGUAGES, RawCall, bare_name, call_starts, json_calls
from forge_core.llm.salvage.markup import find_markup, tiles
from forge_core.llm.salvage.schema_check import fit

RECOVERED = "recovered_"
"""Prefix of the ids of recovered calls."""

_MAX_CHARS = 400_000
_MAX_CALLS = 32
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
_FENCES = re.compile(r"(?:```[ \t]*(\w*)[ \t]*\n(.*?)\n?[ \t]*```\s*)", re.DOTALL)
_END_TOKENS = re.compile(r"(?:\s|<\|(?:im_end|eot_id|eom_id|end)\|>|</s>)+\Z")


@dataclass(frozen=True, slots=True)
class RecoveredCalls:
    """An answer that contained printed calls."""

    text: str
    """The text before the calls."""
    calls: tuple[ToolCall, ...]


def recover_calls(text: str, tools: Sequence[ToolDefinition | dict[str, Any]]) -> RecoveredCalls | None:
    """Return the calls that `text` consists of or ends with; None for an ordinary answer."""
    # Every form that is recognised contains one of these characters.
    if not tools or len(text) > _MAX_CHARS or not any(mark in text for mark in "{[(<:"):
        return None
    schemas = tool_schemas(tools)
    body = _END_TOKENS.sub("", text)
    thought = _THINKING.match(body)
    start = thought.end() if thought else 0
    found = find_markup(body, start)
    if found is not None:
        return _checked(body[: found.start].rstrip(), found.calls, schemas)
    raw = _whole_answer(body[start:].strip(), schemas)
    return _checked(body[:start].rstrip(), raw, schemas) if raw else None


def _checked(
    before: str, raw: Sequence[RawCall | None], schemas: Mapping[str, Mapping[str, Any]]
) -> RecoveredCalls | None:
    """Return the calls if all of them are valid: running only some would not be what the model meant."""
    calls: list[ToolCall] = []
    for call in raw:
        schema = None if call is None else schemas.get(bare_name(call.name))
        if call is None or schema is None:
            return None
        arguments = fit(call.arguments, schema, are_texts=call.are_texts)
        if arguments is None:
            return None
        text = json.dumps(arguments, ensure_ascii=False)
        calls.append(ToolCall(RECOVERED + new_call_id(), {"name": bare_name(call.name), "arguments": text}))
    return RecoveredCalls(before, tuple(calls)) if 0 < len(calls) <= _MAX_CALLS else None


def tool_schemas(tools: Iterable[ToolDefinition | dict[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the names of the tools with the schemas of their arguments."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        function = tool.as_openai()["function"] if isinstance(tool, ToolDefinition) else tool.get("function")
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            found[function["name"]] = function.get("parameters") or {}
    return found


def _whole_answer(body: str, tools: Iterable[str]) -> list[RawCall | None]:
    if body.startswith("```"):
        return _fenced(body)
    # A list of Python calls begins with a bracket too; one of JSON calls has a quote soon after it.
    if body.startswith(("{", "[{")) or (body.startswith("[") and '"' in body[:200]):
        calls = json_calls(body)
        if calls is not None:
            return calls
    return _pythonic(body) if body.removeprefix("[").lstrip().startswith(call_starts(tools)) else []


def _fenced(body: str) -> list[RawCall | None]:
    calls: list[RawCall | None] = []
    for match in tiles(_FENCES, body):
        language, content = match[1].lower(), match[2].strip()
        found = json_calls(content)
        if found is None and language == "tool_code":
            found = _pythonic(content) or [None]
        if found is None or language not in FENCE_LANGUAGES:
            return []
        calls += found
    return calls


def _pythonic(body: str) -> list[RawCall | None]:
    """`[f(a=1), g(b="x")]`, or such calls on lines of their own; keyword arguments with literal values
    only."""
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    calls: list[RawCall | None] = []
    for statement in tree.body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        for node in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            calls.append(_python_call(node))
    return calls


def _python_call(node: ast.expr | None) -> RawCall | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    try:
        arguments = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None
    # Shorter by a `**mapping`, which has no name, or by a name that is given twice.
    if len(arguments) != len(node.keywords):
        return None
    name = ast.unparse(node.func)
    return RawCall(name, arguments)
