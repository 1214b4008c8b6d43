"""`--json-schema`: a final answer that is one JSON value, checked against a schema, with one repair."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from forge_core.errors import ConfigError

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_LONGEST_PROBLEM = 500


class AnswerSchema:
    """The schema of an answer.

    References to other documents are not fetched: a schema that has some is refused when they are needed.
    """

    def __init__(self, schema: Any) -> None:
        """Check the schema itself.

        Raises:
            ConfigError: it is no valid JSON schema.
        """
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry

        if not isinstance(schema, dict):
            raise ConfigError("--json-schema: the schema must be a JSON object.")
        kind = validator_for(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise ConfigError(f"--json-schema: this is no valid JSON schema: {error.message}.") from error
        self._schema = schema
        self._validator = kind(schema, registry=Registry())

    @classmethod
    def read(cls, given: str) -> AnswerSchema:
        """Return the schema in a file, or in the text itself if that begins with a brace.

        Raises:
            ConfigError: it cannot be read, or is no valid JSON schema.
        """
        try:
            text = given if given.lstrip().startswith("{") else Path(given).read_text(encoding="utf-8-sig")
            return cls(json.loads(text))
        except OSError as error:
            with contextlib.suppress(ValueError, RecursionError):
                return cls(json.loads(given))  # no object, so this raises what is wrong with it
            raise ConfigError(f"--json-schema: {given!r} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"--json-schema: {given[:80]!r} is not valid JSON: {error}.") from error

    @property
    def request(self) -> str:
        """What follows the prompt: what is demanded of the final answer."""
        schema = json.dumps(self._schema, ensure_ascii=False)
        return (
            f"\n\nYour final answer must be a single JSON value that matches this JSON schema, with "
            f"no other text and no code fence:\n{schema}"
        )

    def repair(self, problem: str) -> str:
        """Return the message that asks for a corrected answer."""
        return (
            f"Your answer was not accepted: {problem}. Send the corrected JSON value, with no other text and "
            "no code fence."
        )

    def check(self, answer: str) -> tuple[Any, str]:
        """Return the value of an answer, and why it does not match; an empty text if it does."""
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        try:
            value = json.loads(_json_in(answer))
        except (ValueError, RecursionError) as error:
            return None, f"it is not valid JSON: {error}"
        try:
            found = best_match(self._validator.iter_errors(value))
        except (Unresolvable, RecursionError) as error:
            return None, f"the schema has a reference that cannot be used: {error}"
        if found is None:
            return value, ""
        place = found.json_path.removeprefix("$.") if found.json_path != "$" else "the value"
        return None, f"{place}: {found.message}"[:_LONGEST_PROBLEM]


def _json_in(answer: str) -> str:
    """Return the JSON of an answer: all of it, or the only block of code in it."""
    text = answer.strip()
    blocks = _FENCED.findall(text)
    return blocks[0] if len(blocks) == 1 and not text.startswith(("{", "[", '"')) else text
