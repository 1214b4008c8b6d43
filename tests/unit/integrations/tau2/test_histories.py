"""Any history is either told so that a strict host takes it, or refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_core.langchain.model.requests import build_request
from forge_core.llm.endpoints import PROVIDERS
from forge_core.llm.http.payload import build_body
from tests.support import tau2_shop as shop
from tests.support.strict_host import violations

pytestmark = pytest.mark.property


ids = st.sampled_from(["", "a", "b", "call_again_0", "call_again_1"])
steps = st.one_of(
    st.tuples(st.just("user"), st.text(max_size=3)),
    st.tuples(st.just("said"), st.text(min_size=1, max_size=3).filter(str.strip)),
    st.tuples(st.just("called"), st.lists(ids, min_size=1, max_size=3)),
    st.tuples(st.just("answered"), st.booleans()),
    st.tuples(st.just("result"), ids),
)


def history_of(script: list[tuple[str, Any]]) -> list[Any]:
    made: list[Any] = []
    for kind, value in script:
        match kind:
            case "user":
                made.append(shop.user(value))
            case "said":
                made.append(shop.said(value))
            case "called":
                made.append(shop.called(*((call_id, "get_order", {"order_id": "1"}) for call_id in value)))
            case "result":
                made.append(shop.result(value, "x"))
            case _:  # the results of the last message's calls, in order or not
                calls = list(getattr(made[-1], "tool_calls", None) or ()) if made else []
                made += [
                    shop.result(call.id, "x")
                    for call in (calls if value else sorted(calls, key=lambda c: c.id))
                ]
    return made


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(steps, max_size=8))
def test_a_history_is_valid_for_a_strict_host_or_refused(script: list[tuple[str, Any]]) -> None:
    from forge_core.integrations.tau2.messages import to_langchain

    history = history_of(script)
    try:
        told = to_langchain(history, is_whole=True)
    except ValueError:
        return
    body = build_body(build_request("m", told, {}, (), {}), PROVIDERS["openrouter"], stream=False)
    assert violations(body) == []
    assert [message["role"] for message in body["messages"]] == [message.role for message in history]


def test_a_complete_history_is_never_refused() -> None:
    from forge_core.integrations.tau2.messages import to_langchain

    script = [
        ("user", "Hi"),
        ("called", ["a", "", "a"]),
        ("answered", True),
        ("called", ["a"]),
        ("answered", True),
    ]
    assert len(to_langchain(history_of(script), is_whole=True)) == 7
