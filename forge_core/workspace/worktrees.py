"""Git worktrees that Forge creates in its state folder for a session or a task, each on its own branch.

A worktree is removed only if nothing is lost by it, by `git worktree remove` without force, and never because
of its age. Its branch stays. No hook or filter of the repository runs: files of git-lfs are pointers.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import filecmp
import hashlib
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.private_folders import make_private_folder
from forge_core.sanitize import safe_line
from forge_core.workspace.beneath import open_file, opened_folder
from forge_core.workspace.git import GitOutput, run_git
from forge_core.workspace.ignore import IgnoreRules
from forge_core.workspace.repository import Repository, find_repository, read_small

INCLUDE_FILE = ".worktreeinclude"
"""At the top of the work tree, with patterns as in .gitignore: the ignored files that a worktree gets too."""
BRANCH_PREFIX = "forge/"
_FOLDER = "worktrees"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}")
_TIMEOUT_S = 300.0
_MAX_FILES, _MAX_BYTES = 5_000, 200_000_000
"""How much `INCLUDE_FILE` may add."""
_UNFINISHED = "initializing"
"""Why a worktree is locked until git has checked its files out."""
_OWN_REFS = ("refs/bisect/*", "refs/rewritten/*", "refs/worktree/*")
"""Removed with a worktree (git-worktree)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A worktree that Forge has made."""

    path: Path
    """Its top folder."""
    branch: str
    base: str
    """The id of the commit from which the branch starts."""
    repository: Path
    """The top folder of the work tree from which it was made."""
    folder: Path
    """The counterpart of the folder from which it was made, which may be below the top."""
    notices: tuple[str, ...] = ()
    """What was not copied, and why."""


class Worktrees:
    """Makes and removes worktrees below the state folder."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self._root = Path(os.path.realpath(state_dir)) / _FOLDER

    def path_of(self, repository: Repository, name: str) -> Path:
        """Return where the worktree `name` of a repository is, or would be. Raises WorkspaceError if the name
        cannot be one of a branch."""
        return self._folder_of(repository) / _checked(name)

    async def create(self, folder: Path, name: str, ref: str = "HEAD") -> Worktree:
        """Make the worktree `name` from the commit `ref` of the repository around `folder`.

        Raises:
            WorkspaceError: there is no repository or no such commit, or the name is taken.
        """
        repository, branch = _repository(folder), BRANCH_PREFIX + _checked(name)
        path = self._folder_of(repository) / name
        base = await _commit(repository.top, ref)
        async with self._locked(path.parent) as lock:  # git gives two that start at once the same names
            if _is_there(path):
                raise WorkspaceError(f"There is a worktree {name!r} already, in {str(path)!r}.")
            made = await _git(repository.top, "worktree", "add", "-b", branch, str(path), base, lock=lock)
            _removal_of(path).unlink(missing_ok=True)  # of one before it
        if made.returncode:
            reason = safe_line(made.stderr.strip().rpartition("\n")[2])
            raise WorkspaceError(f"The worktree {name!r} could not be made from {ref!r}: {reason}.")
        notices = await _copy_included(repository.top, path)
        return Worktree(
            path=path,
            branch=branch,
            base=base,
            repository=repository.top,
            folder=_counterpart(folder, repository.top, path),
            notices=notices,
        )

    async def open(self, folder: Path, name: str) -> Worktree:
        """Return the worktree `name`. If there is none, it is made: on its branch if that is there from
        before, else from HEAD.

        Raises:
            WorkspaceError: there is no repository, or something else is in its place.
        """
        repository, branch = _repository(folder), BRANCH_PREFIX + _checked(name)
        path = self._folder_of(repository) / name
        notices: tuple[str, ...] = ()
        if not await self.is_left(path):
            if (
                await _git(repository.top, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
            ).returncode:
                return await self.create(folder, name)
            async with self._locked(path.parent) as lock:
                made = await _git(repository.top, "worktree", "add", str(path), branch, lock=lock)
            if made.returncode:
                reason = safe_line(made.stderr.strip().rpartition("\n")[2])
                raise WorkspaceError(f"The worktree {name!r} could not be made on {branch!r}: {reason}.")
            notices = await _copy_included(repository.top, path)
        found = find_repository(path)
        if found is None or found.top != path or not _is_same(found.common_dir, repository.common_dir):
            raise WorkspaceError(f"{str(path)!r} is no worktree of this repository. Use another name.")
        if (read_small(found.git_dir / "locked") or "").strip() == _UNFINISHED:
            raise WorkspaceError(
                f"The worktree {name!r} was left half made, in {str(path)!r}: files may be missing. Use "
                "another name, or remove it with `git worktree remove -f -f` if no work of yours is in it."
            )
        await self._restore(repository.top, path)
        return Worktree(
            path=path,
            branch=branch,
            base=await _commit(path, "HEAD"),
            repository=repository.top,
            folder=_counterpart(folder, repository.top, path),
            notices=notices,
        )

    async def remove(self, worktree: Worktree) -> str:
        """Remove a worktree in which nothing would be lost; return why it is kept, or "" if it is gone.

        What git ignores is lost, except for files of `INCLUDE_FILE` that were changed: they keep it.
        """
        try:
            if not _is_there(worktree.path):
                return ""
            if reason := await _reason_to_keep(worktree):
                return reason
            async with self._locked(worktree.path.parent) as lock:
                begun = _removal_of(worktree.path)
                begun.touch()
                removed = await _git(worktree.repository, "worktree", "remove", str(worktree.path), lock=lock)
                begun.unlink(missing_ok=True)
        except OSError as error:
            return f"{str(worktree.path.parent)!r} cannot be written to: {error.strerror}"
        except WorkspaceError as error:
            return str(error)
        return safe_line(removed.stderr.strip()) or "git did not remove it" if removed.returncode else ""

    async def _restore(self, top: Path, path: Path) -> None:
        """Bring back what a removal that was killed has deleted of a worktree. Nothing was to be lost by it,
        and no file that is there is written."""
        begun = _removal_of(path)
        if begun.exists():
            async with self._locked(path.parent) as lock:
                await _git(path, "checkout-index", "--all", "--quiet", lock=lock)
                await _copy_included(top, path)
                begun.unlink(missing_ok=True)

    async def is_left(self, path: Path) -> bool:
        """Return whether there is a worktree at a path. Waits for a git that is making or removing one there,
        also for that of a process which was killed."""
        if not path.parent.is_dir():
            return False
        async with self._locked(path.parent):
            return _is_there(path)

    def _folder_of(self, repository: Repository) -> Path:
        """Return the folder of a repository's worktrees, the same for its main and its linked ones."""
        shared = os.path.realpath(repository.common_dir)
        owner = Path(shared).parent if Path(shared).name == ".git" else Path(shared)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", owner.name).strip("-")[:40] or "repository"
        return self._root / f"{name}-{hashlib.sha256(os.fsencode(shared)).hexdigest()[:8]}"

    @contextlib.asynccontextmanager
    async def _locked(self, folder: Path) -> AsyncIterator[int]:
        """Keep other processes from adding or removing worktrees of the same repository.

        Yield the descriptor of the lock: a git that gets it holds the lock even if this process is killed.
        """
        try:
            make_private_folder(folder)
            fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise WorkspaceError(f"{str(folder)!r} cannot be written to: {error.strerror}.") from error
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                await asyncio.to_thread(fcntl.flock, fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)


def is_own_worktree(folder: Path, state_dir: Path) -> bool:
    """Return whether a folder, a real path, is in a worktree that Forge has made."""
    return folder.is_relative_to(Path(os.path.realpath(state_dir)) / _FOLDER)


def project_of(folder: Path, state_dir: Path) -> Path:
    """Return the folder in the repository's own work tree that one in these worktrees stands for; any other
    folder itself."""
    repository = find_repository(folder) if is_own_worktree(folder, state_dir) else None
    if repository is None or repository.common_dir.name != ".git":
        return folder
    return _counterpart(folder, repository.top, repository.common_dir.parent)


def _repository(folder: Path) -> Repository:
    repository = find_repository(folder)
    if repository is None:
        raise WorkspaceError(f"{str(folder)!r} is in no git repository, so it can have no worktree.")
    return repository


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise WorkspaceError(
            f"{name!r} cannot be the name of a worktree: use letters, digits, and . _ - after the first."
        )
    return name


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _removal_of(path: Path) -> Path:
    """Return the file that is there while a worktree is removed."""
    return path.with_name(f".{path.name}.removal")


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _counterpart(folder: Path, top: Path, target: Path) -> Path:
    """Return the folder in the worktree `target` for one in the work tree `top`; `target` if it has none."""
    below = target / os.path.relpath(os.path.realpath(folder), os.path.realpath(top))
    return Path(os.path.normpath(below)) if below.is_dir() else target


async def _git(folder: Path, *arguments: str, lock: int | None = None) -> GitOutput:
    passed = () if lock is None else (lock,)
    return await run_git(folder, *arguments, timeout_s=_TIMEOUT_S, pass_fds=passed)


async def _commit(top: Path, ref: str) -> str:
    found = await _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    commit = found.stdout.strip()
    if found.returncode or not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        raise WorkspaceError(f"{str(top)!r} has no commit {ref!r} from which a worktree could be made.")
    return commit


async def _reason_to_keep(worktree: Worktree) -> str:
    """Return what would be lost with a worktree, or ""."""
    found = find_repository(worktree.path)
    if found is None or found.top != worktree.path:  # the next repository above would answer
        return "it is no worktree any more"
    status = await _git(worktree.path, "status", "--porcelain", "-z", "--untracked-files=all")
    if status.returncode:
        return safe_line(status.stderr.strip())
    if changed := [os.fsdecode(line) for line in status.raw.split(b"\0") if line]:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"it has changes that are not committed ({safe_line(changed[0][3:])}{more})"
    if uncompared := await _uncompared(worktree.path):
        return f"git does not compare {uncompared} in it (assume-unchanged or skip-worktree)"
    if copy := await _changed_copy(worktree):
        return f"{copy} in it, which {INCLUDE_FILE} names, differs from that in {worktree.repository}"
    # A reset or a detached HEAD leaves commits in the log of HEAD, which goes; that of the branch stays.
    logged = await _logged(worktree.path, "HEAD") - await _logged(worktree.path, worktree.branch)
    elsewhere = [f"--exclude={one}" for one in (f"refs/heads/{worktree.branch}", *_OWN_REFS)]
    only = await _git(
        worktree.path, "rev-list", "--count", "HEAD", *logged, "--not", *elsewhere, "--glob=refs/*", "--"
    )
    if only.returncode:
        return safe_line(only.stderr.strip())
    if count := int(only.stdout):
        commits = "1 commit is" if count == 1 else f"{count:,} commits are"
        return f"{commits} only on {worktree.branch}, or only in it"
    return ""


async def _logged(folder: Path, ref: str) -> set[str]:
    """Return the commits in the log of a reference; none if it has no log."""
    return set((await _git(folder, "rev-list", "--walk-reflogs", ref, "--")).stdout.split())


async def _uncompared(top: Path) -> str:
    """Return a file that git takes for unchanged without a look at it, so that a change in it would be lost;
    empty if there is none."""
    listed = await _git(top, "ls-files", "-v", "-z")

    def first() -> str:
        for entry in listed.raw.split(b"\0"):
            name = os.fsdecode(entry[2:])
            if (entry[:1].islower() or entry[:1] == b"S") and _is_there(top / name):
                return safe_line(name)
        return ""

    return await asyncio.to_thread(first)


async def _changed_copy(worktree: Worktree) -> str:
    """Return a file that `INCLUDE_FILE` names and that is another one in the worktree than in the folder from
    which it was made; empty if there is none."""
    names, _ = await _included(worktree.repository, worktree.path)

    def first() -> str:
        for name in _ignored_files(worktree.path, names):
            try:
                if filecmp.cmp(worktree.repository / name, worktree.path / name, shallow=False):
                    continue
            except OSError:
                pass
            return safe_line(name)
        return ""

    return await asyncio.to_thread(first)


async def _included(top: Path, folder: Path) -> tuple[list[str], str]:
    """Return the untracked files of a work tree that `INCLUDE_FILE` at `top` names, or why it is not used."""
    patterns = top / INCLUDE_FILE
    if patterns.is_symlink() or not patterns.is_file():
        return [], ""
    listed = await _git(folder, "ls-files", "--others", "--ignored", f"--exclude-from={patterns}", "-z")
    if listed.returncode:
        return [], f"{INCLUDE_FILE} was not used: {safe_line(listed.stderr.strip())}"
    return [os.fsdecode(name) for name in listed.raw.split(b"\0") if name], ""


def _ignored_files(top: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the regular files among them that git ignores: any other would keep a worktree for ever."""
    rules = IgnoreRules(top)
    for name in names:
        path = top / name
        if not path.is_symlink() and path.is_file() and rules.is_ignored(name, False):
            yield name


async def _copy_included(top: Path, target: Path) -> tuple[str, ...]:
    """Copy the ignored files that `INCLUDE_FILE` names; return what was left out."""
    names, problem = await _included(top, top)
    return (problem,) if problem else await asyncio.to_thread(_copy, top, target, names)


def _copy(top: Path, target: Path, names: Iterable[str]) -> tuple[str, ...]:
    notices = []
    files = size = 0
    for name in _ignored_files(top, names):
        source, copy = top / name, target / name
        files, size = files + 1, size + source.stat().st_size
        if files > _MAX_FILES or size > _MAX_BYTES:
            limit = f"{_MAX_FILES:,} files or {_MAX_BYTES // 1_000_000} MB"
            notices.append(f"{INCLUDE_FILE} names more than {limit}; {name!r} and the rest were not copied")
            break
        try:
            with open_file(source) as read, opened_folder(copy.parent, target, make=True) as parent:
                mode = os.fstat(read.fileno()).st_mode & 0o700
                fd = os.open(copy.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=parent)
                with os.fdopen(fd, "wb") as written:
                    shutil.copyfileobj(read, written)
        except OSError as error:  # among others, a folder that is a link in the commit
            notices.append(f"{name!r} was not copied: {error.strerror}")
    return tuple(map(safe_line, notices))
