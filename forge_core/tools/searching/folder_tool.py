"""The common base of the tools that look through a folder."""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.events import Subject
from forge_core.result import FileDiff
from forge_core.tools.arguments import text_of
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult, ToolUse
from forge_core.tools.paths import folder_status, locate, path_unchanged


class FolderTool(BaseTool):
    """A tool that looks through a folder, by default for what matches a pattern.

    The search runs in a thread, which ends soon after the call was cancelled. Its result counts only if the
    folder's path still leads where the policy has judged it.
    """

    category = ToolCategory.SEARCH
    effect = Effect.READ
    kind = ToolKind.LOOK
    timeout_s = 60.0

    @abstractmethod
    def search(self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event) -> ToolResult:
        """Search until `stop` is set. May raise ToolError."""

    def folder(self, params: dict[str, Any], context: ExecutionContext) -> Path:
        """Return the absolute path that the call searches."""
        return locate(params.get("path") or ".", context)

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._search_in_place, params, context, stop)
        finally:
            stop.set()

    def _search_in_place(
        self, params: dict[str, Any], context: ExecutionContext, stop: threading.Event
    ) -> ToolResult:
        with path_unchanged(self.folder(params, context), context):
            return self.search(params, context, stop)

    def target(self, arguments: Mapping[str, Any]) -> str:
        pattern, folder = text_of(arguments, "pattern"), text_of(arguments, "path")
        return pattern if folder in ("", ".") else f"{pattern} in {folder}"

    def subject(self, arguments: Mapping[str, Any]) -> Subject:
        pattern = text_of(arguments, "pattern")
        return Subject("searched", "pattern", pattern, pattern)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        given = params["pattern"] if "pattern" in params else params.get("path") or "."
        return ToolUse(Effect.READ, given, (self.folder(params, context),))

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        await asyncio.to_thread(folder_status, self.folder(params, context), context)
        return ()
