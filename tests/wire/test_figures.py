"""The figures of real sessions on a loopback provider: counted, not counted, unpriced, cut, switched."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint
from forge_core.events import AgentEvent, LLMChunk, LLMEnd, ToolEnd
from forge_core.llm.account.catalog import lookup
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from tests.support.figures import assert_adds_up, bar_text, command_text
from tests.support.sse_server import (
    USAGE,
    Gate,
    Reply,
    Reset,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
    stream,
    tool_answer,
)

PRICED = "openai/gpt-5-mini"
BILL = {
    "id": "gen-1",
    "model": PRICED,
    "total_cost": 0.0375,
    "native_tokens_prompt": 500,
    "native_tokens_completion": 77,
    "cancelled": True,
}


@asynccontextmanager
async def session_at(
    root: Path, server: SseServer, *, model: str = PRICED, kind: str = "openrouter", **changes: Any
) -> AsyncIterator[ForgeSession]:
    config = load_session_config(root, flags={"model": "offline"})
    endpoint = Endpoint(kind, server.base_url, "sk-or-v1-secret0123")
    config = dataclasses.replace(config, endpoint=endpoint, model=model, **changes)
    session = build_session(config, deny_all)
    try:
        yield session
    finally:
        await session.aclose()


async def turn(session: ForgeSession, text: str = "go") -> list[AgentEvent]:
    return [happened async for happened in session.send(text)]


def answered_by(model: str, text: str, usage: Mapping[str, Any] | None = None) -> Reply:
    """A whole answer under a model's name; without usage where there is none."""
    payloads = [{**chunk(text), "model": model}, {**chunk("", finish_reason="stop"), "model": model}]
    if usage is not None:
        payloads.append({**chunk("", usage=usage), "choices": [], "model": model})
    return stream(*payloads)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in USAGE.items() if key != name}


async def test_answers_with_usage_show_the_provider_figures(tmp_path: Path) -> None:
    usage = {**USAGE, "prompt_tokens": 12_000, "completion_tokens": 400}
    usage |= {"prompt_tokens_details": {"cached_tokens": 9_960}, "cost": 0.0312}
    with SseServer(answer("Hello.", usage=usage)) as server:
        async with session_at(tmp_path, server, context_window=200_000) as session:
            assert bar_text(session).startswith(f"{PRICED} · ▰▱▱▱▱▱▱▱▱▱ ~")
            await assert_adds_up(session)
            await turn(session)
            assert bar_text(session) == f"{PRICED} · ▰▱▱▱▱▱▱▱▱▱ 6% · $0.031"
            await assert_adds_up(session)
            assert (
                await session.context.composition()
            ).reserved == 100_000  # the model's 128,000, but half at most
            assert "83% of the input" in await command_text("/cost", session)


async def test_tool_results_are_counted_before_the_provider_reports_them(tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text("value = 1\n" * 800)
    gate = Gate()  # holds the second answer until the result of the tool was seen
    last = answer("Big.", usage={**USAGE, "prompt_tokens": 9_000})
    with SseServer(
        tool_answer(("c1", "read", {"file_path": "big.py"})), Reply([gate, *last.steps])
    ) as server:
        async with session_at(tmp_path, server) as session:
            used = []
            async for happened in session.send("read it"):
                used.append((session.status.context_used, session.status.is_context_estimate))
                if isinstance(happened, ToolEnd):
                    await assert_adds_up(session)
                    gate.open()
                if isinstance(happened, LLMEnd):
                    assert used[-1] == (happened.usage.total_tokens, False)
            assert used[-1] == (9_005, False)
            first = used.index((17, False))
            assert any(17 < tokens < 9_000 and is_estimate for tokens, is_estimate in used[first:])
            largest = (await session.context.composition()).largest(1)[0]
            assert (largest.name, largest.turn) == ("read big.py", 1)
            assert "read big.py" in await command_text("/context", session)


async def test_hidden_reasoning_is_a_separate_item(tmp_path: Path) -> None:
    usage = {**USAGE, "prompt_tokens": 5_000, "completion_tokens": 500}
    usage |= {"completion_tokens_details": {"reasoning_tokens": 450}}
    with SseServer(answer("Yes, it does. " * 10, usage=usage)) as server:
        async with session_at(tmp_path, server) as session:
            await turn(session)
            kinds = (await session.context.composition()).by_kind()
            assert kinds["reasoning"] == 450
            assert 20 < kinds["answer"] < 60
            await assert_adds_up(session)


async def test_an_answer_without_usage_is_estimated_and_priced_by_the_catalogue(tmp_path: Path) -> None:
    text = "word " * 400
    with SseServer(answered_by(PRICED, text)) as server:
        async with session_at(tmp_path, server) as session:
            ends = [happened for happened in await turn(session) if isinstance(happened, LLMEnd)]
            assert ends[0].usage.prompt_tokens > 500  # the system prompt went too
            model, usage = lookup(PRICED), session.status.usage
            assert (
                model is not None and model.prices.prompt is not None and model.prices.completion is not None
            )
            assert usage.estimated
            assert usage.cost_usd == (
                usage.prompt_tokens * model.prices.prompt + usage.completion_tokens * model.prices.completion
            )
            assert " · ~$0.00" in bar_text(session)
            assert session.status.is_context_estimate and session.status.context_used > 4_000
            assert "~ is an estimate" in await command_text("/cost", session)
            await assert_adds_up(session)


@pytest.mark.parametrize(("kind", "said"), [("openrouter", "?"), ("custom", "local")])
async def test_an_unknown_price_is_shown_as_unknown(tmp_path: Path, kind: str, said: str) -> None:
    with SseServer(answered_by("test/model", "Hi.", without("cost"))) as server:
        async with session_at(tmp_path, server, model="test/model", kind=kind) as session:
            await turn(session)
            assert bar_text(session).split(" · ")[1:3] == ["17/?", said]
            await assert_adds_up(session)
            assert "of ? tokens" in await command_text("/context", session)


async def test_a_known_price_still_shows_beside_an_unknown_one(tmp_path: Path) -> None:
    with SseServer(
        answered_by(PRICED, "Hi.", {**USAGE, "cost": 0.5}), answered_by("test/model", "Ho.", without("cost"))
    ) as server:
        async with session_at(tmp_path, server) as session:
            await turn(session, "one")
            session.models.choose("test/model")
            await turn(session, "two")
            assert "$0.500+?" in bar_text(session)
            table = await command_text("/cost", session)
            rows = {name: cost for name, (cost, _) in cost_rows(table).items()}
            assert (rows[PRICED], rows["test/model"], rows["1"], rows["2"]) == (
                "$0.5000",
                "?",
                "$0.5000",
                "?",
            )
            await assert_adds_up(session)


async def test_each_model_has_its_row_and_its_window(tmp_path: Path) -> None:
    with SseServer(
        answered_by(PRICED, "Hi.", {**USAGE, "cost": 0.25}),
        answered_by("anthropic/claude-haiku-4.5", "Ho.", {**USAGE, "cost": 0.75}),
    ) as server:
        async with session_at(tmp_path, server) as session:
            await turn(session, "one")
            assert session.status.context_window == 400_000
            session.models.choose("anthropic/claude-haiku-4.5")
            await turn(session, "two")
            assert session.status.context_window == 200_000
            table = await command_text("/cost", session)
            shares = {name: share for name, (_, share) in cost_rows(table).items()}
            assert (shares[PRICED], shares["anthropic/claude-haiku-4.5"]) == ("25%", "75%")
            assert (shares["1"], shares["2"]) == ("25%", "75%")
            await assert_adds_up(session)


def cost_rows(table: str) -> dict[str, tuple[str, str]]:
    """Return the cost and the share in each row of `/cost`, by the row's first word."""
    found = (re.match(r"(\S+) .* (\S+) +(\d+%)(?: |$)", line) for line in table.splitlines())
    return {row[1]: (row[2], row[3]) for row in found if row}


def story() -> Reply:
    begun = {**chunk("Once upon a time"), "model": PRICED}
    return Reply([event(begun), Stall()], headers={"X-Generation-Id": "gen-1"})


async def cut(session: ForgeSession) -> None:
    async for happened in session.send("tell me a story"):
        if isinstance(happened, LLMChunk):
            session.interrupt()


async def test_an_interrupted_call_is_estimated_first_and_billed_later(tmp_path: Path) -> None:
    routes = {"GET /generation": json_reply({"data": BILL}), "GET /models": error_reply(404, "no")}
    with SseServer(story(), answer("And on.", usage={**USAGE, "cost": 0.5}), routes=routes) as server:
        async with session_at(tmp_path, server) as session:
            told = asyncio.Event()
            session.on_figures = told.set
            await cut(session)
            if not told.is_set():
                assert bar_text(session).split(" · ")[2].startswith("~$")
                await assert_adds_up(session)
            await asyncio.wait_for(told.wait(), 60)
            assert session.status.usage.cost_usd == Decimal("0.0375")
            await turn(session, "go on")
            first, second = session.spending().turns
            assert (first.spending.known_usd, second.spending.known_usd) == (
                Decimal("0.0375"),
                Decimal("0.5"),
            )
            assert bar_text(session).split(" · ")[2] == "$0.538"
            await assert_adds_up(session)


async def test_an_interrupted_call_without_a_bill_keeps_its_estimate(tmp_path: Path) -> None:
    routes = {"GET /generation": error_reply(403, "no"), "GET /models": error_reply(404, "no")}
    with SseServer(story(), routes=routes) as server:
        async with session_at(tmp_path, server) as session:
            await cut(session)
            await session._billing.settled()
            assert bar_text(session).split(" · ")[2].startswith("~$0.00")
            await assert_adds_up(session)


async def test_a_rejected_request_costs_nothing(tmp_path: Path) -> None:
    paid = answer("Hi.", usage={**USAGE, "cost": 0.25})
    with SseServer(paid, error_reply(401, "User not found."), error_reply(402, "No credits.")) as server:
        async with session_at(tmp_path, server) as session:
            await turn(session, "one")
            before = bar_text(session)
            happened = [*await turn(session, "two"), *await turn(session, "three")]
            ends = [event for event in happened if isinstance(event, LLMEnd)]
            assert [(end.usage.total_tokens, end.usage.estimated) for end in ends] == [(0, False)] * 2
            assert session.status.usage.cost_usd == Decimal("0.25")
            assert bar_text(session).split(" · ")[2:] == before.split(" · ")[2:]
            table = await command_text("/cost", session)
            assert "1 one" in table and "~" not in table
            await assert_adds_up(session)


async def test_a_call_that_breaks_during_the_answer_is_estimated(tmp_path: Path) -> None:
    begun = Reply([event(chunk("Once upon a time")), Reset()])
    with SseServer(begun, error_reply(401, "User not found.")) as server:
        async with session_at(tmp_path, server) as session:
            end, refused = [event for event in await turn(session) if isinstance(event, LLMEnd)]
            assert end.usage.estimated and end.usage.prompt_tokens
            assert refused.usage.total_tokens == 0
            assert session.status.usage == end.usage
            await assert_adds_up(session)


async def test_a_reset_keeps_the_cost_and_restarts_the_turns(tmp_path: Path) -> None:
    with SseServer(*(answer("Hi.", usage={**USAGE, "cost": 0.25}) for _ in range(3))) as server:
        async with session_at(tmp_path, server) as session:
            await turn(session, "one")
            await turn(session, "two")
            await session.reset()
            await assert_adds_up(session)
            assert session.status.usage.cost_usd == Decimal("0.50")
            await turn(session, "three")
            table = await command_text("/cost", session)
            assert "Cleared or rewound" in table and "1 three" in table and "two" not in table
            await assert_adds_up(session)
