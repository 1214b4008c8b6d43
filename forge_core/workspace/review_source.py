"""What a review is about: changes of the work tree, of a range of commits, or a whole file; only read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.sanitize import safe_line
from forge_core.workspace.beneath import open_file, opened_folder
from forge_core.workspace.git import GitOutput, require_own_files, run_git
from forge_core.workspace.patch_lines import PatchLine, patch_lines, text_lines
from forge_core.workspace.repository import Repository, find_repository
from forge_core.workspace.untracked import untracked_patch
from forge_core.workspace.work_tree import DIFF_OPTIONS, MAX_PATCH_BYTES, raw_entries

MAX_FILE_BYTES = 2 * 1024 * 1024
"""Of a file that is reviewed, or that a finding is checked against."""
MAX_UNTRACKED = 200
CONTEXT_LINES = 8
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file with the lines to review."""

    path: str
    """Relative to `ReviewSource.top`; untrusted."""
    lines: tuple[PatchLine, ...]
    """Of a whole file, lines without a change."""
    old_path: str = ""
    """Where the removed lines were, if that was elsewhere."""


class ReviewSource:
    """The files of one review. Paths outside `folder` take no part in it."""

    def __init__(self, folder: Path, title: str, base: str, end: str, file: str = "") -> None:
        """Changes from the commit `base` to the commit `end`, or to the work tree without one; or one whole
        `file`, relative to `folder`."""
        self._folder = folder
        self._base, self._end, self._file = base, end, file
        repository = None if file else find_repository(folder)
        self.top = folder if repository is None else repository.top
        """The folder that paths are relative to."""
        self.title = title
        """What is reviewed, in a few words; safe to show."""

    async def read(self) -> list[ReviewedFile]:
        """Return the files with lines to review, in the order of git. Raises WorkspaceError."""
        if self._file:
            text = await self.content(self._file)
            if text is None:
                raise WorkspaceError(
                    f"{safe_line(self._file)!r} cannot be reviewed: it is binary, larger than 2 MB, a "
                    "link, or outside this folder."
                )
            lines = enumerate(text_lines(text), 1)
            return [
                ReviewedFile(self._file, tuple(PatchLine(self._file, " ", at, line) for at, line in lines))
            ]
        if (repository := find_repository(self._folder)) is not None:
            await require_own_files(repository)
        patch, old_paths = await self._patch()
        patches = [patch, *([] if self._end else await self._untracked())]
        return await asyncio.to_thread(
            lambda: [file for patch in patches for file in _files(patch, old_paths)]
        )

    async def content(self, path: str) -> str | None:
        """Return the text of a file as it is reviewed; None if there is none."""
        if self._end:
            answer = await self._git("cat-file", "blob", f"{self._end}:{path}", max_bytes=MAX_FILE_BYTES)
            data = None if answer.returncode or answer.is_cut else answer.raw
        else:
            data = await asyncio.to_thread(_read, self.top, path)
        return None if data is None or b"\0" in data else data.decode("utf-8", "replace")

    async def _patch(self) -> tuple[str, Mapping[str, str]]:
        """Return the diff, and the previous paths of files that were renamed."""
        commits = [self._base, *([self._end] if self._end else [])]
        options, what = (*DIFF_OPTIONS, "--diff-filter=d"), (*commits, "--", ".")
        answer, raw = await asyncio.gather(
            self._git("diff", *options, "-p", f"-U{CONTEXT_LINES}", *what, max_bytes=MAX_PATCH_BYTES),
            self._git("diff", *options, "--raw", "-z", *what, max_bytes=MAX_PATCH_BYTES),
        )
        for one in (raw, answer):
            if one.returncode and not one.is_cut:
                raise WorkspaceError(f"git could not compare: {safe_line(one.stderr.strip()[:200])}")
        old_paths = {file.path: file.old_path for file in raw_entries(raw.raw, set())}
        return answer.raw.decode("utf-8", "surrogateescape"), old_paths

    async def _untracked(self) -> list[str]:
        options = ("--others", "--exclude-standard", "--full-name", "-z")
        listed = await self._git("ls-files", *options, "--", ".", max_bytes=MAX_PATCH_BYTES)
        names = [os.fsdecode(name) for name in listed.raw.split(b"\0") if name][:MAX_UNTRACKED]
        return await asyncio.to_thread(
            lambda: [untracked_patch(self.top, name, MAX_FILE_BYTES).text for name in names]
        )

    async def _git(self, *arguments: str, max_bytes: int) -> GitOutput:
        return await run_git(self._folder, *arguments, timeout_s=_TIMEOUT_S, max_bytes=max_bytes)


async def review_source(folder: Path, target: str) -> ReviewSource:
    """Return what `target` names: a file in `folder`, a range `A..B` or `A...B`, a commit since which the
    changes are reviewed, or nothing for the changes that are not committed.

    Raises:
        WorkspaceError: it names none of these.
    """
    if target and (file := _file_named(folder, target)):
        return ReviewSource(folder, safe_line(target), "", "", file)
    repository = find_repository(folder)
    if repository is None:
        raise WorkspaceError(
            f"{safe_line(target)!r} is no file here, and {str(folder)!r} is in no git repository."
            if target
            else f"{str(folder)!r} is in no git repository: name a file, as in /review FILE."
        )
    if not target:
        base = await _commit(repository, "HEAD") or await _empty_tree(repository)
        return ReviewSource(folder, "changes that are not committed", base, "")
    first, dots, last = target.partition("...") if "..." in target else target.partition("..")
    base = await _commit(repository, first or "HEAD")
    end = await _commit(repository, last or "HEAD") if dots else ""
    if not base or (dots and not end):
        raise WorkspaceError(
            f"{safe_line(target)!r} is neither a file here nor a commit, a branch, or a range (main..HEAD)."
        )
    if dots != "..":
        base = await _merge_base(repository, base, end or "HEAD")
    title = safe_line(target) if dots else f"changes since {safe_line(target)}"
    return ReviewSource(folder, title, base, end)


async def _commit(repository: Repository, name: str) -> str:
    """Return the id of a commit; empty if there is none of this name."""
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = await run_git(repository.top, *asked)
    return "" if found.returncode else found.stdout.strip()


async def _merge_base(repository: Repository, first: str, second: str) -> str:
    found = await run_git(repository.top, "merge-base", first, second)
    if found.returncode:
        raise WorkspaceError("These commits have no common ancestor. Name a range such as A..B.")
    return found.stdout.strip()


async def _empty_tree(repository: Repository) -> str:
    return (await run_git(repository.top, "hash-object", "-t", "tree", "/dev/null")).stdout.strip()


def _files(patch: str, old_paths: Mapping[str, str]) -> Iterator[ReviewedFile]:
    for path, lines in groupby(patch_lines(patch), lambda line: line.path):
        if path:
            yield ReviewedFile(path, tuple(lines), old_paths.get(path, ""))


def _file_named(folder: Path, name: str) -> str:
    """Return the path of a file relative to `folder`; empty if there is none of this name."""
    try:
        return os.path.relpath(folder / name, folder) if (folder / name).is_file() else ""
    except (OSError, ValueError):
        return ""


def _read(top: Path, path: str) -> bytes | None:
    """Return the content of a regular file below `top`, without following a link; None if it is too large."""
    try:
        real = Path(os.path.realpath(top))
        with opened_folder((real / path).parent, real) as parent:
            last = os.path.basename(path)  # noqa: PTH119
            with open_file(last, os.O_NOFOLLOW, dir_fd=parent) as file:
                data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError):
        return None
    return None if len(data) > MAX_FILE_BYTES else data
