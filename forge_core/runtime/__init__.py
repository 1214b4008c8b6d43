"""Builds a session from its parts. Heavy modules are imported when a session is built."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from forge_core.approval import Approver, PlanReviewer, Questioner, Responder
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.redact import Redactor
    from forge_core.session.event_channel import EventChannel
    from forge_core.session.session import ForgeSession
    from forge_core.store.journal import Journal
    from forge_core.store.saved_session import SavedSession
    from forge_core.tools.base import UnsavedFiles

_TRACING = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


def load_session_config(
    path: str | Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    needs_write: bool = False,
    trust: bool = False,
    worktree_of: Path | None = None,
    is_hermetic: bool = False,
) -> ForgeConfig:
    """Return the settings for a session in `path`; see `forge_core.config.load.load_config`. What the user
    decided about a folder holds in a worktree that Forge has made from it.

    Raises:
        WorkspaceError, ConfigError: with what is wrong and what to do.
    """
    from functools import partial

    from forge_core.config.load import load_config, state_dir
    from forge_core.config.saved_keys import SavedKeys
    from forge_core.llm.choice import choose_endpoint
    from forge_core.runtime.added_folders import absolute_folders, with_added_folders

    state = state_dir(os.environ if environ is None else environ)
    saved = SavedKeys(state)
    named = absolute_folders((flags or {}).get("add_dirs") or ())
    config = load_config(
        path,
        choose_endpoint=choose_endpoint if is_hermetic else partial(choose_endpoint, saved_key=saved.find),
        flags={**(flags or {}), "add_dirs": named or None},
        environ=environ,
        needs_write=needs_write,
        trust=trust,
        worktree_of=worktree_of or _origin_of_worktree(path, state),
        is_hermetic=is_hermetic,
    )
    return with_added_folders(config, named) if config.add_dirs else config


def _origin_of_worktree(path: str | Path | None, state_dir: Path) -> Path | None:
    """Return the folder from which Forge has made the worktree around `path`; None if it is in none."""
    folder = os.path.realpath(path or ".")
    if not folder.startswith(os.path.join(os.path.realpath(state_dir), "")):  # noqa: PTH118
        return None
    from forge_core.workspace.worktrees import project_of

    found = project_of(Path(folder), state_dir)
    return None if found == Path(folder) else found


def build_session(
    config: ForgeConfig,
    approver: Approver,
    questioner: Questioner | None = None,
    plan_reviewer: PlanReviewer | None = None,
    *,
    shows_figures: bool = True,
    resume: str | None = None,
    unsaved: UnsavedFiles | None = None,
) -> ForgeSession:
    """Return a session that checks every tool call against the policy.

    Requests for permission go to `approver`, the model's questions to `questioner`, its plans to
    `plan_reviewer`; without one they are declined. Without `shows_figures` a custom endpoint is not asked for
    the model's context window. `resume` is the id of a saved session to continue, `unsaved` knows the files
    of the user's editor. The first call takes about a second, for the imports; it opens no connection, and no
    file unless it continues a session.

    Raises:
        SessionInUseError: another process has the session `resume` open.
        JournalError: there is no such session, or it cannot be read.
    """
    silence_tracing(os.environ)
    from forge_core.approval import make_responder
    from forge_core.runtime.resuming import open_journal
    from forge_core.session.event_channel import EventChannel

    config, key_problem = with_saved_key(config)
    events, redact = EventChannel(), make_redactor(config)
    events.warnings([key_problem] if key_problem else [])
    journal, saved = open_journal(config, resume, redact, events.error)
    try:
        return _assemble(
            config,
            _User(make_responder(approver, questioner, plan_reviewer), questioner is not None, unsaved),
            journal,
            saved,
            events,
            redact,
            shows_figures=shows_figures,
        )
    except BaseException:
        journal.close()  # or nobody could open the session before this process ends
        raise


class _User(NamedTuple):
    """What a session has of its user."""

    responder: Responder
    is_attended: bool
    unsaved: UnsavedFiles | None


def _assemble(
    config: ForgeConfig,
    user: _User,
    journal: Journal,
    saved: SavedSession | None,
    events: EventChannel,
    redact: Redactor,
    *,
    shows_figures: bool,
) -> ForgeSession:
    """Return the session over a journal that is open."""
    from forge_core.langchain.agent.run_control import RunClock
    from forge_core.langchain.callbacks import TokenTrackingCallback
    from forge_core.runtime import tooling
    from forge_core.runtime.provider_setup import session_provider
    from forge_core.runtime.resuming import continued_config, continued_start, notices_of
    from forge_core.session.session import ForgeSession
    from forge_core.session.session_extensions import SessionExtensions
    from forge_core.session.session_parts import SessionParts
    from forge_core.session.session_style import SessionStyle
    from forge_core.session.tool_environment import SessionResponder

    clock, session_id, extensions = RunClock(), journal.path.stem, SessionExtensions.started(config)
    logger = tooling.session_logger(config, session_id, redact)
    hooks = tooling.build_hooks(config, journal, lambda: environment.policy.mode, events, logger)
    asks = SessionResponder(user.responder, clock, hooks.user_asked)
    style = SessionStyle(config.style, extensions, events.warning)
    budget = tooling.build_budget(config, asks, clock, events, is_attended=user.is_attended)
    known, config = len(config.notices), continued_start(config, saved)
    provider = session_provider(config, events, session_id, learns_windows=shows_figures, admit=budget.admit)
    tracker = TokenTrackingCallback(price=provider.current_price, on_spent=budget.spent)
    environment = tooling.build_environment(config, session_id, asks, events, redact, hooks, user.unsaved)
    config = continued_config(config, saved, environment.sandbox_state)
    agent = tooling.build_agent(config, provider.make_llm, environment, clock, tracker, logger, redact)
    prompts = tooling.prompt_maker(config, environment, extensions, agent, provider, style)
    session = ForgeSession(
        SessionParts(
            id=session_id,
            config=config,
            agent=agent,
            tracker=tracker,
            environment=environment,
            provider=provider,
            journal=journal,
            logger=logger,
            events=events,
            system_prompt=lambda mode: prompts(mode, agent.registry),
            agent_prompt=prompts,
            isolate=lambda folder: tooling.isolated_environment(config, environment, folder),
            is_attended=user.is_attended,
            budget=budget,
            extensions=extensions,
            hooks=hooks,
            style=style,
        )
    )
    if saved is not None:
        session.restore(saved)
        events.warnings([*config.notices[known:], *notices_of(saved, config)])
    return session


def with_saved_key(config: ForgeConfig) -> tuple[ForgeConfig, str]:
    """Return the settings with the endpoint's key if that is in the system keyring, and why it could not be
    read. May block for seconds."""
    from dataclasses import replace

    from forge_core.config.saved_keys import SavedKeys
    from forge_core.errors import ConfigError
    from forge_core.llm.endpoints import SAVED_KEYS

    endpoint = config.endpoint
    if endpoint.api_key is not None or endpoint.key_variable != SAVED_KEYS:
        return config, ""
    try:
        key, problem = SavedKeys(config.state_dir).get(endpoint.base_url), ""
    except ConfigError as error:
        key, problem = None, str(error)
    variable = None if key is None else SAVED_KEYS
    return replace(config, endpoint=replace(endpoint, api_key=key, key_variable=variable)), problem


def make_redactor(config: ForgeConfig | None = None) -> Redactor:
    """Return what removes every key that Forge knows from what it records and prints; without a `config`
    those of the environment."""
    from forge_core.config.load import state_dir
    from forge_core.config.saved_keys import SavedKeys
    from forge_core.llm.endpoints import held_secrets
    from forge_core.redact import Redactor

    saved = SavedKeys(state_dir(os.environ) if config is None else config.state_dir).held()
    if config is None:
        return Redactor(saved + held_secrets(os.environ))
    key = config.endpoint.api_key
    secrets = saved + held_secrets(os.environ, config.endpoint.base_url)
    return Redactor(((key,) if key else ()) + secrets)


def harden_process() -> None:
    """Close this process to the commands that the model runs. For Forge's own programs, not for a library's
    caller: it also means no core dumps."""
    from forge_core.tools.shell.environment import protect_process

    protect_process()


def strict_sandbox_problem(config: ForgeConfig) -> str | None:
    """Return why commands cannot be fully confined here, and what to do; None when they can. Found by a trial
    run."""
    from forge_core.permissions.sandbox.probing import probe_now

    state = probe_now("strict", config.working_dir)
    if state.strength == "full":
        return None
    return (
        f"--sandbox strict, but there is no full sandbox here: {state.reason or state.label}. Nothing was "
        "started. Install what is missing, or start with --sandbox auto."
    )


def silence_tracing(environ: Any) -> list[str]:
    """Turn LangSmith tracing off: it would upload the code that the model sees. Returns what was on."""
    found = [name for name in _TRACING if environ.get(name, "").lower() in ("1", "true", "yes", "on")]
    for name in found:
        environ[name] = "false"
    return found
