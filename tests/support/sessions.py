"""Real sessions over a scripted model: everything but the provider is the real thing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forge_core.approval import (
    Answer,
    ApprovalReply,
    ApprovalRequest,
    Approver,
    PlanReviewer,
    Questioner,
    make_responder,
)
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.context.system_prompt import SystemPrompt
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.agent.run_control import RunClock
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.permissions.policy import PermissionPolicy
from forge_core.redact import Redactor
from forge_core.session.budget import SpendingBudget
from forge_core.session.event_channel import EventChannel
from forge_core.session.provider import SessionProvider
from forge_core.session.session import ForgeSession
from forge_core.session.session_extensions import SessionExtensions
from forge_core.session.session_hooks import SessionHooks
from forge_core.session.session_parts import SessionParts
from forge_core.session.session_style import SessionStyle
from forge_core.session.status import ModelChoice
from forge_core.session.tool_environment import SessionResponder, ToolEnvironment
from forge_core.store.journal import Journal
from forge_core.store.spending_ledger import SpendingLedger
from forge_core.tools.base import BaseTool
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.shell.job_table import JobTable
from tests.support.scripted_llm import Piece, ScriptedLLM

SESSION_ID = "20261120-000000-abcdef"


class Answering:
    """An approver that gives the answers it was made with, the last one again; `asked` holds the requests."""

    def __init__(self, *replies: ApprovalReply | Answer) -> None:
        self._replies = [r if isinstance(r, ApprovalReply) else ApprovalReply(r) for r in replies]
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        self.asked.append(request)
        return self._replies[min(len(self.asked), len(self._replies)) - 1]


def scripted_session(
    root: Path,
    replies: Sequence[Sequence[Piece]],
    *,
    tools: Sequence[BaseTool] = (),
    approver: Approver | None = None,
    questioner: Questioner | None = None,
    plan_reviewer: PlanReviewer | None = None,
    mode: PermissionMode = PermissionMode.ASK,
    takes_images: bool = True,
    is_trusted: bool = False,
    **options: Any,
) -> ForgeSession:
    """A session in `root` whose journal is `root/state/journal.jsonl`; the user's own files are in
    `root/own`."""
    config = ForgeConfig(
        working_dir=root,
        endpoint=Endpoint("custom", "http://127.0.0.1:9/v1"),
        model="scripted/model",
        permission_mode=mode,
        state_dir=root / "state",
        config_dir=root / "own",
        own_extensions=(root / "own",),
        is_trusted=is_trusted,
    )
    clock = RunClock()
    responder = make_responder(approver or Answering(Answer.NO), questioner, plan_reviewer)
    events, extensions = EventChannel(), SessionExtensions(config)
    hooks = SessionHooks(
        config,
        SESSION_ID,
        root / "state" / "journal.jsonl",
        lambda: environment.policy.mode,
        events.notify,
        logging.getLogger("tests.scripted_session"),
    )
    environment = ToolEnvironment(
        working_dir=root,
        policy=PermissionPolicy(root=root, mode=mode),
        responder=SessionResponder(responder, clock, hooks.user_asked),
        hooks=hooks,
        output_dir=root / "state" / "outputs",
        jobs=JobTable(events.info, events.figures_changed),
    )
    tracker = TokenTrackingCallback()
    agent = ForgeAgent(
        llm=ScriptedLLM(replies=[list(reply) for reply in replies]),
        tools=tools,
        max_iterations=20,
        timeout=None,
        executor=ToolExecutor(environment.policy, environment.responder),
        make_context=environment.context,
        tracker=tracker,
        callbacks=[tracker],
        clock=clock,
        **options,
    )
    return ForgeSession(
        SessionParts(
            id=SESSION_ID,
            config=config,
            agent=agent,
            tracker=tracker,
            environment=environment,
            provider=SessionProvider(
                label="custom",
                make_llm=lambda model: ScriptedLLM(replies=[["from " + model]], model=model),
                close=nothing,
                context_window=lambda model: 1000,
                takes_images=lambda model: takes_images,
                known_models=lambda: (ModelChoice("other/one", "8k"), ModelChoice("other/two")),
            ),
            journal=Journal(root / "state" / "journal.jsonl", Redactor()),
            logger=logging.getLogger("tests.scripted_session"),
            events=events,
            system_prompt=lambda mode: SystemPrompt(f"You are in {mode} mode."),
            extensions=extensions,
            hooks=hooks,
            style=SessionStyle(config.style, extensions, events.warning),
            budget=SpendingBudget({}, SpendingLedger(root / "state"), environment.responder, clock.elapsed),
        )
    )


async def nothing() -> None:
    """Close no connection: a scripted model has none."""
