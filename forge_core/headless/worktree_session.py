"""`forge chat --worktree` and `forge run --worktree`: the session works in a separate git worktree.

The worktree is in Forge's state folder, on a branch of its own. When the session has ended, it is removed
only if nothing is lost by it, and no other session works in it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator

from forge_core.errors import WorkspaceError
from forge_core.runtime import load_session_config
from forge_core.sanitize import safe_line
from forge_core.workspace.worktrees import Worktree, Worktrees

_FOLDER_OPTION = {"chat": "path", "run": "cwd"}
"""The option of a command that names the folder to work in."""


def in_worktree(options: argparse.Namespace, program: Callable[[argparse.Namespace], int]) -> int:
    """Run a program in the worktree that its option `worktree` names, or in a new one; return its exit code.

    What the user decided about the folder from which the worktree is made holds in it: trust, rules, and the
    contents of definitions that were accepted. What else it holds, of an old branch or by the session before,
    counts no more than it would in the folder.

    Raises:
        WorkspaceError: there is no repository, the name cannot be one, or git has failed.
    """
    if options.command == "run" and options.prompt is None and " " in options.worktree:
        # forge run --worktree "fix the parser": no name has a space, so this is the prompt
        options.prompt, options.worktree = options.worktree, ""
    place = _FOLDER_OPTION[options.command]
    is_hermetic = getattr(options, "hermetic", False)
    config = load_session_config(getattr(options, place), trust=options.trust, is_hermetic=is_hermetic)
    new_name = f"{options.command}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    name = options.worktree or new_name
    worktrees = Worktrees(config.state_dir)
    worktree = asyncio.run(worktrees.open(config.working_dir, name))
    options.worktree = None
    options.worktree_of = config.working_dir
    with _in_use(worktree) as is_last:
        if not worktree.path.exists():  # the session before has ended, and removed it, meanwhile
            worktree = asyncio.run(worktrees.open(config.working_dir, name))
        for notice in worktree.notices:
            _say(notice)
        setattr(options, place, str(worktree.folder))
        try:
            return program(options)
        finally:
            _leave(worktrees, worktree, name, is_last(), options.command)


def _leave(worktrees: Worktrees, worktree: Worktree, name: str, is_last: bool, command: str) -> None:
    """Remove a worktree, or say why it stays and how to go on."""
    reason = asyncio.run(worktrees.remove(worktree)) if is_last else "another session works in it"
    if not reason:
        _say(f"The worktree {name} held nothing of its own and was removed. Branch {worktree.branch} stays.")
        return
    _say(
        f"The worktree stays, because {reason}: {worktree.path} (branch {worktree.branch}). "
        f"`forge {command} --worktree={name}` works in it again."
    )


@contextlib.contextmanager
def _in_use(worktree: Worktree) -> Iterator[Callable[[], bool]]:
    """Mark a worktree as in use; yield a function that returns whether no other process uses it."""
    path = worktree.path.with_name(f".{worktree.path.name}.use")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        raise WorkspaceError(f"{str(path)!r} cannot be locked: {error.strerror}.") from error

    def is_last() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    try:
        yield is_last
    finally:
        os.close(descriptor)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal has been closed
        print(f"forge: {safe_line(text)}", file=sys.stderr)
