"""The adapter where WINK itself uses it: in its loop, with its signature, inside an event loop."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from typing import Any

import pytest

pytest.importorskip("weakincentives", reason="weakincentives is not installed (extra 'wink')")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra 'wink')")

from weakincentives.adapters.config import LLMConfig
from weakincentives.adapters.core import ProviderAdapter
from weakincentives.budget import Budget
from weakincentives.prompt import MarkdownSection, SectionVisibility
from weakincentives.runtime import AgentLoop
from weakincentives.runtime.mailbox import InMemoryMailbox

from forge_core.integrations.langgraph import LangGraphAdapter, LangGraphModelConfig
from tests.integrations_wink.prompts import (
    Handlers,
    Model,
    Total,
    calls,
    make_prompt,
    make_session,
    says,
    tool,
)
from tests.support.sse_server import SseServer, json_reply


class Loop(AgentLoop[Any, Any]):
    def __init__(self, *, prompt: Any, **options: Any) -> None:
        super().__init__(**options)
        self.prompt = prompt

    def prepare(self, request: Any, *, experiment: Any = None) -> Any:
        return self.prompt, make_session()[0]


def test_the_wink_loop_expands_sections_and_charges_the_budget() -> None:
    handlers = Handlers()
    section = MarkdownSection(
        title="Notes", key="notes", template="All of the notes.", summary="Some notes.",
        visibility=SectionVisibility.SUMMARY, tools=(tool("add", handlers.add),),
    )  # fmt: skip
    llm = Model(
        replies=[
            calls(("open_sections", {"section_keys": ["notes"], "reason": "need them"})),
            calls(("add", {"a": 20, "b": 22})),
            says("42"),
        ]
    )
    mailbox: Any = InMemoryMailbox(name="requests")
    try:
        loop = Loop(
            prompt=make_prompt(sections=[section]),
            adapter=LangGraphAdapter(model="m", llm=llm),
            requests=mailbox,
        )
        response, session = loop.execute("go", budget=Budget(max_total_tokens=1_000))
    finally:
        mailbox.close()
    assert response.text == "42"
    assert session[Total].all() == (Total(42),)
    assert [len(messages) for messages in llm.seen] == [1, 1, 3], "the second rendering starts afresh"
    assert handlers.contexts[0].budget_tracker.consumed.total_tokens == 45


def test_evaluate_has_the_same_signature_as_other_wink_adapters() -> None:
    ours = inspect.signature(LangGraphAdapter.evaluate).parameters
    theirs = inspect.signature(ProviderAdapter.evaluate).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


def test_the_model_config_has_every_field_of_the_wink_config() -> None:
    ours = {field.name: field.default for field in dataclasses.fields(LangGraphModelConfig)}
    for field in dataclasses.fields(LLMConfig):
        assert ours[field.name] == field.default
    set_ = {"temperature": 0.5, "max_tokens": 9, "top_p": 0.1, "stop": ("a",), "seed": 3}
    assert LangGraphModelConfig(**set_).to_request_params() == LLMConfig(**set_).to_request_params()


def test_an_evaluation_works_inside_a_running_event_loop(server: SseServer) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
    server.add(json_reply({"id": "g", "model": "m", "choices": [choice]}))

    async def main() -> Any:
        return LangGraphAdapter(model="m").evaluate(make_prompt(), session=make_session()[0])

    assert asyncio.run(main()).text == "hi"
