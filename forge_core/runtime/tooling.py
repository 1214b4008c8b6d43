"""Building the environment of a session's tools, and its agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from logging import Logger
    from pathlib import Path

    from langchain_core.language_models import BaseChatModel

    from forge_core.config.forge_config import ForgeConfig
    from forge_core.config.permission_mode import PermissionMode
    from forge_core.config.project_state import Scripts
    from forge_core.context.system_prompt import SystemPrompt
    from forge_core.langchain.agent import ForgeAgent
    from forge_core.langchain.agent.run_control import RunClock
    from forge_core.langchain.callbacks import TokenTrackingCallback
    from forge_core.permissions.policy import PermissionPolicy
    from forge_core.permissions.sandbox.sandbox import Sandbox
    from forge_core.permissions.sandbox.sandbox_state import SandboxState
    from forge_core.redact import Redactor
    from forge_core.session.budget import SpendingBudget
    from forge_core.session.event_channel import EventChannel
    from forge_core.session.provider import SessionProvider
    from forge_core.session.session_extensions import SessionExtensions
    from forge_core.session.session_hooks import SessionHooks
    from forge_core.session.session_style import SessionStyle
    from forge_core.session.tool_environment import SessionResponder, ToolEnvironment
    from forge_core.store.journal import Journal
    from forge_core.tools.base import BaseTool, UnsavedFiles
    from forge_core.tools.shell.limits import CommandLimits


class PromptMaker(Protocol):
    """Returns the system prompt of a mode, for these tools; with a `role`, that of a sub-agent, which may
    work in another `folder`."""

    def __call__(
        self, mode: PermissionMode, tools: Iterable[BaseTool], role: str = "", folder: Path | None = None
    ) -> SystemPrompt: ...


def build_environment(
    config: ForgeConfig,
    session_id: str,
    responder: SessionResponder,
    events: EventChannel,
    redact: Redactor,
    hooks: SessionHooks,
    unsaved: UnsavedFiles | None,
) -> ToolEnvironment:
    """Build the policy, the sandbox, and everything else that calls share."""
    from forge_core.context.folder_instructions import FolderInstructions
    from forge_core.permissions.sandbox.placeholders import MountedPaths
    from forge_core.permissions.sandbox.probing import probe_now
    from forge_core.permissions.sandbox.sandbox import clear_leftovers
    from forge_core.session.session_skills import SessionSkills
    from forge_core.session.tool_environment import ToolEnvironment
    from forge_core.store.journal import outputs_dir, undo_dir
    from forge_core.tools.shell.job_table import JobTable
    from forge_core.undo import UndoStore

    root, state_dir = config.working_dir, config.state_dir
    state = probe_now(config.sandbox, root)
    clear_leftovers(root, state_dir)
    sandbox = _sandbox(config, state)
    policy = _policy(config, state, sandbox)
    for folder in config.added_folders:
        policy.add_folder(folder)
    return ToolEnvironment(
        working_dir=root,
        policy=policy,
        responder=responder,
        output_dir=outputs_dir(state_dir, session_id),
        sandbox_state=state,
        sandbox=sandbox,
        unsaved=unsaved,
        undo=UndoStore(
            root,
            undo_dir(state_dir, session_id),
            private=state_dir,
            on_trouble=events.warning,
            mounts=MountedPaths(state_dir),
            redact=redact,
            added=config.added_folders,
        ),
        folder_instructions=FolderInstructions(config),
        hooks=hooks,
        jobs=JobTable(events.info, events.figures_changed, _command_limits(config)),
        skills=SessionSkills(policy.allow_for_turn),
    )


def isolated_environment(config: ForgeConfig, shared: ToolEnvironment, folder: Path) -> ToolEnvironment:
    """Return the environment of a session for calls in a worktree: by the rules of its settings, with a
    sandbox of its own, and without undo. What the user allows "always" counts for the session's folder."""
    from dataclasses import replace

    from forge_core.permissions.sandbox.sandbox import clear_leftovers

    own = replace(config, working_dir=folder, worktree_of=config.working_dir, added_folders=())
    clear_leftovers(folder, config.state_dir)
    sandbox = _sandbox(own, shared.sandbox_state)
    policy = _policy(own, shared.sandbox_state, sandbox, saves_for=config.working_dir)
    return replace(shared, working_dir=folder, policy=policy, sandbox=sandbox, undo=None, unsaved=None)


def _sandbox(config: ForgeConfig, state: SandboxState) -> Sandbox | None:
    """Return where commands run; None: without a sandbox."""
    from pathlib import Path

    from forge_core.permissions.sandbox.sandbox import Sandbox
    from forge_core.permissions.sandbox.sandbox_state import SandboxKind

    if state.kind is SandboxKind.OFF:
        return None
    sandbox = Sandbox(
        state,
        config.working_dir,
        state_dir=config.state_dir,
        hidden=(config.config_dir,),
        readable=tuple(Path(one).expanduser() for one in config.sandbox_read),
    )
    for folder in config.added_folders:
        sandbox.add_folder(folder)
    return sandbox


def build_hooks(
    config: ForgeConfig,
    journal: Journal,
    mode: Callable[[], PermissionMode],
    events: EventChannel,
    logger: Logger,
) -> SessionHooks:
    """Build what runs programs at events of the session of a journal. Reads no file."""
    from forge_core.session.session_hooks import SessionHooks

    return SessionHooks(config, journal.path.stem, journal.path, mode, events.notify, logger)


def build_budget(
    config: ForgeConfig,
    responder: SessionResponder,
    clock: RunClock,
    events: EventChannel,
    *,
    is_attended: bool,
) -> SpendingBudget:
    """Build what checks the limits of cost, tokens, calls and time."""
    from forge_core.runtime.provider_setup import charges
    from forge_core.session.budget import SpendingBudget
    from forge_core.session.spending_limits import LIMITS
    from forge_core.store.spending_ledger import SpendingLedger

    is_free, local_host = charges(config)
    return SpendingBudget(
        {limit.setting: getattr(config, limit.setting) for limit in LIMITS},
        SpendingLedger(config.state_dir / "sessions", events.error),
        responder,
        clock.elapsed,
        events.warning,
        is_free=is_free,
        local=local_host,
        is_attended=is_attended,
    )


def session_logger(config: ForgeConfig, session_id: str, redact: Redactor) -> Logger:
    """Return the logger of a session, which writes to Forge's log file."""
    from forge_core.store.log import log_path, open_log

    return open_log(log_path(config.state_dir), config.log_level, f"forge.{session_id}", redact)


def _command_limits(config: ForgeConfig) -> CommandLimits:
    from forge_core.tools.shell.limits import GB, CommandLimits, default_memory_bytes

    memory_gb = config.command_memory_gb
    return CommandLimits(
        memory_bytes=default_memory_bytes() if memory_gb is None else int(memory_gb * GB),
        file_bytes=int(config.command_file_gb * GB),
        open_files=config.command_open_files,
        processes=config.command_processes,
    )


def _policy(
    config: ForgeConfig, state: SandboxState, sandbox: Sandbox | None, saves_for: Path | None = None
) -> PermissionPolicy:
    """Return the policy; rules that the user grants are saved for the folder `saves_for`."""
    from forge_core.approval import ToolKind
    from forge_core.config.save import save_project_rule
    from forge_core.permissions.policy import PermissionPolicy, warm_up
    from forge_core.permissions.rules.rule import moved_rules
    from forge_core.tools.registry import builtin_tools

    def rules_here(*rules: str) -> tuple[str, ...]:
        """Return rules that restrict; what they say of the folder of a worktree by its path holds in it."""
        origin = config.worktree_of
        return rules if origin is None else (*rules, *moved_rules(rules, origin, config.working_dir))

    def save(rule: str, scripts: Scripts) -> None:
        save_project_rule(config.state_dir, saves_for or config.working_dir, rule, scripts=scripts)

    warm_up()
    return PermissionPolicy(
        root=config.working_dir,
        mode=config.permission_mode,
        allow=(*config.allow, *(rule for rule in config.saved_allow if rule in config.saved_written)),
        saved=(rule for rule in config.saved_allow if rule not in config.saved_written),
        ask=rules_here(*config.ask, *config.saved_ask),
        deny=rules_here(*config.deny, *config.saved_deny),
        edit_tools={tool.name for tool in builtin_tools() if tool.kind is ToolKind.WRITE},
        sandbox=state.strength,
        unmasked_reason=sandbox.unmasked_reason if sandbox is not None else None,
        committed_reason=sandbox.committed_reason if sandbox is not None else None,
        project_allow=config.project_allow,
        project_ask=config.project_ask,
        project_deny=config.project_deny,
        save_rule=save,
        scripts=config.saved_scripts,
    )


def build_agent(
    config: ForgeConfig,
    make_llm: Callable[[str], BaseChatModel],
    environment: ToolEnvironment,
    clock: RunClock,
    tracker: TokenTrackingCallback,
    logger: Logger,
    redact: Redactor,
) -> ForgeAgent:
    """Build an agent whose every call goes through the policy."""
    from forge_core.langchain.agent import ForgeAgent, warm_up
    from forge_core.langchain.callbacks import LoggingCallback
    from forge_core.session.loop_detector import LoopDetector, ask_to_continue
    from forge_core.tools.executor import ToolExecutor
    from forge_core.tools.registry import builtin_tools

    warm_up()
    return ForgeAgent(
        llm=make_llm(config.model),
        tools=builtin_tools(),
        max_iterations=config.max_iterations,
        max_retries=config.max_retries,
        timeout=None,
        executor=ToolExecutor(
            environment.policy, environment.responder, output_dir=environment.output_dir, redact=redact
        ),
        make_context=environment.context,
        make_watch=LoopDetector,
        may_continue=ask_to_continue(environment.responder),
        clock=clock,
        tracker=tracker,
        callbacks=[tracker, LoggingCallback(logger, redact=redact)],
    )


def prompt_maker(
    config: ForgeConfig,
    environment: ToolEnvironment,
    extensions: SessionExtensions,
    agent: ForgeAgent,
    provider: SessionProvider,
    style: SessionStyle,
) -> PromptMaker:
    """Return the function that returns the system prompt of a mode, at this moment."""
    from forge_core.context.instructions import instructions_for
    from forge_core.context.output_style import DEFAULT
    from forge_core.context.system_prompt import SystemPrompt, system_prompt
    from forge_core.session.agents.agent_prompt import agents_section
    from forge_core.tools.builtin.skill import SkillTool
    from forge_core.tools.builtin.task import TaskTool
    from forge_core.workspace.commit_trailers import READ_ONLY, instruction
    from forge_core.workspace.git import branch
    from forge_core.workspace.worktrees import is_own_worktree

    root = config.working_dir

    def sections(tools: Iterable[BaseTool], role: str) -> Sequence[str]:
        """Return the lists of skills, agents and deferred tools, each if its tool is there. The role of a
        sub-agent says which tools it finds."""
        kinds = {type(tool) for tool in tools}
        skills = environment.skills.listing(provider.context_window(agent.model_name))
        agents = agents_section(extensions.agents) if TaskTool in kinds else ""
        deferred = "" if role or environment.deferred is None else environment.deferred.listing
        return skills.text if SkillTool in kinds else "", agents, deferred

    def prompt(
        mode: PermissionMode, tools: Iterable[BaseTool], role: str = "", folder: Path | None = None
    ) -> SystemPrompt:
        here = folder or root
        is_held = environment.sandbox is not None and is_own_worktree(here, config.state_dir)
        omitted, state = environment.omitted_instructions, environment.sandbox_state
        added = environment.policy.folders.added
        found = instructions_for(config, added).files
        instructions = tuple(one for one in found if str(one.file) not in omitted)
        # The report of a sub-agent is for the model.
        chosen = DEFAULT if role else style.current()
        text = system_prompt(
            here,
            mode,
            added=() if folder else added,
            branch=branch(here),
            commits=READ_ONLY if is_held else instruction(config.git_attribution, agent.model_name),
            instructions=instructions,
            sandbox=state,
            tools=tools,
            role=role,
            sections=sections(tools, role),
            style=chosen,
        )
        return SystemPrompt(text, instructions, chosen)

    return prompt
