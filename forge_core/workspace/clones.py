"""Clones of the repositories that a URL names: one for each URL in the state folder, fetched before each use.

Unlike other calls of git by Forge these use the network, with the user's own settings and logins. A clone has
no files of its own: worktrees are made from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.private_folders import make_private_folder
from forge_core.sanitize import safe_line
from forge_core.workspace.program_lookup import require_program
from forge_core.workspace.repository import Repository, find_repository

_URL = re.compile(r"(?:https|ssh|file)://[^\s-]\S*|[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:[^\s-]\S*")
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@")
_FOLDER = "clones"
_FETCH_S = 1800.0
_LOOK_S = 0.1
_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false"),
    *("fetch.recurseSubmodules=false", "maintenance.auto=false", "gc.auto=0"),
)
_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:ssh:file"}
_DEFAULT_BRANCH = re.compile(r"^ref: (refs/heads/\S+)\tHEAD$", re.MULTILINE)


def is_url(repo: str) -> bool:
    """Return whether a text is the URL of a repository: https, ssh, file, or USER@HOST:PATH."""
    return _URL.fullmatch(repo) is not None


def has_password(url: str) -> bool:
    """Return whether a password is written in a URL; error messages would contain it."""
    return _PASSWORD.search(url) is not None


def clone_of(url: str, state_dir: Path) -> Repository:
    """Return where the clone of a repository is, or would be."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", url.rstrip("/").removesuffix(".git").rpartition("/")[2])[-40:]
    key = hashlib.sha256(url.encode()).hexdigest()[:8]
    top = Path(os.path.realpath(state_dir)) / _FOLDER / f"{name.strip('-') or 'repository'}-{key}"
    return Repository(top, top / ".git", top / ".git")


def repository_of(repo: str, state_dir: Path) -> Repository | None:
    """Return the repository that a path or a URL names; None if there is none at the path."""
    return clone_of(repo, state_dir) if is_url(repo) else find_repository(Path(repo))


async def fetch_clone(url: str, state_dir: Path) -> Path:
    """Clone a repository, or fetch what is new; return the folder of the clone. Its branches and its HEAD are
    those of the URL.

    Raises:
        WorkspaceError: with what git says.
    """
    clone = clone_of(url, state_dir)
    async with _locked(clone.top):
        await _git(clone.top, "init", "--quiet")
        refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        # A branch of the same name may be checked out in a worktree.
        await _git(clone.top, "fetch", "--quiet", "--force", "--update-head-ok", "--", url, *refs)
        head = await _git(clone.top, "ls-remote", "--symref", "--", url, "HEAD")
        if branch := _DEFAULT_BRANCH.search(head):
            await _git(clone.top, "symbolic-ref", "HEAD", branch[1])
    return clone.top


@contextlib.asynccontextmanager
async def _locked(folder: Path) -> AsyncIterator[None]:
    """Make a folder, and keep other processes from fetching into it."""
    try:
        make_private_folder(folder)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceError(f"{str(folder)!r} cannot be written to: {error.strerror}.") from error
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            while not _is_held(fd):  # noqa: ASYNC110 - a thread in flock could not be cancelled
                await asyncio.sleep(_LOOK_S)
        yield
    finally:
        os.close(fd)


def _is_held(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _git(folder: Path, *arguments: str) -> str:
    """Run git; return its output. Raises WorkspaceError when it fails or takes too long."""
    command = [require_program("git", folder)]
    command += [word for one in _SETTINGS for word in ("-c", one)]
    process = await asyncio.create_subprocess_exec(
        *command,
        *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "GIT_SSH_COMMAND": "ssh -oBatchMode=yes", **_VARIABLES},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_FETCH_S):
            output, errors = await process.communicate()
    except TimeoutError:
        raise WorkspaceError(f"git {arguments[0]} did not end within {_FETCH_S:g} s.") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        reason = safe_line(errors.decode("utf-8", "replace").strip().rpartition("\n")[2])
        raise WorkspaceError(f"git {arguments[0]} failed: {reason}")
    return output.decode("utf-8", "replace")
