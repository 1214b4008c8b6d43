"""Forge as an agent of tau2-bench (https://github.com/sierra-research/tau2-bench, 1.x; 0.2's names too).

Imports nothing of tau2 until something here is used; without tau2 that use raises ImportError with the
address to install it from.

Example:
    from forge_core.integrations.tau2 import register
    register()  # tau2 run --agent forge_agent …, also as langchain_agent
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.integrations.tau2.agent import Tau2ForgeAgent as Tau2ForgeAgent
    from forge_core.integrations.tau2.agent import Tau2ForgeState as Tau2ForgeState
    from forge_core.integrations.tau2.agent import create_tau2_forge_agent as create_tau2_forge_agent
    from forge_core.integrations.tau2.command import main as main
    from forge_core.integrations.tau2.command import register as register

    LangChainAgent = Tau2ForgeAgent
    LangChainAgentState = Tau2ForgeState

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.integrations.tau2.agent": (
            "LangChainAgent",
            "LangChainAgentState",
            "Tau2ForgeAgent",
            "Tau2ForgeState",
            "create_tau2_forge_agent",
        ),
        "forge_core.integrations.tau2.command": ("main", "register"),
    },
)
