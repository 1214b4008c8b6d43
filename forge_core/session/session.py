"""A conversation with everything it needs: the one object that screens, printers and libraries hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

from forge_core.config.settings import PermissionMode
from forge_core.context.ledger import Composition, reserved_output
from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, AgentEvent, LLMEnd, Notice
from forge_core.langchain.agent import NOTHING_TO_RETRY as NOTHING_TO_RETRY
from forge_core.langchain.agent.event_queue import EventQueue, ObservedQueue
from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.sandbox.state import SandboxState
from forge_core.result import AgentResult
from forge_core.session.accounts import Accounts, SessionSpending
from forge_core.session.changes import Source, changes_of
from forge_core.session.context_meter import ContextMeter
from forge_core.session.outlet import Outlet
from forge_core.session.parts import SessionParts
from forge_core.session.record import TurnRecorder, crash_events
from forge_core.session.status import ModelChoice, SessionStatus
from forge_core.tools.builtin.todo import TodoList
from forge_core.tools.registry import ToolRegistry
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo.undo_store import UndoStore
from forge_core.workspace.change_source import ChangeSource


class ForgeSession:
    """One conversation. One turn at a time; `interrupt` ends it kindly, closing the iterator ends it hard."""

    def __init__(self, parts: SessionParts) -> None:
        self.id = parts.id
        self.config = parts.config
        self.last_result: AgentResult | None = None
        self._parts = parts
        self._model = parts.config.model
        self._task: asyncio.Task[None] | None = None
        self._outlet = Outlet(parts.journal.event)
        self._has_begun = False
        self._meter = ContextMeter(parts.agent)
        self._accounts = Accounts(parts.tracker, parts.bill, parts.refresh, self._figures_changed)
        self.on_figures: Callable[[], None] | None = None
        """Called when figures have changed outside the turn's events: a bill has come, a job has ended."""
        parts.bench.jobs.on_change = self._figures_changed
        self._news: list[str] = []
        self._is_interrupted = False
        self._turn_text = ""

    @property
    def status(self) -> SessionStatus:
        parts, meter = self._parts, self._meter
        spending = parts.tracker.spending()
        return SessionStatus(
            model=self._model,
            provider_label=parts.provider_label,
            mode=parts.bench.policy.mode,
            sandbox=parts.bench.sandbox_state.label,
            is_away=parts.bench.person.is_away,
            usage=spending.usage,
            known_cost_usd=spending.known_usd,
            output_price_usd=parts.output_price(self._model),
            context_used=meter.used,
            is_context_estimate=meter.is_estimate,
            context_window=parts.context_window(self._model),
            working_dir=parts.config.working_dir,
            is_running=self._task is not None,
            running_jobs=parts.bench.jobs.running_count,
        )

    @property
    def tools(self) -> ToolRegistry:
        return self._parts.agent.registry

    @property
    def policy(self) -> PermissionPolicy:
        return self._parts.bench.policy

    @property
    def jobs(self) -> JobTable:
        """The commands that run beside the turns."""
        return self._parts.bench.jobs

    @property
    def undo(self) -> UndoStore | None:
        """What files were before each turn; None when that is not kept."""
        return self._parts.bench.undo

    def changes(self, source: Source) -> ChangeSource:
        """What has changed in files, to be read when somebody looks."""
        return changes_of(source, self.config.working_dir, self.undo)

    @property
    def sandbox(self) -> SandboxState:
        """Where commands run."""
        return self._parts.bench.sandbox_state

    @property
    def todos(self) -> TodoList:
        """What the model has set out to do."""
        return self._parts.bench.todos

    @property
    def is_away(self) -> bool:
        """Whether nobody is asked: what needs a person is refused, and the model told so."""
        return self._parts.bench.person.is_away

    @is_away.setter
    def is_away(self, value: bool) -> None:
        self._parts.bench.person.is_away = value

    def spending(self) -> SessionSpending:
        """What has been spent, by model and by turn."""
        return self._accounts.spending()

    async def composition(self) -> Composition:
        """What fills the model's window at this moment; a long history is gone through in a thread."""
        window, longest = self._parts.context_window(self._model), self._parts.max_output(self._model)
        holding = self._meter.holding(self._accounts.turn)
        reserved = reserved_output(window, longest)
        return await asyncio.to_thread(holding.composition, self._model, window, reserved)

    def known_models(self) -> Sequence[ModelChoice]:
        """Models that can be named here, by the catalogue; the current one is always among them."""
        known = self._parts.known_models()
        is_listed = any(choice.id == self._model for choice in known)
        return known if is_listed else (ModelChoice(self._model), *known)

    async def send(self, text: str) -> AsyncGenerator[AgentEvent, None]:
        """One turn, as events; the last is AGENT_END.

        Closing the iterator early cancels the turn hard: nothing more comes, and memory, journal and
        `last_result` are completed all the same.

        Raises:
            ForgeError: a turn is running already.
        """
        async with aclosing(self._read_turn(text, is_retry=False)) as events:
            async for event in events:
                yield event

    @property
    def can_retry(self) -> bool:
        """Whether the last turn ended at a model call that failed, so that `retry` can go on from there."""
        return self._task is None and self._parts.agent.is_resumable

    async def retry(self) -> AsyncGenerator[AgentEvent, None]:
        """The turn that failed goes on at its failed model call, as events like `send`.

        No message is sent and no tool call runs again.

        Raises:
            ForgeError: a turn is running, or the last one did not end so.
        """
        if self._task is None and not self.can_retry:
            raise ForgeError(NOTHING_TO_RETRY)
        async with aclosing(self._read_turn(self._turn_text, is_retry=True)) as events:
            async for event in events:
                yield event

    async def _read_turn(self, text: str, *, is_retry: bool) -> AsyncGenerator[AgentEvent, None]:
        if self._task is not None:
            raise ForgeError("A turn is running already. Interrupt it, or wait for its end.")
        queue = self._outlet.begin_turn()
        task = asyncio.create_task(self._turn(text, queue, is_retry=is_retry), name="forge-turn")
        task.add_done_callback(lambda ended: queue.close(discard=ended.cancelled()))
        self._task = task
        self._is_interrupted = False
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self._task = None
            self._outlet.end_turn()

    def interrupt(self) -> None:
        """Asks the running turn to end: it keeps its partial answer and closes its calls. Idle: nothing."""
        self._is_interrupted = self._task is not None
        self._parts.agent.interrupt()

    async def reset(self) -> None:
        """Forgets the conversation. System message, mode, model and the session's spent money stay."""
        self.interrupt()
        if (task := self._task) is not None:
            await asyncio.wait([task])
        self._parts.agent.reset()
        self._parts.bench.reset()
        self._meter.reset()
        self._accounts.forget_turns()
        if self._has_begun:
            self._parts.journal.record("reset", {})

    def generation_abandoned(self, generation_id: str) -> None:
        """Notes the id of the stream that was left; the cut call's estimate is replaced by its bill."""
        self._accounts.abandoned(generation_id)

    def tell_model(self, line: str) -> None:
        """Lets the model know, with the next message, what has happened beside the conversation."""
        self._news.append(line)

    def forget_reads(self, paths: Iterable[Path]) -> None:
        """The model has to read these again before it overwrites them."""
        self._parts.bench.forget_reads(paths)

    def check_rule(self, rule: str) -> str | None:
        """Why a rule cannot be granted, in words for the person; None when it can."""
        try:
            self.policy.check_grant(rule)
        except ForgeError as error:
            return str(error)
        return None

    def set_model(self, model: str) -> None:
        """Answers come from `model` from the next model call on."""
        self._parts.agent.set_llm(self._parts.make_llm(model))
        self._model = model

    def set_mode(self, mode: PermissionMode) -> None:
        """How much runs without asking, from the next call on; the model is told in the system message."""
        self._parts.bench.policy.mode = mode
        self._meter.use_prompt(self._parts.system_prompt(mode))

    def notify(self, notice: Notice) -> None:
        """Tells the person something: in the running turn's stream, else through `notices()`. Safe from
        other threads once a turn has begun."""
        self._outlet.notify(notice)

    def notices(self) -> AsyncGenerator[Notice, None]:
        """What happens outside a turn. Never ends by itself."""
        return self._outlet.notices()

    async def aclose(self) -> None:
        """Ends a running turn and what its commands left running; completes the journal."""
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait([task])
        async with AsyncExitStack() as last_first:  # a fault in one keeps none of the others open
            last_first.push_async_callback(self._close_provider)
            last_first.push_async_callback(asyncio.to_thread, self._parts.journal.close)
            last_first.push_async_callback(self._parts.bench.aclose)
            for tool in reversed([*self.tools]):
                last_first.push_async_callback(tool.aclose)
            last_first.push_async_callback(self._accounts.aclose)

    async def _close_provider(self) -> None:
        closing = self._parts.close()
        if closing is not None:
            await closing

    def _figures_changed(self) -> None:
        if self.on_figures is not None:
            self.on_figures()

    async def _turn(self, text: str, queue: EventQueue, *, is_retry: bool) -> None:
        self._turn_text = text
        self._begin(text, is_retry=is_retry)
        recorder = TurnRecorder(self._parts.journal)
        agent, bench = self._parts.agent, self._parts.bench
        await bench.begin_turn(text)

        def observe(event: AgentEvent) -> None:
            if self._is_interrupted:  # the interrupt may have come before the run had begun
                agent.interrupt()
            self._follow(event)
            recorder.event(event)

        try:
            await agent.execute(None if is_retry else self._with_news(text), ObservedQueue(queue, observe))
        except Exception as error:  # the turn's border: a bug ends the turn, not the session
            for event in crash_events(error):
                recorder.event(event)
                queue.emit(event)
        finally:
            self.last_result = agent.last_result
            recorder.close(agent.last_result, self._parts.tracker.get_usage())
            await bench.end_turn()

    def _with_news(self, text: str) -> str:
        news, self._news = [*self._news, *self.jobs.news()], []
        if not news:
            return text
        lines = "\n".join(news)
        return f"{text}\n\n<forge-note>\n{lines}\n</forge-note>"

    def _follow(self, event: AgentEvent) -> None:
        if isinstance(event, LLMEnd):
            self._meter.answered(event)
            self._accounts.answered(event)
            self._learn_window()
        elif isinstance(event, AgentEnd):
            self.last_result = event.result

    def _learn_window(self) -> None:
        ask, model = self._parts.learn_window, self._model
        if ask is not None and self._parts.context_window(model) is None:
            self._accounts.learn_window(model, ask)

    def _begin(self, text: str, *, is_retry: bool) -> None:
        journal, config = self._parts.journal, self._parts.config
        if not self._has_begun:
            self._has_begun = True
            about = {"id": self.id, "working_dir": str(config.working_dir), "provider": config.endpoint.kind}
            journal.record("session", about)
        about_turn = {"model": self._model, "mode": str(self._parts.bench.policy.mode)}
        if is_retry:  # the same turn for the accounts
            journal.record("retry", about_turn)
        else:
            self._accounts.begin_turn(text)
            journal.record("user", {"text": text, **about_turn})
