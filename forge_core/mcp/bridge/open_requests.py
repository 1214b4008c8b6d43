"""The requests to a server that wait for an answer: their limits, and what the server asks meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import mcp_types as types
from mcp.client import ClientRequestContext

from forge_core.mcp.bridge.listing import as_json

Ask: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Puts a question of a server, given its kind and its parameters, and returns the answer."""
_REJECTED = -1
"""The code of the protocol for a sampling request that the user has rejected."""
_Result = TypeVar("_Result")
_MAX_OPEN = 8
"""Questions of a server at a time."""
_MAX_QUESTIONS = 50
"""While it has requests to answer; whoever has to decline more than that is not asked but harassed."""


class RequestLimit:
    """The time limit of one request, which ends it with a TimeoutError. It can be paused."""

    def __init__(self, idle_s: float, total_s: float) -> None:
        """`idle_s` is the longest time without progress, `total_s` the longest time in all."""
        self.timeout = asyncio.timeout(None)
        self._idle_s, self._left_s, self._total_s = idle_s, total_s, total_s
        self._began: float | None = None
        """When the time that runs now began; None while it is paused."""

    @property
    def exceeded_s(self) -> float:
        """The limit that was exceeded: the one without progress, or the one in all."""
        return self._total_s if self._left_s <= 0 else self._idle_s

    def resume(self) -> None:
        if self._began is None and not self.timeout.expired():
            self._began = asyncio.get_running_loop().time()
            self.timeout.reschedule(self._began + min(self._idle_s, self._left_s))

    def pause(self) -> None:
        if self._began is not None:
            self._left_s -= asyncio.get_running_loop().time() - self._began
            self._began = None
            if not self.timeout.expired():
                self.timeout.reschedule(None)

    def progressed(self) -> None:
        """Take note of progress: the time without any begins again."""
        if self._began is not None:
            self.pause()
            self.resume()


class OpenRequests:
    """The requests to one server that have no answer yet.

    While the user answers a question, no time passes for them. A server may ask only while one is open: what
    it asks without, or has not been answered when the last one ends, is withdrawn. So is what it asks beyond
    `_MAX_OPEN` and `_MAX_QUESTIONS`.
    """

    def __init__(self) -> None:
        self._limits: set[RequestLimit] = set()
        self._questions: set[asyncio.Task[object]] = set()
        self._asked = 0
        """Questions since there was no open request."""

    @asynccontextmanager
    async def limited(self, idle_s: float, total_s: float) -> AsyncIterator[RequestLimit]:
        """Count the block as a request. Raises TimeoutError at its limit, whose `exceeded_s` is then set."""
        limit = RequestLimit(idle_s, total_s)
        try:
            async with limit.timeout:
                self._limits.add(limit)
                if not self._questions:
                    limit.resume()
                try:
                    yield limit
                finally:
                    limit.pause()
                    self._limits.discard(limit)
        finally:
            if not self._limits:
                self._asked = 0
                for question in self._questions:
                    question.cancel()

    async def answered(self, question: Awaitable[_Result]) -> _Result | None:
        """Return the answer to a question of the server; None if it may not ask, or the question was
        withdrawn. A cancellation withdraws it, too."""
        task = asyncio.ensure_future(question)
        self._asked += 1
        if not self._limits or len(self._questions) >= _MAX_OPEN or self._asked > _MAX_QUESTIONS:
            task.cancel()
        for limit in self._limits:
            limit.pause()
        self._questions.add(task)
        try:
            await asyncio.wait([task])
            return None if task.cancelled() else task.result()
        finally:
            task.cancel()
            self._questions.discard(task)
            if not self._questions:
                for limit in self._limits:
                    limit.resume()


class UserQuestions:
    """Puts to the user what a server asks while it has open requests."""

    def __init__(self, ask: Ask, requests: OpenRequests) -> None:
        self._ask = ask
        self._requests = requests

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Return what the user answers, or that the question was cancelled."""
        answer = await self._requests.answered(self._ask("elicit", as_json(params)))
        return types.ElicitResult.model_validate(answer or {"action": "cancel"})

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Return what the model answers, if the user lets it."""
        answer = await self._requests.answered(self._ask("sample", as_json(params)))
        if answer is None:
            return types.ErrorData(code=_REJECTED, message="The user rejected the sampling request")
        return types.CreateMessageResult.model_validate(answer)
