"""Changes to files, planned before anything is written, and then made all or none."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from forge_core.errors import ToolError
from forge_core.permissions.path_info import real_path
from forge_core.result import FileDiff
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.editing.atomic_write import (
    FileAttributes,
    WriteTarget,
    check_writable,
    read_file,
    remove_file,
    write_file,
)
from forge_core.tools.editing.content_checks import refuse_placeholders, syntax_warning
from forge_core.tools.editing.diff import file_diff
from forge_core.tools.editing.text import sha256
from forge_core.tools.paths import MAX_TEXT_BYTES, display_path, file_status, link_free_base, read_bytes

if TYPE_CHECKING:
    from forge_core.permissions.sandbox.sandbox import Sandbox

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """The planned new state of one file."""

    target: WriteTarget
    name: str
    """For people and the model."""
    data: bytes | None
    """None: the file is deleted."""
    before: bytes | None
    """None: the file is new."""
    old_text: str
    new_text: str
    note: str = ""
    """What the model should know of how it was matched."""
    attributes: FileAttributes | None = None
    """Of the existing file, or those for a new one."""
    moved_from: str = ""
    """The name of the file that is deleted when this one is created."""
    is_reported_elsewhere: bool = False
    """Another change of the call reports this one."""

    @property
    def path(self) -> Path:
        return self.target.path

    def diff(self) -> FileDiff:
        name = f"{self.moved_from} \u2192 {self.name}" if self.moved_from else self.name
        return file_diff(name, self.old_text, self.new_text)


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """A file as it is."""

    target: WriteTarget
    name: str
    data: bytes
    attributes: FileAttributes

    def changed(self, data: bytes | None, old_text: str, new_text: str, note: str = "") -> PlannedChange:
        return PlannedChange(
            self.target, self.name, data, self.data, old_text, new_text, note, self.attributes
        )


def write_target(path: Path, context: ExecutionContext) -> tuple[WriteTarget, str]:
    """Return the real path to write to, and its display name."""
    real = real_path(path)
    may_have_links = context.agreed is None or real in context.agreed_links
    return WriteTarget(real, link_free_base(real, context), may_have_links), display_path(path, context)


def current_file(path: Path, context: ExecutionContext) -> CurrentFile:
    """Return the file at `path`, following links once, if it may be changed.

    Raise ToolError if it is not a regular file, is too large or read-only, or has changed since the model
    read it.
    """
    if file_status(path, context).st_size > MAX_TEXT_BYTES:
        read_bytes(path, context)
    target, name = write_target(path, context)
    try:
        data, attributes = read_file(target, MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise ToolError(f"{name!r} cannot be opened: {error.strerror or error}.") from error
    if len(data) > MAX_TEXT_BYTES:
        raise ToolError(f"{name!r} has grown to over {MAX_TEXT_BYTES // 2**20} MB and cannot be edited.")
    check_writable(target.path)
    seen = context.files.get(str(target.path))
    if seen is not None and seen != sha256(data):
        raise ToolError(
            f"{name!r} has changed since you read it. Nothing was written. Read it again, then repeat the "
            "edit."
        )
    return CurrentFile(target, name, data, attributes)


async def commit(changes: Sequence[PlannedChange], context: ExecutionContext) -> ToolResult:
    """Make all changes or none. Once writing has begun it is completed, even if the call is cancelled."""
    for change in changes:
        _check_judged(change, context)
        await asyncio.to_thread(check_writable, change.path)
    if context.before_images is not None:
        for change in changes:
            await context.before_images.capture(change.path)
    return await _finish(_write_and_report(changes, context), context)


async def _write_and_report(changes: Sequence[PlannedChange], context: ExecutionContext) -> ToolResult:
    await asyncio.to_thread(_write_protected, changes, context.sandbox)
    for change in changes:
        if change.data is None:
            context.files.pop(str(change.path), None)
        else:
            context.record_read(change.path, sha256(change.data))
    return await asyncio.to_thread(
        _result, [change for change in changes if not change.is_reported_elsewhere]
    )


def _check_judged(change: PlannedChange, context: ExecutionContext) -> None:
    """Raise ToolError if the path now leads to another place than the one that the policy judged.

    Without a policy, a link must not lead out of the workspace.
    """
    if context.agreed is not None:
        if change.path not in context.agreed:
            raise ToolError(
                f"{change.name!r} now leads to {str(change.path)!r}, which is not what was approved: a link "
                "was put into its path in the meantime. Nothing was written."
            )
        return
    if not Path(change.name).is_absolute() and not change.path.is_relative_to(real_path(context.root)):
        raise ToolError(
            f"{change.name!r} leads out of the workspace, to {str(change.path)!r}. Nothing was written. Name "
            "that path itself if you mean it."
        )


async def _finish(making: Coroutine[Any, Any, ToolResult], context: ExecutionContext) -> ToolResult:
    """Complete the writing even if the call is cancelled.

    After an interrupt the call then ends normally, so that the result reports what happened; a hard cancel is
    raised again once the files are complete.
    """
    writing = asyncio.ensure_future(making)
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait({writing})
        task = asyncio.current_task()
        if task is None or context.interrupted is None or not context.interrupted.is_set():
            writing.exception()
            raise
        task.uncancel()
        return writing.result()


def _write_protected(changes: Sequence[PlannedChange], sandbox: Sandbox | None) -> None:
    """Write the files, unless a running sandbox is mounted over one of them.

    Replacing such a file would lift the mount, and with it the protection of the file from the command. No
    sandbox can be set up during this.
    """
    with contextlib.ExitStack() as stack:
        if sandbox is not None:
            with contextlib.suppress(OSError):  # then no other process can set up a sandbox either
                stack.enter_context(sandbox.settled())
            in_use = sandbox.in_use()
            if protected := next((change for change in changes if change.path in in_use), None):
                raise ToolError(
                    f"{protected.name!r} is protected from a background job that is running, and would lose "
                    "that protection. Nothing was written. Stop the job first, or wait until it ends."
                )
        _write_all(changes)


def _write_all(changes: Sequence[PlannedChange]) -> None:
    """Write the changes. Files are deleted last, so that nothing is lost before all others are written."""
    done: list[tuple[PlannedChange, tuple[Path, ...]]] = []
    for change in sorted(changes, key=lambda one: one.data is None):
        try:
            done.append((change, _write(change)))
        except ToolError as error:
            raise ToolError(_roll_back(done, change, error)) from error


def _write(change: PlannedChange) -> tuple[Path, ...]:
    """Write one change and return the folders made for it."""
    expected = None if change.before is None else sha256(change.before)
    if change.data is not None:
        return write_file(change.target, change.data, expected, change.attributes)
    if expected is not None:
        remove_file(change.target, expected)
    return ()


def _roll_back(
    done: Sequence[tuple[PlannedChange, tuple[Path, ...]]], failed: PlannedChange, error: ToolError
) -> str:
    """Restore the files already written and remove the folders made for them; return the error message."""
    left: list[str] = []
    for change, made in reversed(done):
        try:
            if change.before is None:
                remove_file(change.target, sha256(change.data or b""), made)
            else:
                now = None if change.data is None else sha256(change.data)
                write_file(change.target, change.before, now, change.attributes)
        except ToolError as trouble:
            left.append(f"{change.name} ({trouble})")
    if left:
        return (
            f"{failed.name}: {error} These files had been changed before that and could not be restored: "
            f"{'; '.join(left)}. Tell the user, and read them before going on."
        )
    return f"{failed.name}: {error}" + (
        f" The other {len(done)} file{'s' if len(done) > 1 else ''} of this call were restored."
        if done
        else ""
    )


def _result(changes: Sequence[PlannedChange]) -> ToolResult:
    blocks: list[str] = []
    diffs: list[FileDiff] = []
    for change in changes:
        diff = change.diff()
        is_new = change.before is None and not change.moved_from
        verb = "Moved" if change.moved_from else "Created" if is_new else "Edited"
        lines = [diff.diff] if diff.diff and not is_new else []
        if change.data is None:
            verb, lines = "Deleted", []
        else:
            warning = syntax_warning(change.name, None if is_new else change.old_text, change.new_text)
            lines = [warning, *lines] if warning else lines
        blocks.append(
            "\n".join([f"{verb} {diff.path}: +{diff.added} \u2212{diff.removed}{change.note}", *lines])
        )
        diffs.append(diff)
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    files = f" in {len(changes)} files" if len(changes) > 1 else ""
    return ToolResult(
        success=True,
        output="\n\n".join(blocks),
        summary=f"+{added} \u2212{removed}{files}",
        diffs=tuple(diffs),
    )


def new_file(target: WriteTarget, name: str, content: str, context: ExecutionContext) -> PlannedChange:
    """Return a file that does not exist yet. Raise ToolError for content that no file can hold."""
    refuse_placeholders(content, "")
    check_parent(target.path, context)
    return PlannedChange(target, name, _encoded(content), None, "", content)


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            "The content contains half of a surrogate pair, which no text file can contain."
        ) from error


def check_parent(real: Path, context: ExecutionContext) -> None:
    """Raise ToolError when a part of the path is a file."""
    for parent in real.parents:
        if parent.exists():
            if not parent.is_dir():
                raise ToolError(
                    f"{display_path(parent, context)!r} is a file, so nothing can be created below it."
                )
            return


@asynccontextmanager
async def file_locks(paths: Iterable[Path]) -> AsyncIterator[None]:
    """Hold the locks of these real paths, acquired in a global order to prevent deadlocks."""
    loop = id(asyncio.get_running_loop())
    async with AsyncExitStack() as stack:
        for path in sorted({str(path) for path in paths}):
            await stack.enter_async_context(_locks.setdefault((loop, path), asyncio.Lock()))
        yield
