"""Bills and the catalogue are settled beside the turns, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import warnings
import weakref
from collections.abc import Awaitable, Callable

import pytest

from forge_core.errors import ForgeError
from forge_core.events import LLMEnd
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.llm.models import TokenUsage
from forge_core.session.billing import SessionBilling
from forge_core.session.provider import AbandonedCalls, SessionProvider
from tests.support.scripted_llm import ScriptedLLM
from tests.support.sessions import nothing

Bill = Callable[[str], Awaitable[TokenUsage | None]]
CUT = TokenUsage(prompt_tokens=10, completion_tokens=3, estimated=True)
BILLED = TokenUsage(prompt_tokens=12, completion_tokens=4)


def cut_call() -> LLMEnd:
    return LLMEnd(
        usage=CUT, cost_usd=None, finish_reason=None, duration_s=1.0, total_usage=CUT, model="test/model"
    )


async def billed(generation_id: str) -> TokenUsage | None:
    return BILLED


async def refused(generation_id: str) -> TokenUsage | None:
    raise ForgeError("no")


async def broken(generation_id: str) -> TokenUsage | None:
    raise RuntimeError("a fault of ours")


def billing_of(
    tracker: TokenTrackingCallback, bill: Bill, refresh: Callable[[], Awaitable[None]] | None = None
) -> SessionBilling:
    abandoned = AbandonedCalls()
    abandoned.add("gen-1")
    provider = SessionProvider(
        label="custom",
        make_llm=lambda model: ScriptedLLM(replies=[]),
        close=nothing,
        context_window=lambda model: None,
        bill=bill,
        refresh=refresh,
        abandoned=abandoned,
    )
    return SessionBilling(tracker, provider)


def asking(billing: SessionBilling) -> weakref.ref[asyncio.Task[None]]:
    """Has the bill of a cut call asked for; the task that does it."""
    before = asyncio.all_tasks()
    billing.answered(cut_call())
    (task,) = asyncio.all_tasks() - before
    return weakref.ref(task)


@pytest.mark.parametrize("bill", [billed, refused])
async def test_a_settled_bill_request_is_garbage_collected(bill: Bill) -> None:
    tracker = TokenTrackingCallback()
    tracker.add_estimate(CUT, "test/model")
    billing = billing_of(tracker, bill)
    task = asking(billing)
    await billing.settled()
    await asyncio.sleep(0)
    gc.collect()
    assert task() is None
    assert tracker.get_usage().estimated is (bill is refused)


async def test_an_internal_error_while_asking_for_a_bill_is_raised() -> None:
    billing = billing_of(TokenTrackingCallback(), broken)
    task = asking(billing)
    while (asked := task()) is not None and not asked.done():
        await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        await billing.settled()
    await billing.aclose()


async def refresh() -> None:
    """Would bring the catalogue up to date."""


def test_a_session_closed_immediately_leaves_nothing_unawaited() -> None:
    async def close_at_once() -> None:
        billing = billing_of(TokenTrackingCallback(), billed, refresh)
        billing.begin_turn("hello")
        asking(billing)
        await billing.aclose()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(close_at_once())
        gc.collect()
    assert [str(warning.message) for warning in said] == []
