"""A conversation with everything it needs: the one object that screens, printers and libraries hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal
from functools import partial

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.context.instructions import Instructions
from forge_core.errors import ForgeError
from forge_core.events import AgentEvent, LLMChunk, Notice, ToolProgress
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.langchain.agent import NOTHING_TO_RETRY as NOTHING_TO_RETRY
from forge_core.langchain.agent.event_queue import EventQueue
from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.sandbox.sandbox_state import SandboxState
from forge_core.result import AgentResult
from forge_core.session.agents.subagents import SubAgents
from forge_core.session.attachments import Attachments
from forge_core.session.billing import SessionBilling, SessionSpending
from forge_core.session.changes import Source, changes_of
from forge_core.session.command_messages import CommandMessages, TypedUse
from forge_core.session.command_work import CommandWork
from forge_core.session.compacting import SessionCompactor
from forge_core.session.context_meter import ContextMeter
from forge_core.session.context_parts import ContextParts
from forge_core.session.draft_keeper import DraftKeeper
from forge_core.session.model_selection import ModelSelection
from forge_core.session.offered_tools import OfferedTools
from forge_core.session.program_approvals import ProgramApprovals
from forge_core.session.provider import SessionProvider
from forge_core.session.review import ChangeReview
from forge_core.session.rewinder import Rewinder
from forge_core.session.saved_state import (
    PendingNews,
    replace_conversation,
    restore_environment,
    restore_history,
)
from forge_core.session.server_sampling import ServerSampling
from forge_core.session.session_parts import SessionParts
from forge_core.session.session_recorder import SessionRecorder
from forge_core.session.session_servers import SessionServers
from forge_core.session.status import SessionStatus
from forge_core.session.tool_environment import AddedFolders
from forge_core.session.turn_recorder import message_record
from forge_core.session.turn_runner import TurnFollowers, TurnRunner
from forge_core.session.user_commands import UserCommands
from forge_core.store.folded_parts import Span
from forge_core.store.log import close_log
from forge_core.store.saved_session import SavedSession as SavedSession
from forge_core.tools.registry import ToolRegistry
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo.report import UndoReport
from forge_core.undo.undo_store import UndoStore
from forge_core.workspace.change_source import ChangeSource


class ForgeSession:
    """One conversation, one turn at a time. `interrupt` ends it in order, closing the iterator cancels it."""

    def __init__(self, parts: SessionParts) -> None:
        agent, environment, provider = parts.agent, parts.environment, parts.provider
        config, journal, events = parts.config, parts.journal, parts.events
        self.id, self.config = parts.id, config
        self.budget, self.hooks = parts.budget, parts.hooks
        """The limits of what is spent; the programs that run at events."""
        self._recorder = SessionRecorder(
            parts.id, journal, environment, lambda: self.config, lambda: self.models
        )
        self._billing = SessionBilling(parts.tracker, provider, events.figures_changed, self._recorder.bill)
        self._stop = asyncio.Event()
        self.work = CommandWork(parts, self._model, self._billing.answered, self._read_turn, self._stop)
        """Runs what commands do beside the conversation."""
        self.servers = self._servers(parts)
        """The MCP servers."""
        self.programs = ProgramApprovals(self.hooks, self.servers, events.notify)
        """The user's decisions about programs of files."""
        self.extensions, self.style = parts.extensions, parts.style
        """What files define; how the model writes."""
        self.restored: SavedSession | None = None
        """The saved session that this one continues."""
        self._agent, self._environment, self._provider = agent, environment, provider
        self._tracker, self._journal, self._logger = parts.tracker, journal, parts.logger
        self.todos, self.plan = environment.todos, environment.plan
        """The model's list of tasks, and the plan of plan mode."""
        self.plan.use_mode = self.set_mode
        self._events, self._system_prompt = events, parts.system_prompt
        self.models = ModelSelection(config, provider, agent.set_llm, self.reload_instructions)
        """The model in use, and the choice of another."""
        self.folders = AddedFolders(environment, self.reload_instructions, self.servers.use_roots)
        self._meter = ContextMeter(agent)
        self.drafts = DraftKeeper(journal, config.state_dir, config.working_dir)
        """Keeps the text in the composer while it is typed."""
        self.rewinder = Rewinder(journal, environment, self._has_turn, self._rewound, self.files_restored)
        """Takes the conversation, files, or both back to an earlier message."""
        self.review = ChangeReview(environment, journal, events, self._has_turn, self.files_restored)
        """Keeps and reverts parts of the last turn's changes."""
        self.compaction = self._compactor()
        """Keeps the conversation below the model's context window."""
        self.context = ContextParts(
            agent, self._meter, environment, provider, self._billing, self.compaction, self._model
        )
        """The parts of the context window, and what is left out of it."""
        self._task: asyncio.Task[None] | None = None
        self._uses_extensions, self._news = False, PendingNews(journal, environment)
        self.agents = SubAgents(parts, lambda: self.config, self.models, self._billing, self.inform_model)
        """The sub-agents: which there are, and those that run."""
        environment.agents = self.agents
        self.user_commands = UserCommands(journal, environment.output_dir, journal.redactor, self._news.add)
        self.attachments = Attachments(
            agent, environment, self.models, journal, self._news, self.notify, self._stop, self.servers.offers
        )
        self._commands = self._command_messages()
        self._turns = TurnRunner(parts, self._followers(), self._stop.is_set)
        self.steering = agent.steering
        """Messages for the running turn: the model reads them with its next call."""
        self.steering.prepare = self.attachments.attached_within_turn
        self.set_mode(config.permission_mode)
        self.extensions.on_change(self._use_extensions)
        agent.before_end = self.hooks.may_end

    def _servers(self, parts: SessionParts) -> SessionServers:
        return SessionServers(
            parts.config,
            parts.environment,
            lambda: self.attachments.images.keep if self.models.takes_images else None,
            OfferedTools(parts, self.reload_instructions).use,
            parts.events.notify,
            parts.logger,
            ServerSampling(self.work.model),
        )

    def _compactor(self) -> SessionCompactor:
        agent, environment, provider = self._agent, self._environment, self._provider
        journal, answered = self._journal, self._billing.answered
        return SessionCompactor(
            agent, self._meter, environment, provider, journal, self._model, answered, self.hooks
        )

    def _command_messages(self) -> CommandMessages:
        agent, environment, models, offers = self._agent, self._environment, self.models, self.servers.offers
        return CommandMessages(
            agent, environment, models, self.attachments, self.extensions, offers, lambda: self.config
        )

    def _followers(self) -> TurnFollowers:
        return TurnFollowers(
            recorder=self._recorder,
            models=self.models,
            billing=self._billing,
            meter=self._meter,
            context=self.context,
            news=self._news,
            commands=self._commands,
            agents=self.agents,
            notify=self.notify,
        )

    @property
    def last_result(self) -> AgentResult | None:
        """How the last turn ended; None before the first one has."""
        return self._turns.last_result

    @property
    def status(self) -> SessionStatus:
        environment, provider, meter = self._environment, self._provider, self._meter
        spending = self._tracker.spending()
        return SessionStatus(
            model=self.models.current,
            effort=self.models.effort,
            provider_label=provider.label,
            mode=environment.policy.mode,
            sandbox=environment.sandbox_state.label,
            is_away=self.is_away,
            usage=spending.usage,
            known_cost_usd=spending.known_usd,
            output_price_usd=provider.output_price(self.models.current),
            context_used=meter.used,
            is_context_estimate=meter.is_estimate,
            context_window=provider.context_window(self.models.current),
            compacts_at=self.compaction.compacts_at,
            working_dir=self.config.working_dir,
            added_folders=self.folders.workspace.added,
            is_running=self._task is not None,
            running_jobs=environment.jobs.running_count,
            running_agents=self.agents.background_count,
            broken_hooks=len(self.hooks.broken),
        )

    @property
    def on_figures(self) -> Callable[[], None] | None:
        """Called when figures have changed outside the turn's events: a bill has arrived, a job has ended."""
        return self._events.on_figures

    @on_figures.setter
    def on_figures(self, listener: Callable[[], None] | None) -> None:
        self._events.on_figures = listener

    @property
    def tools(self) -> ToolRegistry:
        return self._agent.registry

    @property
    def policy(self) -> PermissionPolicy:
        return self._environment.policy

    @property
    def jobs(self) -> JobTable:
        """The commands that run beside the turns."""
        return self._environment.jobs

    @property
    def undo(self) -> UndoStore | None:
        """The undo store; None when undo is off."""
        return self._environment.undo

    def changes(self, source: Source) -> ChangeSource:
        """Return the changes in files; they are read on request."""
        return changes_of(source, self.config.working_dir, self.undo)

    @property
    def sandbox(self) -> SandboxState:
        """The sandbox in which commands run."""
        return self._environment.sandbox_state

    @property
    def given_instructions(self) -> tuple[Instructions, ...]:
        """The instruction files of sub-folders that the model has been given."""
        return self._environment.given_instructions

    @property
    def is_away(self) -> bool:
        """Whether the user is away: what needs their reply is denied, and the model is informed."""
        return self._environment.responder.is_away

    @is_away.setter
    def is_away(self, value: bool) -> None:
        self._environment.responder.is_away = value

    def spending(self) -> SessionSpending:
        """Return the spending, by model and by turn."""
        return self._billing.spending()

    def restore(self, saved: SavedSession) -> None:
        """Continue a saved session, whose journal this session writes: its conversation, figures and state.

        Its model and mode are not taken over; they are settings of this session.
        """
        self.restored = saved
        self.hooks.start = "fork" if saved.is_new_fork else "resume"
        answers = restore_history(self._agent.memory, self.compaction, saved)
        self._agent.call_ids.update(call.id for one in saved.messages for call in one.tool_calls or ())
        calls = ((call.turn, call.model, call.usage) for call in saved.calls)
        self._billing.restore((turn.text for turn in saved.turns), calls)
        fixed = filter(self.config.is_chosen, self.config.origins)
        self.budget.restore((call.usage for call in saved.calls), saved.budget, fixed)
        restore_environment(self._environment, saved)
        if self.context.left_out:
            self.reload_instructions()
        self._recorder.assume(saved)
        saved.draft = self.drafts.take(saved)
        self.review.restore(saved)
        self._news.restore(saved)
        self._recorder.resume(saved)
        for answer in answers:
            self._journal.record("message", message_record(answer))

    def save_input(self, *, queue: Sequence[str], draft: str = "", stash: Sequence[str] = ()) -> None:
        """Record the messages that wait for the running turn, the text in the composer and stashed ones."""
        self.drafts.set(draft, stash)
        self._recorder.input(draft=draft, queue=queue, stash=stash)

    def rename(self, title: str) -> str:
        """Record a title of the user's own; return it as it will be shown."""
        return self._recorder.title(title)

    async def recorded(self) -> SavedSession:
        """Return the session as its journal holds it.

        Raises:
            ForgeError: nothing is recorded yet, or the journal cannot be written or read.
        """
        return await self._recorder.saved()

    async def settle(self, event: AgentEvent) -> None:
        """Wait a moment until the journal holds an event, so that a kill does not undo what was reported.
        Streamed text is not waited for."""
        if not isinstance(event, LLMChunk | ToolProgress):
            await asyncio.to_thread(self._journal.settle)

    def send(
        self, text: str, *, folded: Sequence[Span] = (), command: TypedUse | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Run one turn and yield its events; the last is AGENT_END. `folded` parts of the text are recorded.

        With a `command`, `text` is the line that was typed, and the model is sent what the command makes of
        its arguments.

        Closing the iterator early cancels the turn: no further event arrives, and memory, journal and
        `last_result` are completed all the same.

        Raises:
            ForgeError: a turn is running already.
        """
        return self._read_turn(partial(self._turns.run, text, folded=folded, command=command))

    def compact(
        self, focus: str = "", *, is_fast: bool = False, turns: int | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Compact the conversation as a turn of its own, and yield events like `send`.

        `focus` is what the summary must keep above all. If `is_fast`, no model is asked. With `turns`, only
        so many of the user's last messages, and all that followed them, are summarised.

        Raises:
            ForgeError: a turn is running already.
        """
        return self._read_turn(partial(self.compaction.run, focus=focus, is_fast=is_fast, turns=turns))

    @property
    def can_retry(self) -> bool:
        """Whether the last turn ended at a model call that failed, so that `retry` can resume there."""
        return self._task is None and self._agent.is_resumable

    def retry(self) -> AsyncGenerator[AgentEvent, None]:
        """Resume the turn that failed at its failed model call, and yield events like `send`.

        No message is sent and no tool call runs again.

        Raises:
            ForgeError: a turn is running, or the last one did not end so.
        """
        return self._read_turn(partial(self._turns.run, None), is_retry=True)

    async def _read_turn(
        self, turn: Callable[[EventQueue], Coroutine[None, None, None]], *, is_retry: bool = False
    ) -> AsyncGenerator[AgentEvent, None]:
        """Run a turn in a task of its own and yield its events."""
        if self._task is not None:
            raise ForgeError("A turn is running already. Interrupt it, or wait for its end.")
        if is_retry and not self.can_retry:
            raise ForgeError(NOTHING_TO_RETRY)
        queue = self._events.begin_turn(self._journal.event)
        task = asyncio.create_task(turn(queue), name="forge-turn")
        # Closes the queue however the task ends, or the reader would wait forever. What a cancelled turn has
        # queued is dropped.
        task.add_done_callback(lambda ended: queue.close(discard=ended.cancelled()))
        self._task = task
        self._stop.clear()
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self._task = None
            self.steering.clear()
            self._events.end_turn()

    def _model(self) -> str:
        return self.models.current

    def _has_turn(self) -> bool:
        return self._task is not None

    def interrupt(self) -> None:
        """Ask the running turn to end: it keeps its partial answer and closes its calls."""
        self._stop.set()
        self._agent.interrupt()
        self._commands.interrupt()
        self.attachments.interrupt()
        self.compaction.interrupt()
        self.hooks.interrupt()

    async def reset(self) -> None:
        """Clear the conversation. System message, mode, model and spending stay."""
        self.interrupt()
        if (task := self._task) is not None:
            await asyncio.wait([task])
        self._agent.reset()
        self._environment.reset()
        self._meter.reset()
        self.compaction.reset()
        self._billing.forget_turns()
        await self.hooks.cleared()
        if self._recorder.has_begun:
            self._journal.record("reset", {})
            self._recorder.state.assume_recorded()

    def inform_model(self, line: str) -> None:
        """Inform the model, with the next message, of something outside the conversation."""
        self._news.add(line)

    def files_restored(self, report: UndoReport) -> None:
        """Require the model to read restored files again, and inform it with the next message."""
        self._environment.forget_reads(report.touched)
        if report.for_model:
            self.inform_model(report.for_model)

    def _rewound(self, saved: SavedSession) -> None:
        """Continue with another part of the recorded conversation; figures of what was spent stay."""
        self._agent.reset()
        restore_history(self._agent.memory, self.compaction, saved)
        self._meter.reset()
        self._billing.keep_turns([turn.text for turn in saved.turns])
        replace_conversation(self._environment, saved)
        self._recorder.state.assume_recorded()

    def use_endpoint(self, config: ForgeConfig, provider: SessionProvider) -> None:
        """Use the endpoint and the model of `config`, served by `provider`. Not during a turn."""
        self._journal.redactor.learn(config.endpoint.api_key or "")
        self.config = config
        self._provider.become(provider)
        self._billing.use_endpoint()
        self.budget.use_endpoint(is_free=provider.is_free, local=provider.local_host)
        self.models.use_endpoint(config)

    def set_mode(self, mode: PermissionMode) -> None:
        """Change how much runs without asking; the system message informs the model."""
        self._environment.policy.mode = mode
        self.plan.mode_changed(mode)
        self.reload_instructions()

    def rules_changed(self) -> None:
        """Offer the model the tools that the rules leave, from its next request on."""
        self._environment.rules_changed()

    def use_style(self, name: str) -> None:
        """Change how the model writes, from its next request on; ConfigError if there is no such style."""
        self.style.choose(name)
        self.reload_instructions()

    def reload_instructions(self) -> None:
        """Read the instruction files again; the model gets them with its next request."""
        self._meter.use_prompt(self._system_prompt(self._environment.policy.mode))
        self._recorder.settings()

    def _use_extensions(self) -> None:
        """Use what files define now; the model gets it with its next request."""
        is_first, self._uses_extensions = not self._uses_extensions, True
        has_none = self.extensions.catalog == ExtensionCatalog()
        if is_first and has_none and self.style.current().name == self.style.name:
            return  # as at the start: the first request need not wait for the same prompt again
        self._environment.use_skills(self.extensions.catalog)
        self._agent.update_offered_tools()
        if notice := self.extensions.take_notice():
            self.notify(Notice(level="warning", text=notice))
        self.reload_instructions()

    def notify(self, notice: Notice) -> None:
        """Notify the user: in the running turn's stream, else through `notices()`. Safe from
        other threads once a turn has begun."""
        self._events.notify(notice)

    def notices(self) -> AsyncGenerator[Notice, None]:
        """Yield what happens outside a turn. Never ends by itself."""
        return self._events.notices()

    def waiting_notices(self) -> list[Notice]:
        """Return what `notices` would yield now, for a reader that does not wait."""
        return self._events.waiting()

    def set_limit(self, setting: str, amount: Decimal | None) -> None:
        """Change a limit of this session (`session.spending_limits.LIMITS`); None removes it."""
        self.budget.set_limit(setting, amount)
        self._recorder.record("budget", self.budget.state())

    async def aclose(self) -> None:
        """End a running turn and what its commands left running; complete the journal."""
        if (task := self._task) is not None:
            task.cancel()
            await asyncio.wait([task])
        async with AsyncExitStack() as last_first:  # a failure of one does not keep the others open
            # Closed from the last to the first: the journal and the provider after everything that still uses
            # them.
            last_first.callback(close_log, self._logger)
            last_first.push_async_callback(self._provider.close)
            last_first.push_async_callback(asyncio.to_thread, self._journal.close)
            last_first.push_async_callback(asyncio.to_thread, self.drafts.write)
            last_first.push_async_callback(self._environment.aclose)
            for tool in reversed([*self.tools]):
                last_first.push_async_callback(tool.aclose)
            last_first.push_async_callback(self._billing.aclose)
            last_first.push_async_callback(self.servers.aclose)
            last_first.push_async_callback(self.hooks.aclose)
            last_first.push_async_callback(self.agents.aclose)
