"""What an interrupted answer cost: an estimate at once, the provider's bill as soon as it is known."""

from __future__ import annotations

import asyncio
import dataclasses
from decimal import Decimal
from pathlib import Path

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint
from forge_core.events import LLMChunk, LLMEnd
from forge_core.llm.models import TokenUsage
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from tests.support.sse_server import Reply, SseServer, Stall, chunk, error_reply, event, json_reply

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
