"""The small shell program over every command: it tells how the command ended, and stays until it may go.

A sandbox ends all that is in it as soon as its first process ends, and outside one a background child loses
its tie to the command. So the first process is this supervisor. It says "forge-start" on its standard error
(a pipe of Forge's own; the command has another), waits for a line of input, runs the command in the
foreground, says "forge-exit CODE", and then waits for the end of its input, which Forge closes when nothing
that the command started is left. Being a shell it costs about 1 ms.
"""

from __future__ import annotations

import shutil
import sys

STARTED = b"forge-start"
"""The line that says that the sandbox stands and the command can begin."""
EXIT = b"forge-exit "
"""Begins the line that tells the command's exit code."""

_SUPERVISOR = r"""
trap : HUP INT QUIT TERM
echo forge-start >&2
read _ || exit 0
(exec "$@" </dev/null 2>&1)
code=$?
exec >/dev/null
printf '\nforge-exit %s\n' "$code" >&2
while :; do
  read _ && continue
  [ $? -le 128 ] && exit 0
done
"""

_ADOPT_ORPHANS = """
import os, sys, _signal
for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(number, _signal.SIG_DFL)
try:
    import ctypes
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
except Exception:
    pass
os.execv(sys.argv[1], sys.argv[1:])
"""
"""PR_SET_CHILD_SUBREAPER (linux/prctl.h), which an exec keeps: orphans of the command become children of the
supervisor. Python ignores two signals, which an exec keeps too. A `preexec_fn` would do the same and is not
safe in a process with threads. About 20 ms."""


def supervised(command: str, call: str, path: str, *, adopts_orphans: bool) -> list[str]:
    """The argument vector that runs `command` in bash (sh where there is none) under a supervisor.

    `call` is an argument by which the supervisor is told from what it runs. With `adopts_orphans` every
    descendant stays findable without a process namespace.
    """
    shell = shutil.which("bash", path=path) or "/bin/sh"
    words = ["/bin/sh", "-c", _SUPERVISOR, call, shell, "-c", "--", command]
    if adopts_orphans and sys.platform == "linux" and sys.executable:
        return [sys.executable, "-I", "-S", "-c", _ADOPT_ORPHANS, *words]
    return words
