"""The questions that servers ask the user during calls."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from forge_core.mcp.server_files import ServerEntry
from forge_core.tools.base import ExecutionContext


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """A question of a server. All text in it is untrusted."""

    server: ServerEntry
    kind: str
    """`elicit` or `sample`: the parameters are those of `elicitation/create` or `sampling/createMessage`."""
    params: Mapping[str, Any]
    call_id: str
    """The call during which it asks; empty if that is not known."""


Ask: TypeAlias = Callable[[ServerQuestion], Awaitable[Any]]
"""Puts a question of a server to the user, and returns the result for the server, as in the protocol."""


class ServerQuestions:
    """Asks the user, withdraws what needs no answer any more, and leaves the time that the user takes out of
    the duration of the calls."""

    def __init__(self, ask: Ask, answer: Callable[[int, Any], None]) -> None:
        """`answer` takes the id of a question and its answer."""
        self._ask = ask
        self._answer = answer
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._calls: dict[str, list[ExecutionContext]] = defaultdict(list)
        """Server → the contexts of its open calls."""

    @contextmanager
    def during(self, server: str, context: ExecutionContext) -> Iterator[None]:
        """Count the block as a call of a tool of a server."""
        self._calls[server].append(context)
        try:
            yield
        finally:
            self._calls[server] = [one for one in self._calls[server] if one is not context]

    def take(self, question_id: int, server: ServerEntry, kind: str, params: Mapping[str, Any]) -> None:
        """Ask the user in a task."""
        calls = self._calls[server.name]
        question = ServerQuestion(server, kind, params, calls[0].call_id if len(calls) == 1 else "")
        task = asyncio.create_task(self._answered(question_id, question), name=f"mcp-question-{server.name}")
        self._tasks[question_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(question_id, None))

    def withdraw(self, question_id: int) -> None:
        """End the wait for an answer."""
        if (task := self._tasks.get(question_id)) is not None:
            task.cancel()

    def withdraw_all(self) -> None:
        for question_id in [*self._tasks]:
            self.withdraw(question_id)

    async def _answered(self, question_id: int, question: ServerQuestion) -> None:
        calls, began = [*self._calls[question.server.name]], time.monotonic()
        answer = None
        try:
            answer = await self._ask(question)
        finally:
            self._answer(question_id, answer)  # without one, the call would wait for ever
            for context in calls:
                context.waited_s += time.monotonic() - began
