"""`--json-schema`: what is no schema is refused with a message that says why."""

from __future__ import annotations

import pytest

from forge_core.errors import ConfigError
from forge_core.headless.structured import AnswerSchema


@pytest.mark.parametrize("given", ["[1]", " []", "3", "-1.5", '"text"', "null", "true"])
def test_json_that_is_no_object_is_refused_as_such(given: str) -> None:
    with pytest.raises(ConfigError, match="the schema must be a JSON object"):
        AnswerSchema.read(given)


def test_a_name_that_is_no_json_is_a_file() -> None:
    with pytest.raises(ConfigError, match=r"'no-such\.json' cannot be read: No such file"):
        AnswerSchema.read("no-such.json")
