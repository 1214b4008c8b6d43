"""The tools of a session by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from forge_core.tools.base import BaseTool, ToolResult


class ToolRegistry:
    """Tools in the order they were added. A name is taken once: nothing can shadow a built-in tool.

    Besides those that it yields, whose definitions are sent to the model, a registry may have deferred tools,
    which the model only calls by name.
    """

    def __init__(self, tools: Iterable[BaseTool] = (), deferred: Iterable[BaseTool] = ()) -> None:
        """A tool of `deferred` is called in place of a former definition of it in `tools`."""
        self._tools: dict[str, BaseTool] = {}
        for tool in tools:
            self.add(tool)
        self._deferred = {tool.name: tool for tool in deferred}
        self._plain: dict[str, list[str]] | None = None

    @property
    def deferred(self) -> tuple[BaseTool, ...]:
        """The deferred tools."""
        return tuple(self._deferred.values())

    def add(self, tool: BaseTool) -> None:
        """Raise ValueError when the name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"a tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool

    def get(self, name: str) -> BaseTool | None:
        return self._deferred.get(name) or self._tools.get(name)

    def find(self, name: str) -> BaseTool | None:
        """Return the tool of this name; else the only deferred one whose name differs from it in nothing but
        case, separators and `mcp`."""
        if (tool := self.get(name)) is not None or not self._deferred:
            return tool
        if self._plain is None:
            self._plain = {}
            for known in self._deferred:
                self._plain.setdefault(squeezed_name(known), []).append(known)
        same = self._plain.get(squeezed_name(name), ())
        return self._deferred[same[0]] if len(same) == 1 else None

    def unknown(self, name: str) -> ToolResult:
        """Return the result of a call of a tool that does not exist."""
        names = [*self._tools, *self._deferred]
        near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(self._tools) or "none"
        error = f"there is no tool {name!r}.{hint} The tools are: {known}."
        return ToolResult(success=False, error=error, summary="unknown tool", outcome="unknown_tool")

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools or name in self._deferred


def squeezed_name(name: str) -> str:
    """Return a name in small letters without separators and without a leading `mcp`."""
    return re.sub(r"[\W_]+", "", re.sub(r"^\s*mcp[\W_]+", "", name.casefold()))


def builtin_tools() -> list[BaseTool]:
    """Return a fresh set of the built-in tools, those that only read first."""
    from forge_core.tools.builtin.apply_patch import ApplyPatchTool
    from forge_core.tools.builtin.ask_user import AskUserTool
    from forge_core.tools.builtin.bash import BashTool
    from forge_core.tools.builtin.edit import EditTool
    from forge_core.tools.builtin.exit_plan_mode import ExitPlanModeTool
    from forge_core.tools.builtin.glob import GlobTool
    from forge_core.tools.builtin.grep import GrepTool
    from forge_core.tools.builtin.job_output import JobOutputTool
    from forge_core.tools.builtin.job_stop import JobStopTool
    from forge_core.tools.builtin.ls import LsTool
    from forge_core.tools.builtin.multi_edit import MultiEditTool
    from forge_core.tools.builtin.read import ReadTool
    from forge_core.tools.builtin.skill import SkillTool
    from forge_core.tools.builtin.task import TaskTool
    from forge_core.tools.builtin.todo import TodoTool
    from forge_core.tools.builtin.tool_run import ToolRunTool
    from forge_core.tools.builtin.tool_search import ToolSearchTool
    from forge_core.tools.builtin.write import WriteTool

    looking: list[BaseTool] = [ReadTool(), GlobTool(), GrepTool(), LsTool()]
    running: list[BaseTool] = [BashTool(), JobOutputTool(), JobStopTool()]
    writing: list[BaseTool] = [WriteTool(), EditTool(), MultiEditTool(), ApplyPatchTool()]
    session: list[BaseTool] = [TodoTool(), AskUserTool(), ExitPlanModeTool(), SkillTool(), TaskTool()]
    return [*looking, *writing, *running, *session, ToolSearchTool(), ToolRunTool()]
