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
    from forge_core.integrations.tau2.agent import Tau2ForgeAgent, Tau2ForgeState, create_tau2_forge_agent
    from forge_core.integrations.tau2.command import main, register

    LangChainAgent = Tau2ForgeAgent
    LangChainAgentState = Tau2ForgeState

_HERE = "forge_core.integrations.tau2"
_EXPORTS = {
    "LangChainAgent": f"{_HERE}.agent",
    "LangChainAgentState": f"{_HERE}.agent",
    "Tau2ForgeAgent": f"{_HERE}.agent",
    "Tau2ForgeState": f"{_HERE}.agent",
    "create_tau2_forge_agent": f"{_HERE}.agent",
    "main": f"{_HERE}.command",
    "register": f"{_HERE}.command",
}

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)

__all__ = [
    "LangChainAgent",
    "LangChainAgentState",
    "Tau2ForgeAgent",
    "Tau2ForgeState",
    "create_tau2_forge_agent",
    "main",
    "register",
]
