"""Checks values against schemas of servers, which may be hostile: no reference leaves the schema, and a check
ends soon."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from forge_core.extensions.hooks.matching import may_be_slow
from forge_core.sanitize import safe_line

_BUDGET = 3_000_000
"""Of one check, in units of about 0.5 µs. Small schemas can stand for an exponential amount of work."""
_KEYWORD_COST = 10
_REFERENCE_COST = 500
_MAX_SCHEMA_CHARS = 1_000_000
"""Of a schema that is checked itself; a longer one is not used."""
_MAX_PATTERN = 500
_MAX_TEXT = 64
"""Characters of a text on which a pattern with several repeats is tried."""
_MAX_REPEATED_TEXT = 4_000
"""The same for a pattern with one repeat, for which the time can be quadratic."""
_MAX_PLAIN_TEXT = 100_000
"""The same for a pattern without any."""
_MAX_SHOWN = 400
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "extends"})
_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_REPEAT = re.compile(r"[*+{]")
Check: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[Any] | None]
"""Yields the errors of a keyword, given the validator, the value of the keyword, the instance, the schema."""


class _TooCostlyError(Exception):
    """A check was given up."""


async def problem_in(value: Any, schema: Mapping[str, Any]) -> str:
    """Return where a value differs from a schema; empty if it does not, or if the schema cannot be used or
    would take too long."""
    return await asyncio.to_thread(_problem_in, value, schema)


def _problem_in(value: Any, schema: Mapping[str, Any]) -> str:
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry

    try:
        if len(json.dumps(schema)) > _MAX_SCHEMA_CHARS:
            return ""
        kind = validator_for(schema)
        kind.check_schema(dict(schema))
        # With an empty registry, references lead nowhere out of the schema.
        error = best_match(_limited(kind)(dict(schema), registry=Registry()).iter_errors(value))
    except Exception:  # too costly, or whatever a damaged schema makes these libraries raise
        return ""
    if error is None:
        return ""
    where = ".".join(map(str, error.absolute_path))
    return safe_line(f"{where}: {error.message}" if where else error.message)[:_MAX_SHOWN]


def _limited(kind: Any) -> Any:
    """Return the class of a validator for one check, whose work and whose messages are limited.

    Left out are expressions that may be slow, and `unevaluated…`, for which jsonschema follows references and
    tries expressions by itself.
    """
    import attrs
    from jsonschema.validators import extend

    left = _BUDGET

    def spend(cost: int) -> None:
        nonlocal left
        left -= cost
        if left < 0:
            raise _TooCostlyError

    def counted(keyword: str, check: Check) -> Check:
        cost = _REFERENCE_COST if keyword in _REFERENCES else _KEYWORD_COST

        def work(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
            spend(cost + _size(expected) + _size(instance))
            for error in check(validator, expected, instance, schema) or ():
                spend(len(error.message))  # it shows the instance, which may be large
                yield error

        return work

    own = {
        **kind.VALIDATORS,
        **{name: one for name, one in _own_checks(kind).items() if name in kind.VALIDATORS},
    }
    limited = extend(kind, {name: counted(name, check) for name, check in own.items()})  # type: ignore[no-untyped-call]
    # Its own would leave this class where a part of the schema has a "$schema".
    limited.evolve = attrs.evolve
    return limited


def _own_checks(kind: Any) -> Mapping[str, Check]:
    """Return the checks that differ from those of jsonschema."""

    def pattern(validator: Any, expression: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and _is_quick(expression, instance):
            yield from kind.VALIDATORS["pattern"](validator, expression, instance, schema) or ()

    def pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        quick = {one: part for one, part in patterns.items() if _is_quick_on_names(one, instance)}
        yield from kind.VALIDATORS["patternProperties"](validator, quick, instance, schema) or ()

    def additional_properties(validator: Any, others: Any, instance: Any, schema: Any) -> Iterator[Any]:
        patterns = schema.get("patternProperties", {})
        if all(_is_quick_on_names(one, instance) for one in patterns):
            yield from kind.VALIDATORS["additionalProperties"](validator, others, instance, schema) or ()

    def unique_items(validator: Any, is_wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        # That of jsonschema compares each item with each other one.
        texts = [json.dumps(one, sort_keys=True) for one in instance] if isinstance(instance, list) else []
        if is_wanted and len(set(texts)) < len(texts):
            yield ValidationError(f"{instance!r} has non-unique elements")

    from jsonschema import ValidationError

    return {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": unique_items,
        **dict.fromkeys(_UNEVALUATED, lambda *_: ()),
    }


def _size(value: object) -> int:
    return len(value) if isinstance(value, list | dict) else 0


def _is_quick_on_names(expression: str, instance: object) -> bool:
    return not isinstance(instance, dict) or all(_is_quick(expression, name) for name in instance)


def _is_quick(expression: str, text: str) -> bool:
    """Return whether an expression cannot take long on a text: `re` holds up all threads meanwhile."""
    if len(expression) > _MAX_PATTERN or may_be_slow(expression):
        return False
    repeats = len(_REPEAT.findall(expression))
    return len(text) <= (_MAX_TEXT if repeats > 1 else _MAX_REPEATED_TEXT if repeats else _MAX_PLAIN_TEXT)
