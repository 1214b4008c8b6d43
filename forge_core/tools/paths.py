"""Resolves the paths that a model names, with errors that help it to find the right file."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.permissions.path_info import real_path
from forge_core.tools.base import ExecutionContext
from forge_core.workspace.beneath import opened_folder
from forge_core.workspace.folders import containing
from forge_core.workspace.ignore import IgnoreRules, walk

MAX_TEXT_BYTES = 50 * 1024 * 1024
"""Larger files are neither read whole nor edited."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SEARCH_S = 0.2
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO (named pipe)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def locate(given: str, context: ExecutionContext) -> Path:
    """Return the absolute path, without dots, that the model means by `given`.

    If `..` follows a link, this is the path that the kernel would find. Resolves links, never raises.
    """
    text = given.strip()
    if text == "~" or text.startswith("~/"):
        text = str(Path(text).expanduser())
    path = context.root / (text or ".")
    plain = Path(os.path.normpath(path))
    if ".." not in path.parts:
        return plain
    real = real_path(path)
    return plain if real == real_path(plain) else real


def display_path(path: Path, context: ExecutionContext) -> str:
    """Return `path` with forward slashes, relative to the workspace if it is inside."""
    for root in (context.root, real_path(context.root)):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


def search_scope(path: Path, context: ExecutionContext) -> tuple[Path, str]:
    """Return the folder whose ignore rules apply to a search in `path`, and `path` relative to it ("" for
    itself).

    The folder is that of the workspace which `path` is inside, else the folder named.
    """
    known = (Path(os.path.normpath(context.root)), *context.added_folders)
    root = next((one for one in known if path.is_relative_to(one)), None)
    if root is None:
        root = path if path.is_dir() else path.parent
    start = path.relative_to(root).as_posix()
    return root, "" if start == "." else start


def file_status(path: Path, context: ExecutionContext) -> os.stat_result:
    """Return the status of the regular file at `path`, links followed. Raise ToolError saying what it is
    instead."""
    status = _status(path, context)
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            extra = " Use ls to see what is in it." if name == "a directory" else ""
            raise ToolError(f"{display_path(path, context)!r} is {name}, not a file.{extra}")
    return status


def folder_status(path: Path, context: ExecutionContext) -> None:
    """Raise ToolError unless `path` is a folder that can be listed."""
    if not stat.S_ISDIR(_status(path, context).st_mode):
        raise ToolError(f"{display_path(path, context)!r} is a file, not a folder. Use read to see it.")


def _status(path: Path, context: ExecutionContext) -> os.stat_result:
    try:
        return path.stat()
    except (OSError, ValueError) as error:
        raise ToolError(_unreachable(path, context, error)) from error


def read_bytes(path: Path, context: ExecutionContext) -> bytes:
    """Return the bytes of a regular file of at most 50 MB, from where the path led when the policy judged it:
    a link slipped in since leads nowhere. Never blocks on a FIFO. Raise ToolError."""
    size = file_status(path, context).st_size
    if size > MAX_TEXT_BYTES:
        raise ToolError(
            f"{display_path(path, context)!r} has {size:,} bytes; files over {MAX_TEXT_BYTES // 2**20} MB "
            "are not read whole. Use grep to find the part you need, or bash with head, tail or sed -n."
        )
    real = _judged(path, context)
    try:
        with opened_folder(real.parent, link_free_base(real, context)) as folder:
            descriptor = os.open(real.name, _READ, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise ToolError(f"{display_path(path, context)!r} is not a regular file.")
                return file.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise ToolError(_unreachable(path, context, error)) from error


@contextlib.contextmanager
def path_unchanged(path: Path, context: ExecutionContext) -> Iterator[None]:
    """Raise ToolError if `path` leads elsewhere than where the policy judged it, before or after the block
    runs.

    Without this a link put into the path during a search would reveal its target.
    """
    real = _judged(path, context)
    yield
    if real_path(path) != real:
        raise ToolError(_elsewhere(path, context))


def _judged(path: Path, context: ExecutionContext) -> Path:
    """Return where the path really leads. Raise ToolError when the policy has judged another place."""
    real = real_path(path)
    if context.agreed is not None and real not in context.agreed:
        raise ToolError(_elsewhere(path, context))
    return real


def _elsewhere(path: Path, context: ExecutionContext) -> str:
    return (
        f"{display_path(path, context)!r} now leads to another place than when it was checked. Nothing was "
        "read. Use a path without links."
    )


def link_free_base(real: Path, context: ExecutionContext) -> Path:
    """Return the folder below which no link is followed: that of the workspace for a path inside it, else
    the root."""
    return containing(real, context.folders) or Path(real.anchor)


def _unreachable(path: Path, context: ExecutionContext, error: OSError | ValueError) -> str:
    name = display_path(path, context)
    code = getattr(error, "errno", None)
    if code in (errno.ENOENT, errno.ENOTDIR):
        if path.is_symlink():
            return f"{name!r} is a link to {str(path.readlink())!r}, which does not exist."
        near = nearest_names(path, context)
        return f"{name!r} does not exist." + (
            f" Did you mean {near}?" if near else " Use glob or ls to find it."
        )
    if code == errno.EACCES:
        return f"{name!r} cannot be read: permission denied."
    if code == errno.ELOOP:
        return f"{name!r} is a link that leads to itself."
    return f"{name!r} cannot be opened: {getattr(error, 'strerror', None) or error}."


def nearest_names(path: Path, context: ExecutionContext) -> str:
    """Return up to three existing paths like `path`, quoted, joined by "or"; empty when none, or outside the
    workspace."""
    root = containing(real_path(path), context.folders)
    if root is None:
        return ""
    near = _same_name(path, root)
    try:
        siblings = sorted(one.name for one in path.parent.iterdir())[:5_000]
    except OSError:
        siblings = []
    folded = {name.casefold(): name for name in siblings}
    for name in difflib.get_close_matches(path.name.casefold(), list(folded), n=3, cutoff=0.6):
        near.append(display_path(path.parent / folded[name], context))
    return " or ".join(repr(name) for name in dict.fromkeys(near[:3]))


def _same_name(path: Path, root: Path) -> list[str]:
    """Return paths below the root with the same last segment, as far as a short search finds them."""
    deadline = time.monotonic() + _SEARCH_S
    wanted = path.name.casefold()
    entries = walk(root, IgnoreRules(root), stop=lambda: time.monotonic() > deadline)
    found = (one.path for one in entries if one.path.rpartition("/")[2].casefold() == wanted)
    return list(islice(found, 2))
