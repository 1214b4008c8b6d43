"""Calls printed as JSON, in the many key names that models know for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forge_core.llm.http.wire import parse_json

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs")
OTHER_KEYS = frozenset({"type", "id", "index", "thought", "thoughts", "reasoning", "call_id"})


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as it was printed, not yet checked against any schema."""

    name: str
    arguments: dict[str, Any]
    are_texts: bool = False
    """The values are text out of XML, to be read as the schema's types."""


def documents_in(body: str) -> list[Any] | None:
    """The JSON documents that `body` consists of, one after the other; None when it is anything else."""
    decoder = json.JSONDecoder(strict=False)
    documents: list[Any] = []
    place = 0
    while place < len(body):
        try:
            document, place = decoder.raw_decode(body, place)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict | list):
            return None
        documents.append(document)
        while place < len(body) and body[place] in " \t\r\n,;":
            place += 1
    return documents


def calls_in(document: Any) -> Iterator[RawCall | None]:
    """The calls that a JSON document is; None in the place of a part that is no call."""
    if isinstance(document, list):
        for item in document:
            yield from calls_in(item)
    elif (
        isinstance(document, dict)
        and set(document) == {"tool_calls"}
        and isinstance(document["tool_calls"], list)
    ):
        yield from calls_in(document["tool_calls"])
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
