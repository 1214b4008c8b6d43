"""Checks values against schemas of servers, which may be hostile: no reference leaves the schema, and a check
ends soon."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from forge_core.extensions.hooks.matching import may_be_slow
from forge_core.sanitize import safe_line

_MAX_REFERENCES = 10_000
"""References that one check follows: a few of them can stand for an exponential number of schemas."""
_MAX_PATTERN = 500
_MAX_TEXT = 64
"""Characters of a text on which a pattern with several repeats is tried."""
_MAX_SHOWN = 400
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REPEAT = re.compile(r"[*+{]")


class _TooCostlyError(Exception):
    """A check was given up."""


async def problem_in(value: Any, schema: Mapping[str, Any]) -> str:
    """Return where a value differs from a schema; empty if it does not, or if the schema cannot be used or
    would take too long."""
    return await asyncio.to_thread(_problem_in, value, schema)


def _problem_in(value: Any, schema: Mapping[str, Any]) -> str:
    from jsonschema import SchemaError
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema)
    try:
        kind.check_schema(dict(schema))
        # With an empty registry, references lead nowhere out of the schema.
        error = best_match(_limited(kind)(dict(schema), registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable, RecursionError, _TooCostlyError):
        return ""
    if error is None:
        return ""
    where = ".".join(map(str, error.absolute_path))
    return safe_line(f"{where}: {error.message}" if where else error.message)[:_MAX_SHOWN]


def _limited(kind: Any) -> Any:
    """Return the class of a validator for one check, whose work is limited."""
    from jsonschema.validators import extend

    followed = 0

    def follow(keyword: str) -> Any:
        original = kind.VALIDATORS[keyword]

        def check(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
            nonlocal followed
            followed += 1
            if followed > _MAX_REFERENCES:
                raise _TooCostlyError
            yield from original(validator, target, instance, schema) or ()

        return check

    def pattern(validator: Any, expression: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and _is_quick(expression, instance):
            yield from kind.VALIDATORS["pattern"](validator, expression, instance, schema) or ()

    def pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        names = instance if isinstance(instance, dict) else ()
        quick = {one: part for one, part in patterns.items() if all(_is_quick(one, name) for name in names)}
        yield from kind.VALIDATORS["patternProperties"](validator, quick, instance, schema) or ()

    own = {keyword: follow(keyword) for keyword in _REFERENCES if keyword in kind.VALIDATORS}
    own |= {"pattern": pattern, "patternProperties": pattern_properties}
    known = {keyword: one for keyword, one in own.items() if keyword in kind.VALIDATORS}
    return extend(kind, known)  # type: ignore[no-untyped-call]


def _is_quick(expression: str, text: str) -> bool:
    """Return whether an expression cannot take long on a text: `re` holds up all threads meanwhile."""
    if len(expression) > _MAX_PATTERN or may_be_slow(expression):
        return False
    return len(text) <= _MAX_TEXT or len(_REPEAT.findall(expression)) <= 1
