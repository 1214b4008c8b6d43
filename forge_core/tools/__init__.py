"""Tools that the model can call, and the executor that runs them."""

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.tools.base import BaseTool as BaseTool
    from forge_core.tools.base import ExecutionContext as ExecutionContext
    from forge_core.tools.base import ToolCategory as ToolCategory
    from forge_core.tools.base import ToolError as ToolError
    from forge_core.tools.base import ToolParameter as ToolParameter
    from forge_core.tools.base import ToolResult as ToolResult
    from forge_core.tools.base import ToolUse as ToolUse
    from forge_core.tools.builtin.apply_patch import ApplyPatchTool as ApplyPatchTool
    from forge_core.tools.builtin.ask_user import AskUserTool as AskUserTool
    from forge_core.tools.builtin.bash import BashTool as BashTool
    from forge_core.tools.builtin.edit import EditTool as EditTool
    from forge_core.tools.builtin.exit_plan_mode import ExitPlanModeTool as ExitPlanModeTool
    from forge_core.tools.builtin.glob import GlobTool as GlobTool
    from forge_core.tools.builtin.grep import GrepTool as GrepTool
    from forge_core.tools.builtin.job_output import JobOutputTool as JobOutputTool
    from forge_core.tools.builtin.job_stop import JobStopTool as JobStopTool
    from forge_core.tools.builtin.ls import LsTool as LsTool
    from forge_core.tools.builtin.multi_edit import MultiEditTool as MultiEditTool
    from forge_core.tools.builtin.read import ReadTool as ReadTool
    from forge_core.tools.builtin.todo import TodoTool as TodoTool
    from forge_core.tools.builtin.write import WriteTool as WriteTool
    from forge_core.tools.executor import ToolExecutor as ToolExecutor
    from forge_core.tools.registry import ToolRegistry as ToolRegistry
    from forge_core.tools.registry import builtin_tools as builtin_tools

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.tools.base": (
            "BaseTool",
            "ExecutionContext",
            "ToolCategory",
            "ToolError",
            "ToolParameter",
            "ToolResult",
            "ToolUse",
        ),
        "forge_core.tools.builtin.apply_patch": ("ApplyPatchTool",),
        "forge_core.tools.builtin.ask_user": ("AskUserTool",),
        "forge_core.tools.builtin.bash": ("BashTool",),
        "forge_core.tools.builtin.edit": ("EditTool",),
        "forge_core.tools.builtin.exit_plan_mode": ("ExitPlanModeTool",),
        "forge_core.tools.builtin.glob": ("GlobTool",),
        "forge_core.tools.builtin.grep": ("GrepTool",),
        "forge_core.tools.builtin.job_output": ("JobOutputTool",),
        "forge_core.tools.builtin.job_stop": ("JobStopTool",),
        "forge_core.tools.builtin.ls": ("LsTool",),
        "forge_core.tools.builtin.multi_edit": ("MultiEditTool",),
        "forge_core.tools.builtin.read": ("ReadTool",),
        "forge_core.tools.builtin.todo": ("TodoTool",),
        "forge_core.tools.builtin.write": ("WriteTool",),
        "forge_core.tools.executor": ("ToolExecutor",),
        "forge_core.tools.registry": ("ToolRegistry", "builtin_tools"),
    },
)
