"""A change to one file, worked out before anything is written: what edit and write share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.permissions.paths import real_path
from forge_core.result import FileDiff
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.editing.checks import syntax_warning
from forge_core.tools.editing.diff import file_diff
from forge_core.tools.editing.store import check_writable, write_file
from forge_core.tools.editing.text import sha256
from forge_core.tools.paths import shown


@dataclass(frozen=True, slots=True)
class Change:
    """New bytes for a file."""

    path: Path
    """The real path, links resolved."""
    name: str
    """For people and the model."""
    data: bytes
    before: bytes | None
    """None for a new file."""
    old_text: str
    new_text: str
    note: str = ""
    """What the model should know of how it was matched."""

    def diff(self) -> FileDiff:
        return file_diff(self.name, self.old_text, self.new_text)


def target_of(path: Path, context: ExecutionContext) -> tuple[Path, str]:
    """The real path to write to, and its name for people."""
    return real_path(path), shown(path, context)


def check_fresh(real: Path, name: str, data: bytes, context: ExecutionContext) -> None:
    """Raises ToolError when the model has seen other bytes than are there now."""
    seen = context.files.get(str(real))
    if seen is not None and seen != sha256(data):
        raise ToolError(
            f"{name!r} has changed since you read it. Nothing was written. Read it again, then make the "
            "edit anew."
        )


async def commit(change: Change, context: ExecutionContext) -> ToolResult:
    """Writes the change. Once writing has begun it is finished, also when the call is cancelled meanwhile."""
    await asyncio.to_thread(check_writable, change.path)
    if context.before_images is not None:
        await context.before_images.capture(change.path)
    expected = None if change.before is None else sha256(change.before)
    await _to_the_end(change, expected, context)
    context.files[str(change.path)] = sha256(change.data)
    diff, warning = await asyncio.to_thread(_afterthoughts, change)
    verb = "Created" if change.before is None else "Edited"
    lines = [f"{verb} {change.name}: +{diff.added} \u2212{diff.removed}{change.note}"]
    lines += [warning] if warning else []
    return ToolResult(
        success=True,
        output="\n".join(lines) + (f"\n{diff.diff}" if change.before is not None else ""),
        summary=f"+{diff.added} \u2212{diff.removed}",
        diffs=(diff,),
        metadata={"path": str(change.path), "sha256": sha256(change.data)},
    )


async def _to_the_end(change: Change, expected: str | None, context: ExecutionContext) -> None:
    """Writes without being torn away from it. After an interrupt the call then ends as if there had been
    none, so that what is told is what happened; a hard cancel goes on once the file is whole."""
    writing = asyncio.ensure_future(asyncio.to_thread(write_file, change.path, change.data, expected))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait({writing})
        task = asyncio.current_task()
        if task is None or context.interrupted is None or not context.interrupted.is_set():
            writing.exception()
            raise
        task.uncancel()
        writing.result()


def _afterthoughts(change: Change) -> tuple[FileDiff, str | None]:
    before = None if change.before is None else change.old_text
    return change.diff(), syntax_warning(change.name, before, change.new_text)
