"""A session that streams without an end, asks in between, and holds still when told to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from forge_core.approval import ApprovalRequest, QuestionRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.events import AgentEvent, LLMStart, Notice, ToolProgress
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from tests.bench.script import MARKDOWN, every_block
from tests.support.scripted_session import ScriptedSession, end_of_call, end_of_turn
from tests.support.surfaces import SHOWN, HostileChanges
from tests.support.transcripts import call_ended, said, tool_ended, tool_started

STREAMED = ("answer in pieces", "reasoning", "live tail", "output", "failure", "diff", "nested calls")
STREAMED += ("grouped calls", "paged output", "denied", "notice", "error", "table", "fence")
BACKGROUND = "in the background"
"""The call that goes on beside everything else."""


class EndlessSession(ScriptedSession):
    """Streams everything there is, over and over, until it is interrupted."""

    def __init__(self, config: ForgeConfig, chance: random.Random) -> None:
        super().__init__(config)
        self.chance = chance
        self.runs = asyncio.Event()
        """Cleared, it streams nothing more."""
        self.runs.set()
        self.streamed = 0
        self._asked: list[asyncio.Future[Any]] = []
        self._has_background = False

    def changes(self, source: object) -> Any:
        return HostileChanges(["a.py", "b/c.py", "d/e.rs"])

    def ask(self, request: ApprovalRequest | QuestionRequest) -> None:
        """Asks the person while all the rest goes on; the end of the turn takes the prompt back."""
        asking: Any = self.responder(request)
        self._asked.append(asyncio.ensure_future(asking))

    @property
    def is_asking(self) -> bool:
        return any(not asked.done() for asked in self._asked)

    @property
    def is_interrupted(self) -> bool:
        return self._interrupted.is_set()

    async def send(
        self, text: str, *, folded: object = (), command: object = None
    ) -> AsyncIterator[AgentEvent]:
        self.sent.append(text)
        self._interrupted.clear()
        self._is_running = True
        yield LLMStart(iteration=1, model="test/model")
        try:
            while not self._interrupted.is_set():
                for part in self._material():
                    await asyncio.sleep(0.0005)
                    await self.runs.wait()
                    if self._interrupted.is_set():
                        break
                    self.streamed += 1
                    yield part
                if not self.is_asking and self.chance.random() < 0.01:
                    yield end_of_turn("error" if self.chance.random() < 0.5 else "complete")
                    return
            yield end_of_call()
            yield end_of_turn("cancelled")
        finally:
            await self._take_back()
            self._is_running = self._has_background = False

    async def _take_back(self) -> None:
        """Asks nothing more; what has been answered shows its faults."""
        for asked in self._asked:
            asked.cancel()
        for outcome in await asyncio.gather(*self._asked, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        self._asked.clear()

    def _material(self) -> Sequence[AgentEvent]:
        name = self.chance.choice((*STREAMED, "Markdown", "all", "tasks", "background", "background"))
        match name:
            case "Markdown":
                at = self.chance.randrange(len(MARKDOWN))
                return [*map(said, MARKDOWN[at : at + 60].split(" ")), call_ended()]
            case "all":
                return [part for part in every_block() if not isinstance(part, str)]
            case "tasks":
                return self._tasks()
            case "background":
                return [*self._background()]
        made: list[AgentEvent] = []
        catcher = cast("Any", _Catcher(made, f"{name}-{self.streamed}"))
        SHOWN[name](catcher, "some words, **bold** and `code`, 混合")
        return made

    def _tasks(self) -> Sequence[AgentEvent]:
        """The list of tasks changes, and with it the panel's height."""
        states = list(TodoStatus)
        tasks = [TodoItem(f"task {n} 混", states[(n + self.streamed) % 3], f"doing {n}") for n in range(12)]
        self.todos.replace(tasks[: self.chance.randint(0, 12)])
        call = f"tasks-{self.streamed}"
        return [tool_started("todo", call), tool_ended("todo", "saved", call_id=call, summary="some done")]

    def _background(self) -> Iterator[AgentEvent]:
        """A call of long ago goes on; a notice comes from outside of the turn."""
        if not self._has_background:
            self._has_background = True
            yield tool_started("bash", BACKGROUND, command="make watch", background=True)
        for line in range(self.chance.randint(1, 5)):
            yield ToolProgress(call_id=BACKGROUND, text=f"line {line} of {self.streamed}\n" * 3)
        self.notify(Notice(level="info", text=f"Background job {self.streamed} ended."))
        if self.chance.random() < 0.2:
            self._has_background = False
            yield tool_ended("bash", "watched", call_id=BACKGROUND)


class _Catcher:
    """Takes the events in the place of a running app."""

    def __init__(self, made: list[AgentEvent], call_id: str) -> None:
        self.call = lambda: call_id
        self.apply = lambda *parts: made.extend(parts)
