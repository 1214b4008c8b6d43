"""LangGraph's engine under Forge's types, and under WINK's prompts.

`GraphRunner` runs an agent graph, or one of your own, over Forge's chat models and tools and reports it as
Forge's events (needs langgraph and langchain). `LangGraphAdapter` is a provider adapter of WINK, the package
`weakincentives` 0.27: it translates prompts, tools, budgets and errors, and runs them on `GraphRunner`.
Importing this package needs none of them; a constructor names the package that is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.integrations.langgraph.adapter import LangGraphAdapter as LangGraphAdapter
    from forge_core.integrations.langgraph.budget import BudgetTrackingCallback as BudgetTrackingCallback
    from forge_core.integrations.langgraph.checkpointer import SessionCheckpointer as SessionCheckpointer
    from forge_core.integrations.langgraph.configs import LangGraphClientConfig as LangGraphClientConfig
    from forge_core.integrations.langgraph.configs import LangGraphModelConfig as LangGraphModelConfig
    from forge_core.integrations.langgraph.runner import GraphPausedError as GraphPausedError
    from forge_core.integrations.langgraph.runner import GraphRunner as GraphRunner
    from forge_core.integrations.langgraph.wink_errors import detect_throttle as detect_throttle
    from forge_core.integrations.langgraph.wink_tools import ToolExecutionContext as ToolExecutionContext
    from forge_core.integrations.langgraph.wink_tools import bind_wink_tools as bind_wink_tools
    from forge_core.integrations.langgraph.wink_tools import wink_tool_to_langgraph as wink_tool_to_langgraph

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.integrations.langgraph.adapter": ("LangGraphAdapter",),
        "forge_core.integrations.langgraph.budget": ("BudgetTrackingCallback",),
        "forge_core.integrations.langgraph.checkpointer": ("SessionCheckpointer",),
        "forge_core.integrations.langgraph.configs": ("LangGraphClientConfig", "LangGraphModelConfig"),
        "forge_core.integrations.langgraph.runner": ("GraphPausedError", "GraphRunner"),
        "forge_core.integrations.langgraph.wink_errors": ("detect_throttle",),
        "forge_core.integrations.langgraph.wink_tools": (
            "ToolExecutionContext",
            "bind_wink_tools",
            "wink_tool_to_langgraph",
        ),
    },
)
