"""The limits of requests to servers, and the questions that servers ask meanwhile. Time is skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from forge_core.mcp.bridge.open_requests import OpenRequests
from tests.support.chat_app import FakeClock
from tests.support.skipped_time import run_skipping, use_clock

Run: TypeAlias = Callable[[Coroutine[Any, Any, None]], float]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs something to its end, and returns how many seconds it would have taken."""
    clock = FakeClock()
    use_clock(monkeypatch, clock, 0.0)

    def measured(work: Coroutine[Any, Any, None]) -> float:
        began = clock()
        run_skipping(clock, work)
        return clock() - began

    return measured


def test_a_request_ends_without_progress_and_in_all(run: Run) -> None:
    async def silent() -> None:
        with pytest.raises(TimeoutError):
            async with OpenRequests().limited(10, 100) as limit:
                await asyncio.sleep(1000)
        assert limit.exceeded_s == 10

    async def busy() -> None:
        with pytest.raises(TimeoutError):
            async with OpenRequests().limited(10, 100) as limit:
                while True:
                    await asyncio.sleep(9)
                    limit.progressed()
        assert limit.exceeded_s == 100

    assert run(silent()) == pytest.approx(10, abs=0.1)
    assert run(busy()) == pytest.approx(100, abs=0.1)


def test_no_time_passes_while_the_user_is_asked(run: Run) -> None:
    async def asked() -> None:
        requests = OpenRequests()

        async def answer() -> str:
            await asyncio.sleep(3600)
            return "yes"

        with pytest.raises(TimeoutError):
            async with requests.limited(10, 100):
                assert await requests.answered(answer()) == "yes"
                await asyncio.sleep(1000)

    assert run(asked()) == pytest.approx(3610, abs=0.1)


def test_a_request_that_begins_while_the_user_is_asked_waits_too(run: Run) -> None:
    async def asked() -> None:
        requests = OpenRequests()
        async with requests.limited(10, 100):
            question = asyncio.ensure_future(requests.answered(asyncio.sleep(3600, "yes")))
            await asyncio.sleep(0)
            async with requests.limited(10, 100):
                assert await question == "yes"

    assert run(asked()) == pytest.approx(3600, abs=0.1)


def test_a_question_without_a_request_is_not_asked(run: Run) -> None:
    asked: list[str] = []

    async def ask() -> str:
        asked.append("asked")
        return "yes"

    async def unsolicited() -> None:
        assert await OpenRequests().answered(ask()) is None

    run(unsolicited())
    assert asked == []


def test_a_question_is_withdrawn_with_the_last_request(run: Run) -> None:
    async def withdrawn() -> None:
        requests = OpenRequests()
        async with requests.limited(10, 100):
            async with requests.limited(10, 100):
                question = asyncio.ensure_future(requests.answered(asyncio.sleep(3600)))
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not question.done()
        assert await question is None

    run(withdrawn())


def test_a_flood_of_questions_is_not_asked(run: Run) -> None:
    asked: list[int] = []

    async def ask(number: int) -> int:
        asked.append(number)
        await asyncio.sleep(1)
        return number

    async def flood() -> None:
        requests = OpenRequests()
        for most in (8, 50):  # at a time, and one after the other
            asked.clear()
            async with requests.limited(10, 100):
                at_once = 1_000 if most == 8 else 1
                for start in range(0, 1_000, at_once):
                    numbers = range(start, start + at_once)
                    answers = await asyncio.gather(*(requests.answered(ask(one)) for one in numbers))
                    assert {*answers} <= {None, *asked}
            assert len(asked) == most

    run(flood())
