"""Calls printed as JSON, with the many key names that models use for their parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from forge_core.llm.http.wire import parse_json

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs")
OTHER_KEYS = frozenset({"type", "id", "index", "thought", "thoughts", "reasoning", "call_id"})
FENCE_LANGUAGES = frozenset({"", "json", "tool_call", "tool_calls", "tool_code", "tool"})
"""The languages of code fences that may contain calls."""
_NAMESPACES = ("", "functions.", "tools.", "default_api.")
"""Prefixes that models write before a tool's name."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """A printed call, not yet checked against a schema."""

    name: str
    arguments: dict[str, Any]
    are_texts: bool = False
    """The values are text from XML, to be parsed as the schema's types."""


def bare_name(name: str) -> str:
    """Return a tool's name without a namespace."""
    name = name.strip()
    for namespace in _NAMESPACES:
        name = name.removeprefix(namespace)
    return name


def call_starts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the beginnings of calls of these tools in Python."""
    return tuple(f"{namespace}{name}(" for name in names for namespace in _NAMESPACES)


def json_calls(body: str) -> list[RawCall | None] | None:
    """Return the calls in the JSON documents that `body` consists of; None when it is anything else.

    A part that is not a call is a None in the list.
    """
    decoder = json.JSONDecoder(strict=False)
    calls: list[RawCall | None] = []
    place = 0
    while place < len(body):
        try:
            document, place = decoder.raw_decode(body, place)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict | list):
            return None
        calls += _calls_in(document)
        while place < len(body) and body[place] in " \t\r\n,;":
            place += 1
    return calls


def _calls_in(document: Any) -> Iterator[RawCall | None]:
    is_wrapper = isinstance(document, dict) and set(document) == {"tool_calls"}
    items = document["tool_calls"] if is_wrapper else document
    if isinstance(items, list):
        for item in items:
            yield from _calls_in(item)
    else:
        yield _json_call(document)


def _json_call(document: Any) -> RawCall | None:
    if isinstance(document, dict) and isinstance(document.get("function"), dict):
        if set(document) - {"function"} - OTHER_KEYS:
            return None
        document = document["function"]
    if not isinstance(document, dict):
        return None
    names = [key for key in NAME_KEYS if isinstance(document.get(key), str)]
    arguments = [key for key in ARGUMENT_KEYS if key in document]
    # Two names or an unknown key: data that only resembles a call.
    if len(names) != 1 or len(arguments) != 1 or set(document) - {*names, *arguments} - OTHER_KEYS:
        return None
    given = document[arguments[0]]
    if isinstance(given, str):
        try:
            given = parse_json(given)
        except ValueError:
            return None
    if given is None:
        given = {}
    return RawCall(document[names[0]], given) if isinstance(given, dict) else None
