"""Where the prompt cache of a session broke: by what has changed, and by what the provider reports."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.config.permission_mode import PermissionMode
from forge_core.llm.account.pricing import ModelPrices, price
from forge_core.runtime import build_session
from forge_core.session.session import ForgeSession
from tests.support.figures import command_text
from tests.support.sse_server import Reply, SseServer, chunk, stream
from tests.unit.runtime.test_resuming import config_for, say

BROKE = "The prompt cache broke in the last turn:"


def counted(prompt: int, cached: int, model: str = "test/model") -> Reply:
    """An answer of a model, with the provider's count of the request."""
    details = {"cached_tokens": cached}
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": 5,
        "prompt_tokens_details": details,
    }
    last = {**chunk("", usage=usage), "choices": []}
    payloads = (chunk("Yes."), chunk("", finish_reason="stop"), last)
    return stream(*({**payload, "model": model} for payload in payloads))


async def broken(session: ForgeSession) -> str:
    """Return what `/context` says of the cache after the last turn, in one line."""
    text = " ".join((await command_text("/context", session)).split())
    return text.partition(BROKE)[2].partition("The next request")[0].strip()


async def test_the_first_difference_is_named_and_contradictions_are_reported(tmp_path: Path) -> None:
    counts = [(5_000, 0), (5_100, 4_992), (5_200, 0), (5_300, 0), (5_400, 5_200), (5_500, 5_300)]
    with SseServer(*(counted(*count) for count in counts)) as server:
        session = build_session(config_for(tmp_path / "work", server), deny_all)
        for _ in range(2):
            await say(session, "go")
            assert await broken(session) == ""

        session.set_mode(PermissionMode.PLAN)
        following = " ".join((await command_text("/context", session)).split())
        assert "The next request breaks the prompt cache at: system prompt, changed by /mode." in following
        await say(session, "go")
        text = await broken(session)
        assert text.startswith("system prompt, changed by /mode.") and "sent again uncached" in text

        await say(session, "go")  # nothing has changed, and the provider took nothing from its cache
        assert (await broken(session)).startswith("only 0 of 5,300 tokens came from it")

        session.set_mode(PermissionMode.ASK)
        await say(session, "go")
        assert (await broken(session)).endswith("The provider reports 5,200 from its cache, though.")

        await say(session, "go")
        assert await broken(session) == ""
        await session.aclose()


async def test_the_answer_of_another_model_is_no_expired_cache(tmp_path: Path) -> None:
    answers = [
        counted(5_000, 0),
        counted(5_100, 4_992),
        counted(5_200, 0, "test/fallback"),
        counted(5_300, 0),  # the cache of the chosen model may have expired meanwhile: nothing is known
        counted(5_400, 5_300),
        counted(5_500, 0),
    ]
    with SseServer(*answers) as server:
        session = build_session(config_for(tmp_path / "work", server, models=("test/fallback",)), deny_all)
        for _ in answers[:-1]:
            await say(session, "go")
            assert await broken(session) == ""
        await say(session, "go")
        assert (await broken(session)).startswith("only 0 of 5,500 tokens came from it")
        await session.aclose()


async def test_where_the_provider_caches_nothing_nothing_is_said(tmp_path: Path) -> None:
    with SseServer(counted(5_000, 0), counted(5_000, 0)) as server:
        session = build_session(config_for(tmp_path / "work", server), deny_all)
        await say(session, "go")
        session.set_mode(PermissionMode.PLAN)
        await say(session, "go")
        assert "prompt cache" not in await command_text("/context", session)
        await session.aclose()


@pytest.mark.parametrize(("prompt", "is_expensive"), [("0.00001", True), ("0.000001", False)])
async def test_another_model_costs_what_the_cache_would_have_saved(
    tmp_path: Path, prompt: str, is_expensive: bool
) -> None:
    with SseServer(counted(5_000, 0)) as server:
        session = build_session(config_for(tmp_path / "work", server), deny_all)
        await say(session, "go")
        prices = ModelPrices(prompt=Decimal(prompt), cache_read=Decimal(prompt) / 10)
        cache = session.context.cache
        cache._provider = replace(cache._provider, price=lambda model, usage: price(usage, prices))
        assert cache.next_loss() is None and cache.warning() == ""
        session.models.current = "other/model"
        loss = cache.next_loss()
        assert loss is not None and loss.cost_usd == loss.at.resent * Decimal(prompt) * 9 / 10
        assert loss.at.segment == "model" and loss.at.resent > 4_500
        warning = cache.warning()
        assert bool(warning) == is_expensive and (not warning or "more than from the cache" in warning)
        await session.aclose()
