"""The command line that starts a program in bubblewrap.

Source: man 1 bwrap. Its order matters: what is mounted later lies above.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from forge_core.permissions.sandbox.state import SandboxState

_NAMESPACES = (
    "--die-with-parent",
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)


def options(
    state: SandboxState, mounts: Sequence[str], folder: Path, *, network: bool, seccomp: int | None, sync: int
) -> bytes:
    """The NUL-separated options for `--args`: kept off the command line, which every process list shows."""
    # Where /proc is the host's, only a user namespace of its own keeps other processes closed.
    user = "--unshare-user" if state.host_proc else "--unshare-user-try"
    parts = [*_NAMESPACES, user]
    if not network:
        parts.append("--unshare-net")
    parts += ["--ro-bind", "/", "/", "--dev", "/dev"]
    if not state.host_proc:
        parts += ["--proc", "/proc"]
    parts += [*mounts, "--cap-drop", "ALL", "--chdir", str(folder), "--sync-fd", str(sync)]
    if seccomp is not None:
        parts += ["--seccomp", str(seccomp)]
    return b"".join(os.fsencode(part) + b"\0" for part in parts)


def find_bwrap(path: str, root: Path) -> Path | None:
    """The bwrap of the search path `path`, but never one from the workspace or from a relative folder: a
    repository could bring its own."""
    real_root = os.path.realpath(root)
    for entry in path.split(os.pathsep):
        if not entry.startswith("/"):
            continue
        candidate = Path(entry) / "bwrap"
        if not (candidate.is_file() and os.access(candidate, os.X_OK)):
            continue
        if not Path(os.path.realpath(candidate)).is_relative_to(real_root):
            return candidate
    return None
