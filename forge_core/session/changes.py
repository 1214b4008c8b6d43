"""Changes in files: those of the session's last turn, and those of the working tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import CONTEXT_LINES, unified_diff
from forge_core.tools.editing.text import decode, replace_bad_bytes
from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.report import TurnFiles, TurnView
from forge_core.undo.undo_store import UndoStore
from forge_core.workspace.change_source import (
    ChangedFile,
    ChangeList,
    ChangeSource,
    ChangeStatus,
    Counts,
    FilePatch,
    header,
    quoted,
)
from forge_core.workspace.work_tree import MAX_PATCH_BYTES, WorkTreeChanges

Source: TypeAlias = Literal["turn", "worktree"]

_WHOLE_FILE = 100_000_000
_MAX_NAMED = 5
_MOVED = "moved from "
_BATCH_BYTES = 4_000_000
"""Of the files that are counted in one go."""


def changes_of(source: Source, folder: Path, undo: UndoStore | None) -> ChangeSource:
    """Return the changes in files of the last turn, or of the working tree around `folder` against HEAD."""
    return TurnChanges(undo) if source == "turn" else WorkTreeChanges(folder)


class TurnChanges:
    """The changes of the last (or running) turn, from the images that undo keeps."""

    def __init__(self, undo: UndoStore | None) -> None:
        self._undo = undo
        self._changes: Mapping[str, FileChange] = {}
        self.turn = 0
        """The number of the turn that was read; 0 if there is none whose changes can be reverted."""

    async def read(self) -> ChangeList:
        title = "Last turn"
        if self._undo is None:
            return ChangeList(
                title, remark="Undo is off in this session: nothing is kept of what tools change."
            )
        turn = await self._undo.last_turn()
        if turn is None:
            return ChangeList(title, remark="There was no turn in this session yet.")
        if turn.view.is_undone:
            return ChangeList(
                title, remark="What the last turn did to files is undone. /redo brings it back."
            )
        self._changes, self.turn = turn.changes, turn.view.number
        files = tuple(_files(turn))
        return ChangeList(f"{title}: {turn.view.text}", files, _remark(turn.view, bool(files)))

    def changes_of(self, file: ChangedFile) -> tuple[FileChange, ...]:
        """Return the changes that a revert of the whole file takes back, as they were read.

        Folders that the turn has created or deleted for this file alone are included, and so is all below a
        folder that has replaced it, or that it has replaced. Empty for a file that is not among the changes.
        """
        change = self._changes.get(file.path)
        if change is None:
            return ()
        names = [file.path, *([file.old_path] if file.old_path else [])]
        if EntryKind.FOLDER in (change.before.kind, change.after.kind):
            names += [name for name in self._changes if name.startswith(f"{file.path}/")]
        return tuple(self._changes[name] for name in [*names, *self._own_folders(names)])

    def _own_folders(self, names: Sequence[str]) -> list[str]:
        """Return the folders above some files that came or went with them, and with no other file."""
        found: list[str] = []
        for name in names:
            folder = name.rpartition("/")[0]
            while (change := self._changes.get(folder)) is not None:
                below = [other for other in self._changes if other.startswith(f"{folder}/")]
                is_shared = any(other not in (*names, *found) for other in below)
                if change.after != ABSENT and (change.before != ABSENT or is_shared):
                    break
                found.append(folder)
                folder = folder.rpartition("/")[0]
        return found

    async def sides(self, file: ChangedFile) -> tuple[bytes, bytes] | None:
        """Return the content of a file before and after the turn; None if it is not kept or is too large."""
        ((before, after),) = await self._contents([file])
        if before is None or after is None or len(before) + len(after) > MAX_PATCH_BYTES:
            return None
        return before, after

    async def counts(self, files: Sequence[ChangedFile]) -> AsyncIterator[Mapping[str, Counts]]:
        batch: list[ChangedFile] = []
        size = 0
        for number, file in enumerate(files, 1):
            batch.append(file)
            size += sum(image.size for image in self._images(file))
            if size >= _BATCH_BYTES or number == len(files):
                sides = await self._contents(batch)
                yield await asyncio.to_thread(_count, dict(zip(batch, sides, strict=True)))
                batch, size = [], 0

    async def patch(self, file: ChangedFile, *, is_whole: bool = False) -> FilePatch:
        (sides,) = await self._contents([file])
        return await asyncio.to_thread(_patch, file, self._images(file), sides, is_whole)

    async def _contents(self, files: Sequence[ChangedFile]) -> list[tuple[bytes | None, bytes | None]]:
        """Return the content of each file before and after; None where it is not kept."""
        images = [image for file in files for image in self._images(file)]
        wanted = [image for image in images if image.kind is EntryKind.FILE]
        kept = await self._undo.contents(wanted) if self._undo is not None and wanted else ()
        found = dict(zip(map(_key, wanted), kept, strict=True))
        sides = [
            _other_content(image) if image.kind is not EntryKind.FILE else found[_key(image)]
            for image in images
        ]
        return list(zip(sides[::2], sides[1::2], strict=True))

    def _images(self, file: ChangedFile) -> tuple[FileState, FileState]:
        change = self._changes.get(file.path)
        if change is None:
            return ABSENT, ABSENT
        moved = self._changes.get(file.old_path)
        return (moved.before if moved is not None else change.before), change.after


def _files(turn: TurnFiles) -> list[ChangedFile]:
    files = []
    moved = {what.removeprefix(_MOVED) for _, what in turn.view.changes if what.startswith(_MOVED)}
    for name, what in turn.view.changes:
        change = turn.changes[name]
        is_folder = {change.before.kind, change.after.kind} <= {EntryKind.FOLDER, EntryKind.ABSENT}
        if (is_folder and what != "mode changed") or name in moved:
            continue
        old = what.removeprefix(_MOVED) if what.startswith(_MOVED) else ""
        files.append(ChangedFile(name, _status(change, old), old, _note(change)))
    return sorted(files, key=lambda file: file.path.split("/"))


def _status(change: FileChange, old_path: str) -> ChangeStatus:
    if old_path:
        return ChangeStatus.RENAMED
    if change.before.kind is EntryKind.ABSENT:
        return ChangeStatus.ADDED
    return ChangeStatus.DELETED if change.after.kind is EntryKind.ABSENT else ChangeStatus.CHANGED


def _note(change: FileChange) -> str:
    before, after = change.before, change.after
    if ABSENT not in (before, after) and before.kind is not after.kind:
        return f"was a {before.kind}, is a {after.kind}"
    if before.kind is after.kind is not EntryKind.LINK and before.mode != after.mode:
        return f"mode {before.mode:o} → {after.mode:o}"
    return "link" if EntryKind.LINK in (before.kind, after.kind) else ""


def _remark(view: TurnView, has_files: bool) -> str:
    remarks = []
    if view.doubtful:
        names = ", ".join(name for name, _ in view.doubtful[:_MAX_NAMED])
        more = f" and {len(view.doubtful) - _MAX_NAMED} more" if len(view.doubtful) > _MAX_NAMED else ""
        remarks.append(f"Changed while a command ran, perhaps by you, and not shown: {names}{more}.")
    if view.not_undoable:
        remarks.append(f"Not kept: {'; '.join(view.not_undoable)}.")
    if remarks:
        return " ".join(remarks)
    return "" if has_files else "The last turn changed no files."


def _key(image: FileState) -> tuple[str, int]:
    return image.digest, image.size


def _other_content(image: FileState) -> bytes:
    """Return the content that represents an entry other than a file: the target of a link."""
    return image.target.encode("utf-8", "surrogateescape") if image.kind is EntryKind.LINK else b""


def _count(sides: Mapping[ChangedFile, tuple[bytes | None, bytes | None]]) -> Mapping[str, Counts]:
    counts: dict[str, Counts] = {}
    for file, (before, after) in sides.items():
        texts = _texts(before, after)
        diff = unified_diff(file.path, *texts) if texts is not None else None
        counts[file.path] = Counts(None, None) if diff is None else Counts(diff.added, diff.removed)
    return counts


def _texts(before: bytes | None, after: bytes | None) -> tuple[str, str] | None:
    """Both sides as text, exactly; None where one is not kept, too large or binary."""
    if before is None or after is None or len(before) + len(after) > MAX_PATCH_BYTES:
        return None
    try:
        return decode(before).text, decode(after).text
    except ToolError:
        return None


def _patch(
    file: ChangedFile,
    images: tuple[FileState, FileState],
    sides: tuple[bytes | None, bytes | None],
    is_whole: bool,
) -> FilePatch:
    before, after = sides
    kind = {ChangeStatus.ADDED: "new", ChangeStatus.DELETED: "deleted"}.get(file.status, "")
    mode = images[file.status is not ChangeStatus.DELETED].mode
    head = header(file.path, file.old_path, kind=kind, mode=mode)
    if before is None or after is None:
        return FilePatch(remark="Its content is no longer kept.")
    if before == after:
        return FilePatch(head, _same_bytes(file, images))
    texts = _texts(before, after)
    if texts is None:
        what = "Too large to compare" if len(before) + len(after) > MAX_PATCH_BYTES else "Binary"
        return FilePatch(head, f"{what}: {len(before):,} → {len(after):,} bytes.")
    diff = unified_diff(file.path, *texts, context=_WHOLE_FILE if is_whole else CONTEXT_LINES)
    if not diff.diff:
        return FilePatch(head, "Only its encoding changed.")
    return FilePatch(f"{head}{replace_bad_bytes(diff.diff)}\n")


def _same_bytes(file: ChangedFile, images: tuple[FileState, FileState]) -> str:
    if file.old_path:
        return f"Renamed from {quoted(file.old_path)}; its content is the same."
    if images[0].kind is images[1].kind and images[0].mode != images[1].mode:
        return f"Only its mode changed: {file.note.removeprefix('mode ')}."
    return (
        "An empty file."
        if file.status in (ChangeStatus.ADDED, ChangeStatus.DELETED)
        else "Its lines are the same."
    )
