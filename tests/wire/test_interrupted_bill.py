"""What an interrupted answer or summary cost: an estimate at once, the provider's bill when it is known."""

from __future__ import annotations

import asyncio
import dataclasses
from decimal import Decimal
from pathlib import Path

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint
from forge_core.events import AgentEnd, LLMChunk, LLMEnd, Retry
from forge_core.langchain.callbacks import StreamingCallback
from forge_core.llm.models import TokenUsage
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.store.saved_session import load_session
from tests.support.sse_server import (
    USAGE,
    Reply,
    Reset,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
)

BILL = {
    "id": "gen-1",
    "model": "test/model",
    "total_cost": 0.0375,
    "native_tokens_prompt": 500,
    "native_tokens_completion": 77,
    "cancelled": True,
}


def session_at(root: Path, server: SseServer) -> ForgeSession:
    config = load_session_config(root, flags={"model": "offline"})
    endpoint = Endpoint("openrouter", server.base_url, "sk-or-v1-secret0123")
    return build_session(dataclasses.replace(config, endpoint=endpoint, model="test/model"), deny_all)


async def interrupted_turn(session: ForgeSession) -> LLMEnd:
    ends: list[LLMEnd] = []
    async for happened in session.send("tell me a story"):
        if isinstance(happened, LLMChunk):
            session.interrupt()
        if isinstance(happened, LLMEnd):
            ends.append(happened)
    return ends[0]


async def until_counted(session: ForgeSession) -> TokenUsage:
    for _ in range(3000):
        if not session.status.usage.estimated:
            break
        await asyncio.sleep(0.02)
    return session.status.usage


def story() -> Reply:
    return Reply([event(chunk("Once upon a time")), Stall()], headers={"X-Generation-Id": "gen-1"})


async def test_the_estimate_of_an_interrupted_answer_is_replaced_by_its_bill(tmp_path: Path) -> None:
    with SseServer(story(), routes={"GET /generation": json_reply({"data": BILL})}) as server:
        session = session_at(tmp_path, server)
        cut = await interrupted_turn(session)
        assert cut.usage.estimated
        assert cut.total_usage.estimated
        usage = await until_counted(session)
        await session.aclose()
    assert (usage.prompt_tokens, usage.completion_tokens) == (500, 77)
    assert usage.cost_usd == Decimal("0.0375")
    spent = session.spending()
    assert {model: part.usage for model, part in spent.by_model.items()} == {"test/model": usage}
    assert [(turn.number, turn.title, turn.spending.usage) for turn in spent.turns] == [
        (1, "tell me a story", usage)
    ]


async def test_an_unavailable_bill_keeps_the_estimate(tmp_path: Path) -> None:
    with SseServer(story(), routes={"GET /generation": error_reply(403, "no")}) as server:
        session = session_at(tmp_path, server)
        await interrupted_turn(session)
        await session._billing.settled()
        assert session.status.usage.estimated
        assert session.status.usage.completion_tokens > 0
        await session.aclose()


LONG = answer("word " * 3000)
"""An answer that a summary makes shorter."""
COST = Decimal(str(USAGE["cost"]))


async def filled(session: ForgeSession) -> None:
    for _ in range(2):
        async for _ in session.send("tell me a story"):
            pass


async def interrupted_summary(session: ForgeSession) -> None:
    """Interrupt a compaction when the first words of the summary have come."""
    agent = session._agent
    agent.callbacks = [*agent.callbacks, StreamingCallback(lambda text: session.interrupt())]
    *_, last = [happened async for happened in session.compact()]
    assert isinstance(last, AgentEnd) and last.result.stopped_reason == "cancelled"


async def test_the_estimate_of_a_cancelled_summary_is_replaced_by_its_bill(tmp_path: Path) -> None:
    with SseServer(LONG, LONG, story(), routes={"GET /generation": json_reply({"data": BILL})}) as server:
        session = session_at(tmp_path, server)
        await filled(session)
        await interrupted_summary(session)
        assert session.status.usage.estimated
        usage = await until_counted(session)
        await session.aclose()
    assert server.requests[2].json["stream"]
    assert usage.prompt_tokens == 2 * USAGE["prompt_tokens"] + 500
    assert usage.cost_usd == Decimal("0.0375") + 2 * COST
    [path] = (session.config.state_dir / "sessions").glob("*.jsonl")
    calls = load_session(path).calls
    assert [call.usage.cost_usd for call in calls] == [COST, COST, Decimal("0.0375")]
    assert not calls[-1].usage.estimated


async def test_a_cancelled_summary_without_a_bill_keeps_its_estimate(tmp_path: Path) -> None:
    with SseServer(LONG, LONG, story(), routes={"GET /generation": error_reply(403, "no")}) as server:
        session = session_at(tmp_path, server)
        await filled(session)
        before = session.status.usage
        await interrupted_summary(session)
        await session._billing.settled()
        usage = session.status.usage
        await session.aclose()
    assert usage.estimated
    assert usage.prompt_tokens > before.prompt_tokens
    assert usage.completion_tokens > before.completion_tokens, "what the model has written"


async def test_a_summary_that_breaks_off_is_requested_again_and_both_are_billed(tmp_path: Path) -> None:
    broken = Reply([event(chunk("The story")), Reset()], headers={"X-Generation-Id": "gen-1"})
    routes = {"GET /generation": json_reply({"data": BILL})}
    with SseServer(LONG, LONG, broken, answer("A short story."), routes=routes) as server:
        session = session_at(tmp_path, server)
        await filled(session)
        events = [happened async for happened in session.compact()]
        usage = await until_counted(session)
        await session.aclose()
    assert [seen.method for seen in server.requests].count("POST") == 4
    assert any(isinstance(found, Retry) for found in events)
    assert session.compaction.report is not None
    assert session.compaction.report.result.summary == "A short story."
    assert usage.cost_usd == Decimal("0.0375") + 3 * COST
