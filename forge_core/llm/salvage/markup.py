"""Calls in the markup that models were trained on, at the end of an answer."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from forge_core.llm.salvage.json_calls import RawCall, calls_in, documents_in


@dataclass(frozen=True, slots=True)
class Markup:
    """Where the calls begin, and the calls; None in the place of one that cannot be read."""

    start: int
    calls: Sequence[RawCall | None]


START = re.compile(
    r"(?m)^[ \t]*(?:"
    r"<tool_calls?>|<\|tool_call\|>|<function_calls>|<(?:antml:)?invoke name=|<function=|\[TOOL_CALLS\]"
    r"|<\|python_tag\|>|<｜tool▁calls▁begin｜>|<\|tool_calls_section_begin\|>"
    r"|Action:[ \t]*[\w.-]+[ \t]*\n[ \t]*Action Input:)"
)
"""What begins a call in markup; always at the beginning of a line."""

_MAX_STARTS = 8
"""Beginnings that are tried: each may cost a look at all the rest, and a hostile answer has thousands."""

_TAGGED = re.compile(
    r"\s*(?:<tool_calls?>|<\|tool_call\|>)\s*(.*?)\s*"
    r"(?:</tool_calls?>|<\|/tool_call\|>|(?=<tool_call>)|\Z)",
    re.DOTALL,
)
_FUNCTION = re.compile(r"\s*<function=([\w.:-]+)>\s*(.*?)\s*(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_INVOKE = re.compile(r'\s*<(?:antml:)?invoke name="([\w.:-]+)">\s*(.*?)\s*</(?:antml:)?invoke>', re.DOTALL)
_NAMED = re.compile(
    r'\s*<(?:antml:)?parameter name="([\w.-]+)"[^>]*>\n?(.*?)\n?</(?:antml:)?parameter>', re.DOTALL
)
_PAIR = re.compile(r"\s*<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>\n?(.*?)\n?</arg_value>", re.DOTALL)
_MISTRAL = re.compile(r"\s*\[TOOL_CALLS\]\s*([\w.-]+)(?:\[ARGS\])?\s*(?=\{)")
_DEEPSEEK = re.compile(
    r"\s*<｜tool▁call▁begin｜>(?:function)?<｜tool▁sep｜>([\w.-]+)\s*"
    r"(?:```json)?\s*(.*?)\s*(?:```)?\s*<｜tool▁call▁end｜>",
    re.DOTALL,
)
_KIMI = re.compile(
    r"\s*<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+?)(?::\d+)?\s*"
    r"<\|tool_call_argument_begin\|>\s*(.*?)\s*<\|tool_call_end\|>",
    re.DOTALL,
)
_REACT = re.compile(r"Action:[ \t]*([\w.-]+)[ \t]*\n[ \t]*Action Input:[ \t]*(.*)", re.DOTALL)
_OBSERVATION = re.compile(r"(?m)^[ \t]*Observation:.*", re.DOTALL)


def find_markup(text: str, start: int = 0) -> Markup | None:
    """The calls that end `text`, looked for from `start` on; None when it does not end in any."""
    for match in itertools.islice(START.finditer(text, start), _MAX_STARTS):
        if text.count("```", start, match.start()) % 2:
            continue
        calls = _read(text[match.start() :].strip())
        if calls:
            return Markup(match.start(), calls)
    return None


def _read(text: str) -> list[RawCall | None]:
    """The calls that `text` consists of; none when anything else stands between or behind them."""
    if text.startswith(("<tool_call", "<|tool_call|>")):
        return _tagged(text)
    if text.startswith("<function="):
        return _each(_FUNCTION, text, _function)
    if text.startswith("<function_calls>"):
        inner = text.removeprefix("<function_calls>").strip()
        return _each(_INVOKE, inner.removesuffix("</function_calls>").strip(), _invoke)
    if _INVOKE.match(text):
        return _each(_INVOKE, text, _invoke)
    if text.startswith("[TOOL_CALLS]"):
        return _mistral(text)
    if text.startswith("<|python_tag|>"):
        return _json_calls(text.removeprefix("<|python_tag|>"))
    if text.startswith("<｜"):
        inner = text.removeprefix("<｜tool▁calls▁begin｜>").removesuffix("<｜tool▁calls▁end｜>")
        return _each(_DEEPSEEK, inner.strip(), _named_json)
    if text.startswith("<|tool_calls_section_begin|>"):
        inner = text.removeprefix("<|tool_calls_section_begin|>").removesuffix("<|tool_calls_section_end|>")
        return _each(_KIMI, inner.strip(), _named_json)
    return _react(text)


def _each(
    pattern: re.Pattern[str], text: str, read: Callable[[str, str], RawCall | None]
) -> list[RawCall | None]:
    calls: list[RawCall | None] = []
    place = 0
    while place < len(text):
        match = pattern.match(text, place)
        if match is None or match.end() == place:
            return []
        calls.append(read(match.group(1), match.group(2)))
        place = match.end()
    return calls


def _tagged(text: str) -> list[RawCall | None]:
    calls: list[RawCall | None] = []
    place = 0
    while place < len(text):
        match = _TAGGED.match(text, place)
        if match is None or match.end() == place:
            return []
        calls += _tagged_one(match.group(1))
        place = match.end()
    return calls


def _tagged_one(inner: str) -> list[RawCall | None]:
    if inner.startswith("<function="):
        return _each(_FUNCTION, inner, _function) or [None]
    if inner.startswith(("{", "[")):
        return _json_calls(inner) or [None]
    name, _, rest = inner.partition("\n")
    if "<arg_key>" in name:
        name, _, rest = inner.partition("<arg_key>")
        rest = "<arg_key>" + rest
    if rest.strip() and not rest.lstrip().startswith("<arg_key>"):
        return [None]
    return [_texts(name.strip(), _PAIR, rest)]


def _function(name: str, inner: str) -> RawCall | None:
    return _named_json(name, inner) if inner.startswith("{") else _texts(name, _PARAMETER, inner)


def _invoke(name: str, inner: str) -> RawCall | None:
    return _texts(name, _NAMED, inner)


def _texts(name: str, pattern: re.Pattern[str], inner: str) -> RawCall | None:
    """The parameters that `inner` consists of."""
    arguments: dict[str, Any] = {}
    place = 0
    inner = inner.rstrip()
    while place < len(inner):
        match = pattern.match(inner, place)
        if match is None or match.group(1) in arguments:
            return None
        arguments[match.group(1)] = match.group(2)
        place = match.end()
    return RawCall(name, arguments, are_texts=True) if name else None


def _named_json(name: str, inner: str) -> RawCall | None:
    try:
        value = json.loads(inner or "{}", strict=False)
    except (ValueError, RecursionError):
        return None
    return RawCall(name, value) if isinstance(value, dict) else None


def _json_calls(inner: str) -> list[RawCall | None]:
    documents = documents_in(inner.strip())
    return [call for document in documents or () for call in calls_in(document)]


def _mistral(text: str) -> list[RawCall | None]:
    match = _MISTRAL.match(text)
    if match is None:
        return _json_calls(text.removeprefix("[TOOL_CALLS]"))
    calls: list[RawCall | None] = []
    for part in text.split("[TOOL_CALLS]")[1:]:
        name, _, arguments = part.strip().partition("{")
        calls.append(_named_json(name.strip().removesuffix("[ARGS]").strip(), "{" + arguments))
    return calls


def _react(text: str) -> list[RawCall | None]:
    """One `Action:` with its input; an `Observation:` that the model made up is dropped."""
    match = _REACT.match(_OBSERVATION.sub("", text).strip())
    if match is None:
        return []
    inner = match.group(2).strip()
    fence = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", inner, re.DOTALL)
    call = _named_json(match.group(1), fence.group(1) if fence else inner)
    return [call] if call is not None else []
