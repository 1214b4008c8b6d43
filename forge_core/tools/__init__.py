"""Tools: what a model may ask for, and the one door through which it is done."""

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
        "ApplyPatchTool": "forge_core.tools.builtin.apply_patch",
        "AskUserTool": "forge_core.tools.builtin.ask_user",
        "BaseTool": "forge_core.tools.base",
        "BashTool": "forge_core.tools.builtin.bash",
        "EditTool": "forge_core.tools.builtin.edit",
        "ExecutionContext": "forge_core.tools.base",
        "GlobTool": "forge_core.tools.builtin.glob",
        "GrepTool": "forge_core.tools.builtin.grep",
        "JobOutputTool": "forge_core.tools.builtin.job_output",
        "JobStopTool": "forge_core.tools.builtin.job_stop",
        "LsTool": "forge_core.tools.builtin.ls",
        "MultiEditTool": "forge_core.tools.builtin.multi_edit",
        "ReadTool": "forge_core.tools.builtin.read",
        "TodoTool": "forge_core.tools.builtin.todo",
        "ToolCategory": "forge_core.tools.base",
        "ToolError": "forge_core.tools.base",
        "ToolExecutor": "forge_core.tools.executor",
        "ToolParameter": "forge_core.tools.base",
        "ToolRegistry": "forge_core.tools.registry",
        "ToolResult": "forge_core.tools.base",
        "ToolUse": "forge_core.tools.base",
        "WriteTool": "forge_core.tools.builtin.write",
        "builtin_tools": "forge_core.tools.registry",
    },
)
