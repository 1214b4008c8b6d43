"""What a session's tools work with, and the agent over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from forge_core.approval import Approver, Questioner
    from forge_core.config.models import ForgeConfig, PermissionMode
    from forge_core.langchain.agent import ForgeAgent
    from forge_core.session.workbench import Workbench


def build_workbench(
    config: ForgeConfig, session_id: str, approver: Approver, questioner: Questioner | None
) -> Workbench:
    """The policy, and everything that calls share."""
    from forge_core.permissions.policy import PermissionPolicy
    from forge_core.session.person import Person
    from forge_core.session.workbench import Workbench
    from forge_core.store.paths import outputs_dir

    policy = PermissionPolicy(
        root=config.working_dir, mode=config.permission_mode, allow=config.allow, deny=config.deny
    )
    return Workbench(
        working_dir=config.working_dir,
        policy=policy,
        person=Person(approver, questioner),
        output_dir=outputs_dir(config.state_dir, session_id),
    )


def build_agent(config: ForgeConfig, llm: BaseChatModel, bench: Workbench) -> ForgeAgent:
    """An agent whose every call goes through the policy."""
    from forge_core.langchain.agent import ForgeAgent
    from forge_core.session.loop import LoopDetector, asking_to_go_on
    from forge_core.tools.executor import ToolExecutor
    from forge_core.tools.registry import builtin_tools

    agent = ForgeAgent(
        llm=llm,
        tools=builtin_tools(),
        max_iterations=config.max_iterations,
        timeout=None,
        executor=ToolExecutor(bench.policy, bench.person.approve, output_dir=bench.output_dir),
        make_context=bench.context,
        make_watch=LoopDetector,
        go_on=asking_to_go_on(bench.person.ask),
    )
    bench.person.agent = agent
    return agent


def prompt_maker(config: ForgeConfig) -> Callable[[PermissionMode], str]:
    """Gives the system prompt of a mode."""
    from forge_core.context.system_prompt import system_prompt
    from forge_core.workspace.git import branch

    root = config.working_dir
    return lambda mode: system_prompt(root, mode, branch=branch(root))
