"""The reasoning effort, fallbacks and routing of a session, as the provider receives them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.commands.result import Failure, StatusChange
from forge_core.config.forge_config import Endpoint, ForgeConfig, Origin
from forge_core.events import AgentEvent, LLMEnd, Notice
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.models import CompletionRequest, Message
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from tests.support.commands import run_command
from tests.support.figures import bar_text
from tests.support.sse_server import Reply, SseServer, answer, chunk, error_reply, json_reply, stream

REASONING, PLAIN = "openai/gpt-5-mini", "openai/gpt-4.1"


def config_at(root: Path, server: SseServer, kind: str = "openrouter", **changes: Any) -> ForgeConfig:
    config = load_session_config(root, flags={"model": "offline"})
    endpoint = Endpoint(kind, server.base_url, "sk-or-v1-secret0123")
    return dataclasses.replace(
        config, **{"endpoint": endpoint, "model": REASONING, "max_retries": 0, **changes}
    )


async def turn(session: ForgeSession) -> list[AgentEvent]:
    return [event async for event in session.send("Hello")]


def by_fallback(text: str) -> Reply:
    payloads = (chunk(text), chunk("", finish_reason="stop"))
    return stream(*({**payload, "model": "other/one"} for payload in payloads))


def sent(server: SseServer, field: str) -> list[Any]:
    return [request.json.get(field) for request in server.requests if request.method == "POST"]


async def test_the_effort_is_sent_from_the_next_call_on_and_taken_back(tmp_path: Path) -> None:
    with SseServer(answer("a"), answer("b"), answer("c")) as server:
        session = build_session(config_at(tmp_path, server), deny_all)
        await turn(session)
        assert await run_command("/effort HIGH", session) == StatusChange(
            "Effort: high, from the next answer on"
        )
        assert "effort high" in bar_text(session)
        await turn(session)
        await run_command("/effort default", session)
        assert "effort" not in bar_text(session)
        await turn(session)
        await session.aclose()
        assert sent(server, "reasoning") == [None, {"effort": "high"}, None]


async def test_other_endpoints_take_the_effort_as_a_word(tmp_path: Path) -> None:
    with SseServer(answer("a")) as server:
        session = build_session(config_at(tmp_path, server, "custom", effort="low"), deny_all)
        await turn(session)
        await session.aclose()
        assert (sent(server, "reasoning"), sent(server, "reasoning_effort")) == ([None], ["low"])


async def test_a_model_without_reasoning_takes_no_effort_and_another_takes_it_again(tmp_path: Path) -> None:
    with SseServer(answer("a"), answer("b")) as server:
        session = build_session(config_at(tmp_path, server, effort="high"), deny_all)
        session.models.choose(PLAIN)
        refused = await run_command("/effort low", session)
        assert refused == Failure(f"{PLAIN!r} does not reason: there is no effort to set.")
        await turn(session)
        session.models.choose(REASONING)
        await turn(session)
        await session.aclose()
        assert sent(server, "reasoning") == [None, {"effort": "high"}]


@pytest.mark.parametrize(
    ("chosen", "given", "after"),
    [("high", None, "high"), ("default", "low", None), (None, "low", "low")],
)
async def test_a_continued_session_keeps_its_effort(
    tmp_path: Path, chosen: str | None, given: Any, after: str | None
) -> None:
    with SseServer(answer("a"), answer("b")) as server:
        config = config_at(tmp_path, server, effort=given if chosen == "default" else None)
        session = build_session(config, deny_all)
        await turn(session)
        if chosen:
            await run_command(f"/effort {chosen}", session)
        await session.aclose()
        config = dataclasses.replace(config, effort=given)
        again = build_session(config, deny_all, resume=session.id)
        assert again.models.effort == after
        await again.aclose()
        flag = dataclasses.replace(config, effort="max", origins={"effort": Origin.FLAG})
        again = build_session(flag, deny_all, resume=session.id)
        assert again.models.effort == "max"
        await again.aclose()


async def test_fallbacks_and_routing_go_to_openrouter_alone(tmp_path: Path) -> None:
    chosen: Any = {
        "models": ("a/b", "c/d"),
        "provider_order": ("azure",),
        "provider_data_collection": "deny",
        "provider_zdr": True,
    }
    with SseServer(answer("a"), answer("b")) as server:
        session = build_session(config_at(tmp_path, server, **chosen), deny_all)
        await turn(session)
        listing = await run_command("/model", session)
        assert "Fallbacks: a/b, c/d" in str(listing)
        assert "Routing: order azure, data_collection deny, zdr yes" in str(listing)
        await session.aclose()
        session = build_session(config_at(tmp_path, server, "custom", **chosen), deny_all)
        await turn(session)
        await session.aclose()
        assert sent(server, "models") == [["a/b", "c/d"], None]
        routing = {"order": ["azure"], "data_collection": "deny", "zdr": True}
        assert sent(server, "provider") == [routing, None]


@pytest.mark.parametrize("status", [404, 429, 503])
async def test_another_endpoint_is_asked_for_the_fallback_and_a_notice_names_it(
    tmp_path: Path, status: int
) -> None:
    failed, other = error_reply(status, "not now"), by_fallback("b")
    with SseServer(failed, other, failed, other, answer("mine"), failed, other) as server:
        session = build_session(config_at(tmp_path, server, "custom", models=("other/one",)), deny_all)
        notices = []
        for _ in range(4):
            events = await turn(session)
            notices.append([event.text for event in events if isinstance(event, Notice)])
        assert sent(server, "model") == [REASONING, "other/one"] * 2 + [REASONING, REASONING, "other/one"]
        notice = f"{REASONING} could not answer; other/one answered instead."
        assert notices == [[notice], [], [], [notice]]
        assert [event.model for event in events if isinstance(event, LLMEnd)] == ["other/one"]
        await session.aclose()


async def test_a_request_that_is_wrong_is_not_sent_to_a_fallback(tmp_path: Path) -> None:
    with SseServer(error_reply(400, "bad")) as server:
        session = build_session(config_at(tmp_path, server, "custom", models=("other/one",)), deny_all)
        await turn(session)
        await session.aclose()
        assert sent(server, "model") == [REASONING]


async def test_a_whole_answer_has_fallbacks_too(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    with SseServer(error_reply(503, "no"), json_reply(body)) as server:
        async with OpenRouterClient("k", server.base_url, max_retries=0) as client:
            request = CompletionRequest("a/b", [Message.user("x")], fallbacks=("c/d",))
            response = await client.complete(request)
        assert (response.message.text, response.model) == ("hi", "c/d")


async def test_a_change_that_gives_a_large_prompt_cache_up_is_asked_for_twice(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 80_000, "completion_tokens": 5, "total_tokens": 80_005}
    large = {**usage, "prompt_tokens_details": {"cached_tokens": 70_000}}
    small = {**usage, "prompt_tokens_details": {"cached_tokens": 7_000}}
    with SseServer(answer("a", usage=large), answer("b", usage=small)) as server:
        session = build_session(config_at(tmp_path, server), deny_all)
        await turn(session)
        warned = await run_command("/model anthropic/claude-haiku-4.5", session)
        assert isinstance(warned, Failure)
        assert "70,000 tokens" in warned.text
        assert "about $0.07" in warned.text
        assert session.status.model == REASONING
        again = await run_command("/model anthropic/claude-haiku-4.5", session)
        assert again == StatusChange("Model: anthropic/claude-haiku-4.5")
        assert await run_command(f"/model {REASONING}", session) == StatusChange(f"Model: {REASONING}")
        await turn(session)
        assert isinstance(await run_command("/model other/one", session), StatusChange)
        await session.aclose()


async def test_the_models_of_a_custom_endpoint_are_read_from_its_list(tmp_path: Path) -> None:
    listing = {"data": [{"id": "qwen3", "max_model_len": 32_000}, {"id": "two words"}, {"id": 5}, "x"]}
    with SseServer(routes={"GET /models": json_reply(listing)}) as server:
        session = build_session(config_at(tmp_path, server, "custom"), deny_all)
        offered = await session.models.offered()
        assert [(one.id, one.window, one.abilities) for one in offered] == [("qwen3", 32_000, None)]
        await session.aclose()
