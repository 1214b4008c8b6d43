"""The strict host of these tests and of the replay refuses what a real one refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.strict_host import violations

SYSTEM = {"role": "system", "content": "s"}
USER = {"role": "user", "content": "u"}


def call(call_id: str = "a", arguments: str = "{}", name: str = "f") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str = "a", content: str | None = "r") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([SYSTEM, USER, result()], "answers no open call"),
        ([SYSTEM, USER, call(), result(), result()], "answers no open call"),
        ([SYSTEM, USER, call(), USER], "have no result"),
        ([SYSTEM, USER, call()], "have no result at the end"),
        ([SYSTEM, USER, call(), result(), call(), result()], "occurs twice"),
        ([SYSTEM, USER, call(""), result("")], "without an id"),
        ([SYSTEM, USER, call(arguments="{"), result()], "no JSON object"),
        ([SYSTEM, USER, call(arguments="[]"), result()], "no JSON object"),
        ([SYSTEM, USER, call(name=""), result()], "without a name"),
        ([SYSTEM, USER, call(), result(content=None)], "without text"),
        ([SYSTEM, USER, {"role": "assistant", "content": " "}], "empty assistant"),
        ([SYSTEM, USER, {"role": "assistant", "content": "x", "tool_calls": []}], "tool_calls is empty"),
        ([USER, SYSTEM], "not first"),
        ([{"role": "human", "content": "x"}], "unknown role"),
    ],
    ids=range(14),
)
def test_each_violation_is_reported(messages: list[dict[str, Any]], problem: str) -> None:
    assert any(problem in found for found in violations({"messages": messages}))


def test_a_valid_request_passes_and_an_empty_tools_list_fails() -> None:
    sound = {"messages": [SYSTEM, USER, call("a"), result("a"), call("b"), result("b"), USER]}
    assert violations(sound) == []
    assert violations({**sound, "tools": []}) == ["tools is empty"]
