"""A session that plays prepared events: the screen's tests drive the real app with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from forge_core.approval import (
    ApprovalReply,
    ApprovalRequest,
    PlanReply,
    PlanRequest,
    QuestionReply,
    QuestionRequest,
    Responder,
    deny_all,
)
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.context.ledger import Composition, Item
from forge_core.events import AgentEnd, AgentEvent, LLMChunk, LLMEnd, LLMStart, Notice
from forge_core.images.image_reference import written_images
from forge_core.images.image_store import ImageStore
from forge_core.langchain.agent.run_control import RunClock
from forge_core.langchain.agent.steering import Steering
from forge_core.llm.account.spending import SpendingBook
from forge_core.llm.models import TokenUsage
from forge_core.permissions.policy import PermissionPolicy
from forge_core.redact import Redactor
from forge_core.result import AgentResult, StoppedReason
from forge_core.session.billing import SessionSpending, TurnSpending
from forge_core.session.budget import SpendingBudget
from forge_core.session.changes import Source, changes_of
from forge_core.session.command_messages import TypedUse
from forge_core.session.draft_keeper import DraftKeeper
from forge_core.session.event_channel import EventChannel
from forge_core.session.model_selection import ModelSelection
from forge_core.session.program_approvals import ProgramApprovals
from forge_core.session.provider import SessionProvider
from forge_core.session.review import ChangeReview
from forge_core.session.rewinder import RewindPoint
from forge_core.session.session_extensions import SessionExtensions
from forge_core.session.session_hooks import SessionHooks
from forge_core.session.session_servers import SessionServers
from forge_core.session.session_style import SessionStyle
from forge_core.session.spending_limits import LIMITS
from forge_core.session.status import ModelChoice, SessionStatus
from forge_core.session.tool_environment import SessionResponder, ToolEnvironment
from forge_core.session.user_commands import UserCommands
from forge_core.store.journal import Journal, images_beside, journal_path
from forge_core.store.saved_session import SavedSession
from forge_core.store.spending_ledger import SpendingLedger
from forge_core.tools.builtin.exit_plan_mode import SessionPlan
from forge_core.tools.builtin.todo import TodoItem, TodoList
from forge_core.tools.registry import ToolRegistry
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo import UndoReport, UndoStore
from forge_core.workspace.change_source import ChangeSource
from tests.support.scripted_llm import ScriptedLLM


@dataclass(slots=True)
class Gate:
    """A point where the turn waits until the test opens it; `reached` tells that it waits there."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self) -> None:
        self.opened.set()


Plan: TypeAlias = tuple[TodoItem, ...]
Step: TypeAlias = AgentEvent | ApprovalRequest | QuestionRequest | PlanRequest | Plan | Gate | Exception
"""An event to send, something to ask, a list of tasks to keep, a point to wait at, or a fault to raise."""

USAGE = TokenUsage(prompt_tokens=1200, completion_tokens=80, cost_usd=Decimal("0.0021"))


def answer(text: str, *, usage: TokenUsage = USAGE, pieces: int = 3) -> list[Step]:
    """One model call that streams `text` in a few pieces."""
    size = max(-(-len(text) // pieces), 1)
    chunks = [LLMChunk(text=text[start : start + size]) for start in range(0, len(text), size)]
    return [LLMStart(iteration=1, model="test/model"), *chunks, end_of_call(usage)]


def end_of_call(usage: TokenUsage = USAGE) -> LLMEnd:
    return LLMEnd(
        usage=usage, cost_usd=usage.cost_usd, finish_reason="stop", duration_s=1.5, total_usage=usage
    )


def end_of_turn(stopped: StoppedReason = "complete", error: str | None = None) -> AgentEnd:
    return AgentEnd(
        result=AgentResult("", [], [], TokenUsage(), 1, duration=2.0, stopped_reason=stopped, error=error)
    )


class ScriptedContext:
    """What `/context` asks of a session."""

    def __init__(self, session: ScriptedSession) -> None:
        self._session = session
        self.listed: tuple[Item, ...] | None = None
        self.left_out: Sequence[str] = ()
        self.used: list[str] = []
        self.cache = UnbrokenCache()

    def used_files(self) -> list[str]:
        return self.used

    async def composition(self) -> Composition:
        status = self._session.status
        return Composition(status.model, self._session.items, status.context_window, reserved=32_000)


class ScriptedAttachments:
    """Images that messages may have; `refusal` is why one cannot be sent."""

    def __init__(self, journal: Journal) -> None:
        self.images = ImageStore(images_beside(journal.path))
        self.refusal = ""

    def problem(self, text: str) -> str:
        return self.refusal if written_images(text) else ""


class UnbrokenCache:
    """A prompt cache that breaks nowhere."""

    loss = None

    def next_loss(self) -> None:
        return None


class ScriptedRewinder:
    """Has no messages to go back to."""

    async def points(self) -> list[RewindPoint]:
        return []


class ScriptedSession:
    """The surface of a ForgeSession; each `send` plays the next script, then AGENT_END if it lacks one."""

    def __init__(
        self, config: ForgeConfig, scripts: Sequence[Sequence[Step]] = (), *, label: str = "openrouter"
    ) -> None:
        self.id = "scripted"
        self.restored: SavedSession | None = None
        self.saved_input: tuple[str, list[str]] = ("", [])
        """Draft and queue."""
        journal = Journal(journal_path(config.state_dir, "20261120-000000-abcdef"), Redactor())
        self._journal = journal
        self.attachments = ScriptedAttachments(journal)
        self.news: list[str] = []
        self.user_commands = UserCommands(
            journal, config.state_dir / "outputs", Redactor(("sk-test-123456",)), self.news.append
        )
        self.drafts = DraftKeeper(journal, config.state_dir, config.working_dir)
        self.config = config
        mode = config.permission_mode
        self.hooks = SessionHooks(
            config,
            self.id,
            journal.path,
            lambda: mode,
            lambda notice: None,
            logging.getLogger("tests"),
        )
        self.policy = PermissionPolicy(config.working_dir, config.permission_mode)
        self.servers = SessionServers(
            config,
            ToolEnvironment(
                working_dir=config.working_dir,
                policy=self.policy,
                responder=SessionResponder(deny_all, RunClock()),
                output_dir=config.state_dir / "outputs",
            ),
            lambda: None,
            lambda tools: None,
            lambda notice: None,
            logging.getLogger("tests"),
        )
        self.programs = ProgramApprovals(self.hooks, self.servers, lambda notice: None)
        self.responder: Responder = deny_all
        self.scripts = [list(script) for script in scripts]
        self.sent: list[str] = []
        self.commands: list[TypedUse | None] = []
        self.extensions = SessionExtensions(config)
        self.style = SessionStyle(config.style, self.extensions, lambda text: None)
        self.use_style = self.style.choose
        self.folded: list[list[tuple[int, int]]] = []
        self.replies: list[ApprovalReply] = []
        self.answers: list[QuestionReply] = []
        self.plans: list[PlanReply] = []
        self.plan = SessionPlan()
        self.todos = TodoList()
        self.context = ScriptedContext(self)
        self.undo: UndoStore | None = None
        self.jobs = JobTable()
        self.restored_files: list[UndoReport] = []
        self.review = ChangeReview(
            self, journal, EventChannel(), lambda: self._is_running, self.restored_files.append
        )
        self.sandbox = "sandbox: on"
        self.is_away = False
        limits = {kind.setting: getattr(config, kind.setting) for kind in LIMITS}
        ledger = SpendingLedger(config.state_dir / "sessions")
        self.budget = SpendingBudget(limits, ledger, deny_all, lambda: 0.0)
        self.steering = Steering()
        self.can_retry = False
        """Whether `retry` may be called: set by the test, or by a turn whose result says so."""
        self.retries = 0
        self.compactions: list[tuple[str, bool]] = []
        """Focus, and whether no model was to be asked."""
        self.rewinder = ScriptedRewinder()
        self.resets = 0
        self.is_closed = False
        self.last_result: AgentResult | None = None
        self.tools = ToolRegistry()
        self.book = SpendingBook()
        self.items: tuple[Item, ...] = ()
        self.on_figures: Callable[[], None] | None = None
        self._label = label
        self.models = ModelSelection(
            config,
            SessionProvider(
                label=label,
                make_llm=lambda model: ScriptedLLM(replies=[], model=model),
                close=self.aclose,
                context_window=lambda model: 200_000,
                known_models=lambda: tuple(ModelChoice(name, "200k") for name in self.model_names),
            ),
            lambda llm: None,
            lambda: None,
        )
        self.model_names: tuple[str, ...] = (config.model,)
        """The models in the provider's list."""
        self._interrupted = asyncio.Event()
        self._is_running = False
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()

    @property
    def usage(self) -> TokenUsage:
        return self.book.total().usage

    @property
    def status(self) -> SessionStatus:
        return SessionStatus(
            model=self.models.current,
            effort=self.models.effort,
            provider_label=self._label,
            mode=self.policy.mode,
            sandbox=self.sandbox,
            usage=self.usage,
            known_cost_usd=self.book.total().known_usd,
            context_used=sum(item.tokens for item in self.items) or self.usage.total_tokens,
            context_window=self.config.context_window or 200_000,
            working_dir=self.config.working_dir,
            is_running=self._is_running,
            is_away=self.is_away,
            running_jobs=self.jobs.running_count,
        )

    def spending(self) -> SessionSpending:
        turns = [TurnSpending(n, self.sent[n - 1], spent) for n, spent in self.book.by_turn().items()]
        return SessionSpending(self.book.total(), self.book.by_model(), tuple(turns))

    async def composition(self) -> Composition:
        return Composition(self.models.current, self.items, self.status.context_window, reserved=32_000)

    def set_limit(self, setting: str, amount: Decimal | None) -> None:
        self.budget.set_limit(setting, amount)

    def set_mode(self, mode: PermissionMode) -> None:
        self.policy.mode = mode

    def changes(self, source: Source) -> ChangeSource:
        return changes_of(source, self.config.working_dir, self.undo)

    def interrupt(self) -> None:
        self._interrupted.set()

    def save_input(self, *, queue: Sequence[str], draft: str = "", stash: Sequence[str] = ()) -> None:
        self.saved_input = draft, [*queue]

    async def reset(self) -> None:
        self.resets += 1

    def notify(self, notice: Notice) -> None:
        self._notices.put_nowait(notice)

    async def notices(self) -> AsyncIterator[Notice]:
        while True:
            yield await self._notices.get()

    async def aclose(self) -> None:
        self.is_closed = True
        await self.servers.aclose()
        self._journal.close()

    async def send(
        self,
        text: str,
        *,
        folded: Sequence[tuple[int, int]] = (),
        command: TypedUse | None = None,
    ) -> AsyncIterator[AgentEvent]:
        self.sent.append(text)
        self.commands.append(command)
        self.folded.append([*folded])
        self.book.turn = len(self.sent)
        async for event in self._play(text):
            yield event

    async def compact(
        self, focus: str = "", *, is_fast: bool = False, turns: int | None = None
    ) -> AsyncIterator[AgentEvent]:
        self.compactions.append((focus, is_fast))
        async for event in self._play("the compaction"):
            yield event

    async def retry(self) -> AsyncIterator[AgentEvent]:
        self.retries += 1
        async for event in self._play("the retry"):
            yield event

    async def _play(self, text: str) -> AsyncIterator[AgentEvent]:
        self._interrupted.clear()
        self._is_running, self.can_retry = True, False
        script = self.scripts.pop(0) if self.scripts else answer(f"Answer to {text}")
        is_calling, has_ended = False, False
        try:
            for step in script:
                if isinstance(step, AgentEvent):
                    is_calling = (is_calling or isinstance(step, LLMStart)) and not isinstance(step, LLMEnd)
                    has_ended = isinstance(step, AgentEnd)
                    self._count(step)
                    yield step
                elif not await self._perform(step):
                    break
            if self._interrupted.is_set():
                if is_calling:
                    yield end_of_call(TokenUsage(estimated=True))
                yield end_of_turn("cancelled")
            elif not has_ended:
                yield end_of_turn()
        finally:
            self._is_running = False

    def _count(self, event: AgentEvent) -> None:
        if isinstance(event, AgentEnd):
            self.can_retry = event.result.is_resumable
        if isinstance(event, LLMEnd):
            self.book.add(event.usage, self.models.current)

    async def _perform(self, step: Step) -> bool:
        """Ask, wait or raise; False when an interrupt ended it."""
        match step:
            case Gate():
                step.reached.set()
                return await self._unless_interrupted(step.opened.wait())
            case ApprovalRequest():
                return await self._unless_interrupted(self._ask(step))
            case QuestionRequest():
                return await self._unless_interrupted(self._question(step))
            case PlanRequest():
                return await self._unless_interrupted(self._plan(step))
            case tuple():
                self.todos.replace(step)
                return True
            case Exception():
                raise step
            case _:
                raise TypeError(f"no step: {step!r}")

    async def _ask(self, request: ApprovalRequest) -> None:
        self.replies.append(await self.responder(request))

    async def _question(self, request: QuestionRequest) -> None:
        self.answers.append(await self.responder(request))

    async def _plan(self, request: PlanRequest) -> None:
        self.plans.append(await self.responder(request))

    async def _unless_interrupted(self, waiting: Any) -> bool:
        """Await, and cancel the waiting when an interrupt comes first."""
        task = asyncio.ensure_future(waiting)
        stop = asyncio.ensure_future(self._interrupted.wait())
        try:
            await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
            return task.done() and not self._interrupted.is_set()
        finally:
            for pending in (task, stop):
                pending.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)
