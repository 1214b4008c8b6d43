"""The sub-agents of a session: started by the task tool, each with a separate memory and journal.

Their usage is counted and limited together with that of the session: the same tracker counts their model
calls, and the same budget admits them. They share the session's policy, sandbox, undo store and jobs; each
has a separate record of the files that it has read. A sub-agent cannot start sub-agents.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from forge_core.config.forge_config import OFFLINE_MODEL, ForgeConfig
from forge_core.context.folder_instructions import FolderInstructions
from forge_core.errors import ForgeError, ToolError, WorkspaceError
from forge_core.events import AgentEvent, LLMEnd, Notice
from forge_core.extensions.agents import AgentCatalog, AgentDefinition
from forge_core.extensions.model_aliases import named_model
from forge_core.langchain.agent import ForgeAgent
from forge_core.llm.models import TokenUsage
from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.verdict import TighterPolicy
from forge_core.redact import Redactor
from forge_core.result import AgentResult
from forge_core.sanitize import safe_line
from forge_core.session.agents.agent_events import AgentEvents, AgentJournal, begin_journal
from forge_core.session.agents.agent_prompt import role_section
from forge_core.session.agents.agent_scope import AgentScope, running_agent
from forge_core.session.agents.sub_agent import AgentState, SubAgent
from forge_core.session.billing import SessionBilling
from forge_core.session.compacting import SessionCompactor
from forge_core.session.context_meter import ContextMeter
from forge_core.session.model_selection import ModelSelection
from forge_core.session.saved_state import StateRecorder, with_note
from forge_core.session.session_parts import SessionParts
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.store.journal import new_session_id
from forge_core.tools.base import AgentTask, BaseTool, ExecutionContext, ToolResult
from forge_core.tools.builtin.exit_plan_mode import SessionPlan
from forge_core.tools.builtin.todo import TodoList
from forge_core.tools.builtin.tool_run import ToolRunTool
from forge_core.tools.builtin.tool_search import ToolSearchTool
from forge_core.tools.executor import cancel_and_wait, wait_for_first
from forge_core.tools.output import OUTPUT_LIMIT
from forge_core.untrusted import escape_tags, frame_tool_output

MAX_ENDED_KEPT = 32
"""Ended sub-agents that are still listed; the oldest go first."""
_GONE_WITHIN_S = 3.0
"""How long the session waits for stopped sub-agents before it cancels them."""


class SubAgents:
    """Starts, lists and stops the sub-agents of one session."""

    def __init__(
        self,
        parts: SessionParts,
        config: Callable[[], ForgeConfig],
        models: ModelSelection,
        billing: SessionBilling,
        inform: Callable[[str], None],
    ) -> None:
        """`config` returns the current settings; a line given to `inform` is passed to the model with the
        next message."""
        self._parts, self._config, self._models = parts, config, models
        self._billing, self._inform = billing, inform
        self._slots = asyncio.Semaphore(parts.config.max_agents)
        self._agents: list[SubAgent] = []
        self._tasks: dict[SubAgent, asyncio.Task[ToolResult]] = {}
        self._last_number = 0
        self._covers_undo = False
        """Whether the undo store has a turn for changes in the background between two turns."""

    @property
    def catalog(self) -> AgentCatalog:
        """The built-in agents and those of files."""
        return self._parts.extensions.agents

    def color(self, agent: str) -> str:
        """Return the colour of the agent of this name; empty: none."""
        found = self.catalog.find(agent)
        return "" if found is None else found.color

    def list(self) -> tuple[SubAgent, ...]:
        """Return the running sub-agents and the last ended ones, the oldest first."""
        return tuple(self._agents)

    @property
    def running_count(self) -> int:
        return len(self._tasks)

    @property
    def background_count(self) -> int:
        """The number of those that continue after the turn."""
        return sum(agent.is_in_background for agent in self._tasks)

    async def stop(self, number: int) -> SubAgent:
        """Stop a sub-agent, and wait until it has ended; do nothing if it has ended already.

        Raises:
            ForgeError: there is no sub-agent with this number.
        """
        found = next((one for one in self._agents if one.number == number), None)
        if found is None:
            known = ", ".join(str(one.number) for one in self._agents) or "none yet"
            raise ForgeError(f"There is no agent {number}. The agents are: {known}.")
        found.stop(is_alone=True)
        if (task := self._tasks.get(found)) is not None:
            await asyncio.wait([task], timeout=_GONE_WITHIN_S)
        return found

    async def spawn(self, task: AgentTask, context: ExecutionContext) -> ToolResult:
        """Run a sub-agent and return its report; in the background, return once it has started. Without a
        user to send another message, it is never left in the background.

        Raises:
            ToolError: there is no such agent.
        """
        agent = self._new_agent(task, context)
        agent.is_in_background = in_background = task.in_background and self._parts.is_attended
        pass_on = partial(self._after_call, agent) if in_background else context.emit
        work = asyncio.create_task(self._work(agent, pass_on or _ignore), name=f"forge-agent-{agent.number}")
        self._tasks[agent] = work
        work.add_done_callback(lambda _: self._forget(agent))
        self._parts.events.figures_changed()
        if in_background:
            work.add_done_callback(partial(self._report, agent))
            return _started(agent)
        try:
            if await wait_for_first(work, context.interrupted) == "interrupted":
                agent.stop()
                await asyncio.wait([work])
            return work.result()
        finally:
            if not work.done():  # the executor waits for it no longer
                agent.detach()
                work.cancel()
                await asyncio.wait([work])

    def turn_began(self) -> None:
        """Note that the undo turn of the session covers the following changes."""
        self._covers_undo = False

    async def turn_ended(self) -> None:
        """Begin a turn of the undo store for changes by background agents until the next turn."""
        if self._tasks:
            labels = ", ".join(agent.label for agent in self._tasks)
            await self._parts.environment.begin_turn(f"In the background: {labels}", time.time())
            self._covers_undo = True

    async def _end_undo(self, agent: SubAgent) -> None:
        if self._covers_undo and not self._tasks.keys() - {agent}:
            self._covers_undo = False
            await self._parts.environment.end_turn()

    async def aclose(self) -> None:
        """Stop all sub-agents, and cancel those that do not end soon."""
        tasks = dict(self._tasks)
        for agent in tasks:
            agent.stop()
        if tasks:
            await asyncio.wait(tasks.values(), timeout=_GONE_WITHIN_S)
        for work in tasks.values():
            work.cancel()
        if tasks:
            await asyncio.wait(tasks.values())

    def _new_agent(self, task: AgentTask, context: ExecutionContext) -> SubAgent:
        definition = self.catalog.find(task.agent)
        if definition is None:
            near = self.catalog.nearest(task.agent)
            hint = f" Did you mean {near!r}?" if near else ""
            names = ", ".join(one.name for one in self.catalog.agents)
            raise ToolError(f"there is no agent {task.agent!r}.{hint} The agents are: {names}.")
        current = self._models.current
        model, notice = agent_model(definition, task.model, current, self._config(), self._models.listed)
        if notice:
            self._parts.events.warning(notice)
        self._last_number += 1
        agent = SubAgent(self._last_number, new_session_id(), context.call_id, definition, task, model)
        self._agents.append(agent)
        ended = [one for one in self._agents if not one.is_running]
        for old in ended[:-MAX_ENDED_KEPT]:
            self._agents.remove(old)
        return agent

    async def _work(self, agent: SubAgent, pass_on: Callable[[AgentEvent], None]) -> ToolResult:
        """Wait for a free slot, run a sub-agent, and return the result of its call."""
        slot = asyncio.ensure_future(self._slots.acquire())
        result: AgentResult | None = None
        try:
            if await wait_for_first(slot, agent.stopped) == "done":
                agent.state = AgentState.RUNNING
                result = await self._run(agent, pass_on)
        finally:
            if slot.done() and not slot.cancelled():
                self._slots.release()
            slot.cancel()
            outcome = agent.end(result)
            self._parts.events.figures_changed()
        await self._end_undo(agent)
        return outcome

    async def _run(self, agent: SubAgent, pass_on: Callable[[AgentEvent], None]) -> AgentResult | None:
        if not agent.definition.is_isolated:
            return await self._run_in(None, agent, pass_on)
        from forge_core.session.agents.agent_worktree import agent_worktree  # few agents need it

        try:
            worktree = await agent_worktree(self._config(), agent.id)
        except WorkspaceError as error:
            return AgentResult("", [], [], TokenUsage(), 0, stopped_reason="error", error=str(error))
        for notice in worktree.worktree.notices:
            self._parts.events.warning(notice)
        policy: PermissionPolicy | None = None
        try:
            policy = self._parts.isolate(worktree.folder).policy
            return await self._run_in(worktree.folder, agent, pass_on)
        except WorkspaceError as error:
            return _crash(error)
        finally:
            agent.note = await worktree.leave(policy)

    async def _run_in(
        self, folder: Path | None, agent: SubAgent, pass_on: Callable[[AgentEvent], None]
    ) -> AgentResult | None:
        """Run a sub-agent in a worktree, or in the session's folder."""
        parts, config = self._parts, self._config()
        environment = self._environment(agent, folder)
        policy = self._policy(agent.definition, environment)
        journal = begin_journal(
            agent,
            parts.journal,
            config.state_dir,
            parts.events.error,
            working_dir=config.working_dir,
            provider=config.endpoint.kind,
            mode=str(policy.mode),
        )
        events = AgentEvents(
            agent, journal, pass_on, lambda end: self._billing.answered(replace(end, parent_id=agent.call_id))
        )
        agent.detach = lambda: events.detach(parts.tracker.get_usage(), partial(self._after_call, agent))
        scope = running_agent.set(AgentScope(agent.call_id, events.emit))
        forge_agent: ForgeAgent | None = None
        try:
            forge_agent = self._forge_agent(agent, environment, policy, journal, events)
            context = await self._context_of_hooks(agent)
            if agent.stopped.is_set():
                return None
            await forge_agent.execute(with_note(agent.task.prompt, context), events)
            return forge_agent.last_result
        except Exception as error:  # the border of a sub-agent: a bug ends it, not the session
            return _crash(error)
        finally:
            running_agent.reset(scope)
            total = parts.tracker.get_usage()
            events.close(total)
            events.recorder.close(None if forge_agent is None else forge_agent.last_result, total)
            StateRecorder(journal, environment).record(model=agent.model, mode=str(policy.mode))
            await asyncio.to_thread(journal.close)

    async def _context_of_hooks(self, agent: SubAgent) -> Sequence[str]:
        """Return the context that hooks add at its start. They end when it is stopped."""
        hooks = asyncio.ensure_future(self._parts.hooks.subagent_started(agent.id, agent.name))
        try:
            return hooks.result() if await wait_for_first(hooks, agent.stopped) == "done" else []
        finally:
            await cancel_and_wait(hooks)

    def _policy(
        self, definition: AgentDefinition, environment: ToolEnvironment
    ) -> PermissionPolicy | TighterPolicy:
        shared, own = self._parts.environment.policy, environment.policy
        if own is not shared:
            return TighterPolicy(shared, definition.mode, own)
        return shared if definition.mode is None else TighterPolicy(shared, definition.mode)

    def _environment(self, agent: SubAgent, folder: Path | None) -> ToolEnvironment:
        """Return the session's environment, or that of a worktree, with a separate record of files read,
        tasks and instructions, and the tools of servers that the agent may use."""
        shared, window = self._parts.environment, self._parts.provider.context_window(agent.model)
        if folder is not None:
            shared = self._parts.isolate(folder)
        offered = shared.offered
        return replace(
            shared,
            todos=TodoList(),
            plan=SessionPlan(),
            skills=shared.skills.fresh(),
            files={},
            agents=None,
            deferred=None if offered is None else offered.for_agent(agent.definition.select, window),
            offered=None,
            server_offers=None,
            folder_instructions=(
                None
                if shared.folder_instructions is None
                else FolderInstructions(replace(self._config(), working_dir=shared.working_dir))
            ),
        )

    def _forge_agent(
        self,
        agent: SubAgent,
        environment: ToolEnvironment,
        policy: PermissionPolicy | TighterPolicy,
        journal: AgentJournal,
        events: AgentEvents,
    ) -> ForgeAgent:
        parts, main, definition = self._parts, self._parts.agent, agent.definition

        def context() -> ExecutionContext:
            hooks = parts.hooks.of_agent(agent.id, agent.name, policy.mode)
            return replace(environment.context(), agent=agent.name, agent_id=agent.id, hooks=hooks)

        sub = ForgeAgent(
            llm=parts.provider.make_llm(agent.model),
            tools=_own_tools(definition, main, parts.environment, environment),
            max_iterations=min(definition.max_turns or main.max_iterations, main.max_iterations),
            max_retries=main.max_retries,
            timeout=None,
            executor=main.executor if policy is environment.policy else main.executor.with_policy(policy),
            make_context=context,
            make_watch=main.make_watch,
            clock=main.clock,
            tracker=main.tracker,
            callbacks=main.callbacks,
            on_message=events.recorder.message,
            before_end=partial(parts.hooks.subagent_stopped, agent.id, agent.name),
        )
        if (choice := environment.deferred) is not None:
            sub.set_tools(sub.tools, choice.deferred)
        sub.call_ids = main.call_ids  # unique in the whole session
        agent.interrupt = sub.interrupt
        meter = ContextMeter(sub)
        role = role_section(definition, sub.registry, "" if choice is None else choice.listing)
        folder = environment.working_dir
        is_elsewhere = folder != parts.environment.working_dir
        meter.use_prompt(
            parts.agent_prompt(policy.mode, sub.registry, role, folder if is_elsewhere else None)
        )
        events.meter = meter
        SessionCompactor(
            sub,
            meter,
            environment,
            parts.provider,
            journal,
            lambda: agent.model,
            lambda end: self._billing.answered(replace(end, parent_id=agent.call_id)),
        )
        return sub

    def _after_call(self, agent: SubAgent, event: AgentEvent) -> None:
        """Record the cost of an agent whose call has ended; no other event of it is passed on."""
        if isinstance(event, LLMEnd):
            self._parts.journal.event(event)
        self._parts.events.figures_changed()

    def _report(self, agent: SubAgent, work: asyncio.Task[ToolResult]) -> None:
        """Inform the user and the model of the end of a background agent."""
        outcome = "has finished" if agent.state is AgentState.DONE else f"has {agent.state}"
        line = f"Agent {agent.number} ({safe_line(agent.label)}) {outcome}: {agent.summary}"
        self._parts.events.notify(
            Notice(level="info", text=f"{line}. The model gets its report with your next message.")
        )
        report = agent.report[:OUTPUT_LIMIT]
        self._inform(f"{escape_tags(line)}. Its report:\n{frame_tool_output('task', report)}")

    def _forget(self, agent: SubAgent) -> None:
        self._tasks.pop(agent, None)


def _own_tools(
    definition: AgentDefinition, main: ForgeAgent, shared: ToolEnvironment, environment: ToolEnvironment
) -> list[BaseTool]:
    """Return the tools of a sub-agent with this environment whose definitions it is sent. Those of servers
    were chosen for it alone; `shared` holds those of the session."""
    of_servers = [*map(id, () if shared.deferred is None else shared.deferred.sent)]
    own = [tool for tool in definition.select(main.registry) if id(tool) not in of_servers]
    sent = () if environment.deferred is None else environment.deferred.sent
    return [*own, ToolSearchTool(), ToolRunTool(), *sent]


def agent_model(
    definition: AgentDefinition, asked: str, current: str, config: ForgeConfig, known: Collection[str]
) -> tuple[str, str]:
    """Return the model of a sub-agent, and a notice if it is not the requested one.

    `asked` is the model that the call names. `current` is that of the session, the fallback. `known` are the
    ids that the endpoint lists; empty if it lists none.
    """
    wanted = asked or definition.model or (config.small_model if definition.is_small else "") or ""
    if wanted == current or current == OFFLINE_MODEL:
        return current, ""
    model, notice = named_model(wanted, config, known)
    return model or current, f"Agent {definition.name}: {notice}" if notice else ""


def _started(agent: SubAgent) -> ToolResult:
    text = (
        f"Agent {agent.number} ({agent.label}) runs in the background. Its report will be passed to you with "
        "a later message of the user. Continue with other work: do not wait for it, and do not do its task."
    )
    return ToolResult(True, text, summary=f"in the background as agent {agent.number}", outcome="background")


def _crash(error: Exception) -> AgentResult:
    words = Redactor()(f"{type(error).__name__}: {error}")
    return AgentResult("", [], [], TokenUsage(), 0, stopped_reason="error", error=words)


def _ignore(event: AgentEvent) -> None:
    pass
