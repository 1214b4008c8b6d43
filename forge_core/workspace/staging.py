"""What a commit would take, and what it would leave, read by hardened calls of git."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.sanitize import safe_line
from forge_core.workspace.change_source import ChangedFile, ChangeStatus, Counts
from forge_core.workspace.commit_hooks import CommitPrograms, commit_programs
from forge_core.workspace.git import GitOutput, branch, require_own_files, run_git
from forge_core.workspace.repository import Repository, find_repository, read_small
from forge_core.workspace.work_tree import DIFF_OPTIONS, MAX_PATCH_BYTES, numstat, raw_entries, untracked_file

SUBJECTS = 20
"""Of the log, from which the style of messages is taken."""
MAX_LISTED = 200
"""Files that are not staged and are listed."""
_TIMEOUT_S = 30.0
_MESSAGES = ("MERGE_MSG", "SQUASH_MSG")
"""Files of the git directory with the message that git has prepared for a merge or the like."""
_UNDER_WAY = {"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedState:
    """The index and the files around it at one moment. Names and texts are untrusted."""

    repository: Repository
    staged: tuple[ChangedFile, ...]
    counts: dict[str, Counts]
    """Of the staged files, by path."""
    unstaged: tuple[ChangedFile, ...]
    """Changed and untracked files, at most `MAX_LISTED`; read only where nothing is staged."""
    unlisted: int
    """How many more there are."""
    conflicts: tuple[str, ...]
    branch: str
    """The branch; a short commit id where HEAD is detached."""
    is_detached: bool
    under_way: str
    """What this commit concludes: "a merge"; empty for none."""
    message: str
    """The message that git has prepared for that."""
    subjects: tuple[str, ...]
    """Of the last commits, the newest first."""
    programs: CommitPrograms
    fingerprint: str
    """Another one as soon as a commit would differ from what this says: in its content, its branch, its
    parents or the programs that it runs."""


class Staging:
    """The index of the repository around a folder."""

    def __init__(self, folder: Path) -> None:
        repository = find_repository(folder)
        if repository is None:
            raise WorkspaceError(f"{str(folder)!r} is in no git repository. `git init` makes one.")
        self.repository = repository

    async def read(self) -> StagedState:
        """Return the state. Raises WorkspaceError."""
        await require_own_files(self.repository)
        staged, stats, unmerged, log, programs = await asyncio.gather(
            self._raw(),
            self._diff("--numstat", "-z"),
            self._git("diff", "--name-only", "--diff-filter=U", "--no-relative", "-O/dev/null", "-z"),
            self._git("log", "-n", str(SUBJECTS), "--no-show-signature", "--no-merges", "--format=%s"),
            commit_programs(self.repository),
        )
        conflicts = tuple(os.fsdecode(name) for name in unmerged.raw.split(b"\0") if name)
        files = tuple(file for file in raw_entries(staged.raw, {*conflicts}) if file.path not in conflicts)
        unstaged = await self._unstaged() if not files else []
        git_dir = self.repository.git_dir
        head = (read_small(git_dir / "HEAD") or "").strip()
        under_way = next((what for name, what in _UNDER_WAY.items() if (git_dir / name).exists()), "")
        prepared = next(filter(None, (read_small(git_dir / name) for name in _MESSAGES)), "")
        return StagedState(
            repository=self.repository,
            staged=files,
            counts=dict(numstat(stats.raw)),
            unstaged=tuple(unstaged[:MAX_LISTED]),
            unlisted=max(len(unstaged) - MAX_LISTED, 0),
            conflicts=conflicts,
            branch=branch(self.repository.top) or "",
            is_detached=bool(head) and not head.startswith("ref:"),
            under_way=under_way,
            message=_without_comments(prepared),
            subjects=() if log.returncode else tuple(line for line in log.stdout.split("\n") if line.strip()),
            programs=programs,
            fingerprint=await self._fingerprint(staged, programs),
        )

    async def patch(
        self, *, context: int, without: Sequence[str] = (), all_as_text: bool = False
    ) -> tuple[str, bool]:
        """Return the staged changes as a unified diff, but for those of some files, and whether it was cut
        after `MAX_PATCH_BYTES`. With `all_as_text`, files that git takes for binary are in it too, by line.

        Raises:
            WorkspaceError: git has failed.
        """
        paths = ["--", *(f":(top,exclude,literal){path}" for path in without)] if without else []
        options = ("--patch", f"-U{context}", *(["--text"] if all_as_text else []), *paths)
        answer = await self._diff(*options, max_bytes=MAX_PATCH_BYTES)
        if answer.returncode and not answer.is_cut:
            raise WorkspaceError(f"git could not read what is staged: {_first_line(answer)}")
        return answer.raw.decode("utf-8", "surrogateescape"), answer.is_cut

    async def fingerprint(self) -> str:
        """Return what `StagedState.fingerprint` is now. Raises WorkspaceError."""
        staged, programs = await asyncio.gather(self._raw(), commit_programs(self.repository))
        return await self._fingerprint(staged, programs)

    async def _fingerprint(self, staged: GitOutput, programs: CommitPrograms) -> str:
        head = await self._git("rev-parse", "--verify", "--quiet", "HEAD")
        files = [read_small(self.repository.git_dir / name) for name in ("HEAD", *_UNDER_WAY)]
        told = repr((staged.raw, head.raw, files, programs))
        return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()

    async def _unstaged(self) -> list[ChangedFile]:
        changed, untracked = await asyncio.gather(
            self._git("diff", *DIFF_OPTIONS, "--no-renames", "--raw", "-z", max_bytes=MAX_PATCH_BYTES),
            self._git("ls-files", "--others", "--exclude-standard", "-z", max_bytes=MAX_PATCH_BYTES),
        )
        names = [os.fsdecode(name) for name in untracked.raw.split(b"\0") if name]
        own = (name for name in names if not name.endswith("/"))  # not a repository of its own
        files = [*raw_entries(changed.raw, set()), *map(untracked_file, own)]
        return [file for file in files if file.status is not ChangeStatus.CONFLICT]

    async def _raw(self) -> GitOutput:
        answer = await self._diff("--raw", "-z", "--no-abbrev")
        if answer.returncode:
            raise WorkspaceError(f"git could not read what is staged: {_first_line(answer)}")
        return answer

    async def _diff(self, *options: str, max_bytes: int | None = None) -> GitOutput:
        return await self._git("diff", "--cached", *DIFF_OPTIONS, *options, max_bytes=max_bytes)

    async def _git(self, *arguments: str, max_bytes: int | None = None) -> GitOutput:
        return await run_git(self.repository.top, *arguments, timeout_s=_TIMEOUT_S, max_bytes=max_bytes)


def _without_comments(message: str) -> str:
    """Return a message that git has prepared, without what it would remove after an editor was closed."""
    text = message.partition("# ------------------------ >8 ------------------------")[0]
    return "\n".join(line for line in text.split("\n") if not line.startswith("#")).strip()


def _first_line(answer: GitOutput) -> str:
    line = next((line for line in answer.stderr.splitlines() if line.strip()), "no reason given")
    return safe_line(line)
