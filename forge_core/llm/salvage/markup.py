"""Calls in the markup that models were trained on, at the end of an answer."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forge_core.llm.salvage.json_calls import RawCall, json_calls


@dataclass(frozen=True, slots=True)
class Markup:
    """Calls at the end of an answer."""

    start: int
    calls: Sequence[RawCall | None]
    """None in place of a call that cannot be parsed."""


TAGS = (
    "<tool_call>",
    "<tool_calls>",
    "<|tool_call|>",
    "<function_calls>",
    "<invoke name=",
    "<antml:invoke name=",
    "<function=",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<｜tool▁calls▁begin｜>",
    "<|tool_calls_section_begin|>",
)
"""The tags that begin calls."""
START = re.compile(
    rf"(?m)^[ \t]*(?:{'|'.join(map(re.escape, TAGS))}|Action:[ \t]*[\w.-]+[ \t]*\n[ \t]*Action Input:)"
)
"""The beginning of calls in markup, which is always at the beginning of a line."""

_MAX_STARTS = 8
"""Beginnings to try: each may take a scan of all the rest, and a hostile answer has thousands."""

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
    """Return the calls that `text` ends with, searched from `start` on; None when there are none."""
    for match in itertools.islice(START.finditer(text, start), _MAX_STARTS):
        # An odd number of fences: the markup is quoted in a code block.
        if text.count("```", start, match.start()) % 2:
            continue
        calls = _read(text[match.start() :].strip())
        if calls:
            return Markup(match.start(), calls)
    return None


def tiles(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the matches that `text` consists of; none when there is anything else in it."""
    matches: list[re.Match[str]] = []
    place = 0
    while place < len(text):
        match = pattern.match(text, place)
        # A pattern that matches nothing would not advance.
        if match is None or match.end() == place:
            return []
        matches.append(match)
        place = match.end()
    return matches


def _read(text: str) -> list[RawCall | None]:
    """Return the calls that `text` consists of; none when there is anything else in it."""
    if text.startswith(("<tool_call", "<|tool_call|>")):
        return [call for match in tiles(_TAGGED, text) for call in _tagged(match[1])]
    if text.startswith("[TOOL_CALLS]"):
        return _mistral(text)
    if text.startswith("<|python_tag|>"):
        return json_calls(text.removeprefix("<|python_tag|>").strip()) or []
    for opening, closing, pattern, read in _WRAPPED:
        if text.startswith(opening):
            return _each(pattern, text.removeprefix(opening).removesuffix(closing).strip(), read)
    if text.startswith("<function="):
        return _each(_FUNCTION, text, _function)
    return _each(_INVOKE, text, _invoke) or _react(text)


def _each(
    pattern: re.Pattern[str], text: str, read: Callable[[str, str], RawCall | None]
) -> list[RawCall | None]:
    return [read(match[1], match[2]) for match in tiles(pattern, text)]


def _tagged(inner: str) -> list[RawCall | None]:
    if inner.startswith("<function="):
        return _each(_FUNCTION, inner, _function) or [None]
    if inner.startswith(("{", "[")):
        return json_calls(inner) or [None]
    name, _, rest = inner.partition("\n")
    if "<arg_key>" in name:
        name, _, rest = inner.partition("<arg_key>")
        rest = "<arg_key>" + rest
    return [_texts(name.strip(), _PAIR, rest)]


def _function(name: str, inner: str) -> RawCall | None:
    return _named_json(name, inner) if inner.startswith("{") else _texts(name, _PARAMETER, inner)


def _invoke(name: str, inner: str) -> RawCall | None:
    return _texts(name, _NAMED, inner)


def _texts(name: str, pattern: re.Pattern[str], inner: str) -> RawCall | None:
    """Return the call with the parameters that `inner` consists of."""
    inner = inner.rstrip()
    parameters = tiles(pattern, inner)
    arguments = {match[1]: match[2] for match in parameters}
    if not name or (inner and not parameters) or len(arguments) < len(parameters):
        return None
    return RawCall(name, arguments, are_texts=True)


def _named_json(name: str, inner: str) -> RawCall | None:
    try:
        value = json.loads(inner or "{}", strict=False)
    except (ValueError, RecursionError):
        return None
    return RawCall(name, value) if isinstance(value, dict) else None


def _mistral(text: str) -> list[RawCall | None]:
    match = _MISTRAL.match(text)
    if match is None:
        return json_calls(text.removeprefix("[TOOL_CALLS]").strip()) or []
    calls: list[RawCall | None] = []
    for part in text.split("[TOOL_CALLS]")[1:]:
        name, _, arguments = part.strip().partition("{")
        calls.append(_named_json(name.strip().removesuffix("[ARGS]").strip(), "{" + arguments))
    return calls


def _react(text: str) -> list[RawCall | None]:
    """Return the call of one `Action:`; an `Observation:` that the model made up is dropped."""
    match = _REACT.match(_OBSERVATION.sub("", text).strip())
    if match is None:
        return []
    inner = match.group(2).strip()
    fence = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", inner, re.DOTALL)
    call = _named_json(match.group(1), fence.group(1) if fence else inner)
    return [call] if call is not None else []


_WRAPPED = (
    ("<function_calls>", "</function_calls>", _INVOKE, _invoke),
    ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", _DEEPSEEK, _named_json),
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", _KIMI, _named_json),
)
"""The opening and the closing tag around calls, the pattern of one call, and the function that reads it."""
