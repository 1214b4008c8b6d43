"""Starts a command's process under a supervisor, inside the sandbox if there is one.

A sandbox ends everything in it as soon as its first process ends, and without one a background child loses
its link to the command. So the first process is a supervisor, a small shell program. It prints "forge-
start" to its standard error (a pipe of Forge's own; the command gets another one), waits for a line of
input, runs the command in the foreground, prints "forge-exit CODE", and then waits for the end of its
input, which Forge closes when nothing that the command started is left. Being a shell it costs about 1 ms.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.tools.shell.limits import CommandLimits
from forge_core.workspace.program_lookup import find_program

if TYPE_CHECKING:
    from forge_core.permissions.sandbox.sandbox import Launch, Sandbox

STARTED = b"forge-start"
"""The line that says that the sandbox is set up and the command can start."""
EXIT = b"forge-exit "
"""Begins the line with the command's exit code."""

_SUPERVISOR = r"""
trap : HUP INT QUIT TERM
echo forge-start >&2
read _ || exit 0
(limit_resources; exec "$@" </dev/null 2>&1)
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


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What to run, and where."""

    command: str
    folder: Path
    environment: Mapping[str, str] | None = None
    """None: the scrubbed one of this process."""
    sandbox: Sandbox | None = None
    network: bool = False
    read_only: bool = False
    """In the sandbox the workspace too can only be read."""
    hides_committed: bool = False
    """In the sandbox files with keys are hidden although git holds them."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """On top of the environment, whatever their names."""
    limits: CommandLimits = field(default_factory=CommandLimits)


async def spawn(
    spec: LaunchSpec,
    argv: Sequence[str],
    environment: Mapping[str, str],
    resources: ExitStack,
    output: int,
    status: int,
) -> subprocess.Popen[bytes]:
    """Return the process of `argv`, with its input held open: a supervisor ends when that is closed. What the
    sandbox needs until its end goes to `resources`."""
    launch = await _launched(spec, argv, environment, resources)
    return subprocess.Popen(  # noqa: ASYNC220  in a thread the sandbox would end with that thread
        launch.argv,
        cwd=spec.folder,
        env=launch.environment,
        pass_fds=launch.pass_fds,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=status,
        start_new_session=True,
    )


async def _launched(
    spec: LaunchSpec, argv: Sequence[str], environment: Mapping[str, str], resources: ExitStack
) -> Launch:
    """Return what the sandbox starts instead of `argv`, looked up in a thread: it surveys the workspace."""
    from forge_core.permissions.sandbox.sandbox import Launch

    if spec.sandbox is None:
        return Launch(tuple(argv), environment)
    entry = spec.sandbox.launch(
        argv,
        spec.folder,
        environment,
        network=spec.network,
        read_only=spec.read_only,
        hides_committed=spec.hides_committed,
    )
    entering = asyncio.ensure_future(asyncio.to_thread(resources.enter_context, entry))
    try:
        return await asyncio.shield(entering)
    except asyncio.CancelledError:
        await asyncio.wait({entering})
        raise


def supervised_argv(
    command: str, call: str, root: Path, path: str, limits: CommandLimits, *, adopts_orphans: bool
) -> list[str]:
    """Return the argument vector that runs `command` in bash (sh if there is none) under a supervisor.

    The argument `call` distinguishes the supervisor from what it runs. With `adopts_orphans` every descendant
    can be found without a process namespace.
    """
    shell = find_program("bash", root, path) or "/bin/sh"
    script = f"limit_resources() {limits.shell_text()}\n{_SUPERVISOR}"
    words = ["/bin/sh", "-c", script, call, shell, "-c", "--", command]
    if adopts_orphans and sys.platform == "linux" and sys.executable:
        return [sys.executable, "-I", "-S", "-c", _ADOPT_ORPHANS, *words]
    return words
