"""LangGraph's engine under Forge's types, and under WINK's prompts.

`GraphRunner` runs an agent graph, or one of your own, over Forge's chat models and tools and tells of it in
Forge's events (needs langgraph and langchain). `LangGraphAdapter` is a provider adapter of WINK, the package
`weakincentives` 0.27: it translates prompts, tools, budgets and errors, and lets `GraphRunner` run. None of
them is needed to import this package; what is missing is named when something is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.integrations.langgraph.adapter import LangGraphAdapter
    from forge_core.integrations.langgraph.budget import BudgetTrackingCallback
    from forge_core.integrations.langgraph.checkpointer import SessionCheckpointer
    from forge_core.integrations.langgraph.configs import LangGraphClientConfig, LangGraphModelConfig
    from forge_core.integrations.langgraph.runner import GraphPausedError, GraphRunner
    from forge_core.integrations.langgraph.wink_errors import detect_throttle
    from forge_core.integrations.langgraph.wink_tools import (
        ToolExecutionContext,
        bind_wink_tools,
        wink_tool_to_langgraph,
    )

_HERE = "forge_core.integrations.langgraph"
_EXPORTS = {
    "BudgetTrackingCallback": f"{_HERE}.budget",
    "GraphPausedError": f"{_HERE}.runner",
    "GraphRunner": f"{_HERE}.runner",
    "LangGraphAdapter": f"{_HERE}.adapter",
    "LangGraphClientConfig": f"{_HERE}.configs",
    "LangGraphModelConfig": f"{_HERE}.configs",
    "SessionCheckpointer": f"{_HERE}.checkpointer",
    "ToolExecutionContext": f"{_HERE}.wink_tools",
    "bind_wink_tools": f"{_HERE}.wink_tools",
    "detect_throttle": f"{_HERE}.wink_errors",
    "wink_tool_to_langgraph": f"{_HERE}.wink_tools",
}

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)

__all__ = [
    "BudgetTrackingCallback",
    "GraphPausedError",
    "GraphRunner",
    "LangGraphAdapter",
    "LangGraphClientConfig",
    "LangGraphModelConfig",
    "SessionCheckpointer",
    "ToolExecutionContext",
    "bind_wink_tools",
    "detect_throttle",
    "wink_tool_to_langgraph",
]
