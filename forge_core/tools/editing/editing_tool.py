"""The common base of the tools that edit files."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.result import FileDiff
from forge_core.tools.arguments import text_of
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult, ToolUse
from forge_core.tools.editing.file_changes import PlannedChange, commit, file_locks, write_target
from forge_core.tools.paths import display_path, locate


class EditingTool(BaseTool):
    """A tool that works out all changes of a call, by default to the one file it names, and then makes all or
    none of them."""

    category = ToolCategory.FILE
    effect = Effect.WRITE
    kind = ToolKind.WRITE
    title = "Edit"
    action = "edit a file"

    @abstractmethod
    def plan(self, params: dict[str, Any], context: ExecutionContext) -> list[PlannedChange]:
        """Return the changes of all files. Raise ToolError if an edit cannot be made. Runs in a thread."""

    def paths(self, params: dict[str, Any], context: ExecutionContext) -> Sequence[Path]:
        """Return the absolute paths of the files that the call names. May raise ToolError."""
        return [locate(params["file_path"], context)]

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        async with file_locks(write_target(path, context)[0].path for path in self.paths(params, context)):
            await self._refuse_unsaved(params, context)
            changes = await asyncio.to_thread(self.plan, params, context)
            if all(change.data == change.before for change in changes):
                names = ", ".join(change.name for change in changes)
                output = f"{names} already has exactly this content. Nothing was written."
                return ToolResult(True, output, summary="no change")
            return await commit(changes, context)

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "path", "file_path")

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        return ToolUse(Effect.WRITE, params["file_path"], tuple(self.paths(params, context)))

    async def _refuse_unsaved(self, params: dict[str, Any], context: ExecutionContext) -> None:
        """Raise ToolError if the user has changed a file in the editor: one of both changes would be lost."""
        for path in self.paths(params, context) if context.unsaved is not None else ():
            assert context.unsaved is not None
            if await context.unsaved.unsaved_text(path) is not None:
                raise ToolError(
                    f"{display_path(path, context)!r} has unsaved changes in the editor. Nothing was "
                    "written. Ask the user to save or discard them, then read the file again."
                )

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        await self._refuse_unsaved(params, context)
        changes = await asyncio.to_thread(self.plan, params, context)
        return tuple(
            [await asyncio.to_thread(change.diff) for change in changes if not change.is_reported_elsewhere]
        )
