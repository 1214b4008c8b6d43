"""A turn that is cancelled at any of its awaits leaves a valid history, in memory and on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer
from forge_core.runtime import build_session
from tests.support.saved_journal import always, assert_valid_on_disk, config_for, continue_session, say
from tests.support.sessions import Answering
from tests.support.sse_server import Reply, SseServer, answer, paced, tool_answer
from tests.support.strict_host import violations

STEP = 1 if os.environ.get("FORGE_FULL") else 23
"""Each how many awaits are cancelled."""


class Awaits:
    """Counts the awaits of a turn's task and of the tasks that it starts; cancels it at one of them."""

    def __init__(self, number: int) -> None:
        self.is_cancelled = False
        self._left = number
        self._turn: asyncio.Task[Any] | None = None

    def make_task(self, loop: asyncio.AbstractEventLoop, inner: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(Counted(inner, self.count), loop=loop, **options)
        if inner.__qualname__ == "TurnRunner.run":
            self._turn = self._turn or task
        return task

    def count(self) -> None:
        self._left -= 1
        if self._left < 0 and self._turn is not None and not self.is_cancelled:
            self.is_cancelled = True
            asyncio.get_running_loop().call_soon(self._turn.cancel)


class Counted(Coroutine[Any, Any, Any]):
    """Runs a coroutine and calls `count` at each of its awaits that has to wait."""

    def __init__(self, inner: Coroutine[Any, Any, Any], count: Callable[[], None]) -> None:
        self._inner = inner
        self._count = count

    def send(self, value: Any) -> Any:
        awaited = self._inner.send(value)
        self._count()
        return awaited

    def throw(self, *error: Any) -> Any:
        return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise NotImplementedError


def turn() -> list[Reply]:
    """A turn that calls several tools, in four rounds; each chunk arrives by itself."""
    write = {"file_path": "b.txt", "content": "one\ntwo\nthree\n"}
    edit = {"file_path": "a.txt", "old_string": "hello", "new_string": "bye"}
    replies = [
        tool_answer(("c1", "read", {"file_path": "a.txt"}), ("c2", "write", write), text="First", piece=2),
        tool_answer(("c3", "bash", {"command": "echo a; echo b"}), ("c4", "grep", {"pattern": "h"}), piece=2),
        tool_answer(("c5", "edit", edit), piece=2),
        answer(*(f"word {number} " for number in range(40))),
    ]
    return [paced(reply, 0.0005) for reply in replies]


async def cancelled_turn(root: Path, number: int) -> bool:
    """Cancel a turn at an await, and go on in the same session and in a continued one; return whether the
    turn was still running."""
    root.mkdir()
    awaits = Awaits(number)
    with SseServer(*turn()) as server, SseServer(routes=always()) as strict:
        config = config_for(root, server)
        (config.working_dir / "a.txt").write_text("hello\n")
        session = build_session(config, Answering(Answer.ONCE))
        loop = asyncio.get_running_loop()
        loop.set_task_factory(awaits.make_task)
        try:
            async for _ in session.send("go"):
                pass
        finally:
            loop.set_task_factory(None)
        path = config.state_dir / "sessions" / f"{session.id}.jsonl"
        server._routes.update(always())
        end = await say(session, "go on")
        assert end.result.stopped_reason == "complete", end.result.error
        assert violations(server.requests[-1].json) == []
        await session.aclose()
        assert_valid_on_disk(path)
        await continue_session(config_for(root, strict), strict, session.id)
    return awaits.is_cancelled


@pytest.mark.property
async def test_a_cancel_at_every_await_of_a_recorded_turn_leaves_a_valid_history(tmp_path: Path) -> None:
    number, points = 0, 0
    while await cancelled_turn(tmp_path / str(number), number):
        points += 1
        number += STEP
    assert points >= 200 // STEP
