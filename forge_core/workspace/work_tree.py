"""Changes of the working tree against HEAD, read by hardened calls of git."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.sanitize import safe_line
from forge_core.workspace.change_source import (
    REST_LEFT_OUT,
    ChangedFile,
    ChangeList,
    ChangeStatus,
    Counts,
    FilePatch,
    quoted,
)
from forge_core.workspace.git import GitOutput, run_git
from forge_core.workspace.repository import Repository, find_repository
from forge_core.workspace.untracked import count_lines, untracked_patch

MAX_PATCH_BYTES = 24 * 1024 * 1024
"""The size at which the patch of one file is truncated, with a remark."""
MAX_UNTRACKED = 20_000
"""Number of untracked files that are listed; the rest is only counted."""
_TIMEOUT_S = 30.0
_WHOLE_FILE = 100_000_000
"""More lines of context than any file has."""
_BATCH = 200
"""Number of untracked files whose lines are counted in one batch."""
_SUBMODULE = "160000"
_LINK = "120000"
DIFF_OPTIONS = (
    # Override settings of the repository that would change the format of the output.
    "--no-color",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=dirty",  # shows a submodule's commit without reading its files
    "--find-renames",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-O/dev/null",
)
_STATUSES = {
    "A": ChangeStatus.ADDED,
    "D": ChangeStatus.DELETED,
    "R": ChangeStatus.RENAMED,
    "C": ChangeStatus.ADDED,
    "U": ChangeStatus.CONFLICT,
}


class WorkTreeChanges:
    """Staged, unstaged and untracked changes together, of the whole repository around a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._repository: Repository | None = None
        self._base = "HEAD"

    async def read(self) -> ChangeList:
        title = "Working tree"
        self._repository = find_repository(self._folder)
        if self._repository is None:
            return ChangeList(
                title, remark="This folder is in no git repository, so there is nothing to compare."
            )
        try:
            self._base = await self._find_base()
            tracked, untracked, unmerged = await asyncio.gather(
                self._diff("--raw", "-z"),
                self._git("ls-files", "--others", "--exclude-standard", "-z", max_bytes=MAX_PATCH_BYTES),
                self._git("diff", "--name-only", "--diff-filter=U", "--no-relative", "-O/dev/null", "-z"),
            )
        except WorkspaceError as error:
            return ChangeList(title, remark=str(error))
        if tracked.returncode or untracked.returncode:
            failed = tracked if tracked.returncode else untracked
            return ChangeList(title, remark=_complaint(failed))
        names = [os.fsdecode(name) for name in untracked.raw.split(b"\0") if name]
        conflicts = {os.fsdecode(name) for name in unmerged.raw.split(b"\0")}
        files = {file.path: file for file in raw_entries(tracked.raw, conflicts)}
        files |= {file.path: file for file in map(untracked_file, names[:MAX_UNTRACKED])}
        shown = tuple(sorted(files.values(), key=lambda file: file.path.split("/")))
        return ChangeList(title, shown, self._remark(len(shown), len(names)))

    async def counts(self, files: Sequence[ChangedFile]) -> AsyncIterator[Mapping[str, Counts]]:
        if self._repository is None or not files:
            return
        if any(file.status is not ChangeStatus.UNTRACKED for file in files):
            try:
                answer = await self._diff("--numstat", "-z")
            except WorkspaceError:
                return  # the list is shown without numbers
            yield dict(numstat(answer.raw))
        names = [file.path for file in files if file.status is ChangeStatus.UNTRACKED]
        for at in range(0, len(names), _BATCH):
            yield await asyncio.to_thread(count_lines, self._repository.top, names[at : at + _BATCH])

    async def patch(self, file: ChangedFile, *, is_whole: bool = False) -> FilePatch:
        if self._repository is None:
            return FilePatch(remark="The repository is gone.")
        if file.status is ChangeStatus.UNTRACKED:
            return await asyncio.to_thread(untracked_patch, self._repository.top, file.path, MAX_PATCH_BYTES)
        context = f"-U{_WHOLE_FILE if is_whole else 3}"
        paths = [f":(top,literal){path}" for path in (file.path, file.old_path) if path]
        try:
            answer = await self._diff("--patch", context, paths=paths, max_bytes=MAX_PATCH_BYTES)
        except WorkspaceError as error:
            return FilePatch(remark=str(error))
        if answer.returncode and not answer.is_cut:
            return FilePatch(remark=_complaint(answer))
        return await asyncio.to_thread(_read, answer, file)

    async def _find_base(self) -> str:
        """Return HEAD, or the id of the empty tree where nothing is committed yet."""
        head = await self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if not head.returncode:
            return "HEAD"
        empty = await self._git("hash-object", "-t", "tree", "/dev/null")
        return empty.stdout.strip() or "HEAD"

    async def _diff(
        self, *options: str, paths: Sequence[str] = (), max_bytes: int | None = None
    ) -> GitOutput:
        return await self._git("diff", *DIFF_OPTIONS, *options, self._base, "--", *paths, max_bytes=max_bytes)

    async def _git(self, *arguments: str, max_bytes: int | None = None) -> GitOutput:
        assert self._repository is not None
        return await run_git(self._repository.top, *arguments, timeout_s=_TIMEOUT_S, max_bytes=max_bytes)

    def _remark(self, shown: int, untracked: int) -> str:
        if untracked > MAX_UNTRACKED:
            return f"{untracked - MAX_UNTRACKED:,} more untracked files are not listed."
        if shown:
            return ""
        return (
            "Nothing differs from the last commit." if self._base == "HEAD" else "There is nothing here yet."
        )


def raw_entries(raw: bytes, conflicts: Set[str]) -> Iterator[ChangedFile]:
    """Parse the output of `git diff --raw -z`."""
    fields = iter(raw.split(b"\0"))
    for head in fields:
        words = head.decode("ascii", "replace").removeprefix(":").split(" ")
        if len(words) != 5:
            continue
        old_mode, new_mode, _, _, letter = words
        old_path = path = os.fsdecode(next(fields, b""))
        if letter[:1] in "RC":
            path = os.fsdecode(next(fields, b""))
        status = _STATUSES.get(letter[:1], ChangeStatus.CHANGED)
        note = _note(old_mode, new_mode, letter)
        is_in_conflict = path in conflicts
        yield ChangedFile(
            path,
            ChangeStatus.CONFLICT if is_in_conflict else status,
            old_path if old_path != path else "",
            "" if is_in_conflict else note,
        )


def _note(old_mode: str, new_mode: str, letter: str) -> str:
    if _SUBMODULE in (old_mode, new_mode):
        return "submodule"
    if letter[:1] == "T":
        return "became a link" if new_mode == _LINK else "no longer a link"
    if letter[:1] in "MR" and old_mode != new_mode:
        return f"mode {old_mode[-3:]} → {new_mode[-3:]}"
    return "link" if new_mode == _LINK else ""


def untracked_file(name: str) -> ChangedFile:
    note = "a repository of its own" if name.endswith("/") else ""
    return ChangedFile(name, ChangeStatus.UNTRACKED, note=note)


def numstat(raw: bytes) -> Iterator[tuple[str, Counts]]:
    """Parse the output of `git diff --numstat -z`; both names of a rename follow in separate fields."""
    fields = iter(raw.split(b"\0"))
    for field in fields:
        added, _, rest = field.partition(b"\t")
        removed, tab, path = rest.partition(b"\t")
        if tab:
            if not path:
                next(fields, b"")
                path = next(fields, b"")
            yield os.fsdecode(path), Counts(_number(added), _number(removed))


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None


def _read(answer: GitOutput, file: ChangedFile) -> FilePatch:
    text = answer.stdout
    if answer.is_cut:
        text = text[: text.rfind("\n") + 1] + REST_LEFT_OUT
    if text.startswith("@@") or "\n@@ " in text:
        return FilePatch(text)
    header = text.split("\n")
    if any(line.startswith("Binary files ") for line in header):
        return FilePatch(text, "Binary: its lines can't be compared.")
    if file.old_path:
        return FilePatch(text, f"Renamed from {quoted(file.old_path)}; its content is the same.")
    if file.note.startswith("mode "):
        return FilePatch(text, f"Only its mode changed: {file.note.removeprefix('mode ')}.")
    if file.status is ChangeStatus.CONFLICT:
        return FilePatch(text, "In conflict: deleted on one side.")
    if file.status in (ChangeStatus.ADDED, ChangeStatus.DELETED):
        return FilePatch(text, "An empty file.")
    return FilePatch(text, "It is unchanged again. Press r to reload the list.")


def _complaint(answer: GitOutput) -> str:
    line = next((line for line in answer.stderr.splitlines() if line.strip()), "no reason given")
    return f"git could not compare: {safe_line(line)}"
