"""A path held by a descriptor, certain to lead through no link.

Between looking at a path and mounting it, a command in the background may put a link in its place: then a key
would be shown, or somebody else's repository made writable. A descriptor stays with what was looked at.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def anchored(path: Path) -> int:
    """An O_PATH descriptor of exactly `path`. Raises OSError when it is gone or a link leads there; the
    caller closes it."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - names may be no valid Path text
        if found != os.fspath(path) or stat.S_ISLNK(os.fstat(descriptor).st_mode):
            raise OSError(errno.ESTALE, "something else was put in its place", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
