"""The command line that starts a program in bubblewrap, and what its failures mean.

Source: man 1 bwrap. The order matters: a later mount covers an earlier one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.sandbox.home_view import is_in
from forge_core.permissions.sandbox.mount_layout import mask
from forge_core.permissions.sandbox.path_checks import is_folder, is_there
from forge_core.permissions.sandbox.sandbox_state import SandboxState

_NAMESPACES = (
    "--die-with-parent",
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)

_KERNEL_NAMES = sorted(table("sys sysrq-trigger irq bus fs acpi scsi mtrr driver dynamic_debug asound"))

_FORBIDDEN = re.compile(
    r"no permissions to creat\w+ (?:a )?new namespace|creating new namespace failed|setting up uid map"
    r"|RTM_NEWADDR|operation not permitted|permission denied|no space left on device",
    re.IGNORECASE,
)
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def options(
    state: SandboxState, mounts: Sequence[str], folder: Path, *, network: bool, seccomp: int | None, sync: int
) -> bytes:
    """Return the NUL-separated options for `--args`: kept off the command line, which every process list
    shows."""
    # Where /proc is the host's, only a user namespace of its own keeps other processes closed.
    user = "--unshare-user" if state.host_proc else "--unshare-user-try"
    parts = [*_NAMESPACES, user]
    if not network:
        parts.append("--unshare-net")
    parts += ["--ro-bind", "/", "/", "--dev", "/dev"]
    if not state.host_proc:
        parts += ["--proc", "/proc", *_kernel_settings()]
    parts += [*mounts, "--cap-drop", "ALL", "--chdir", str(folder), "--sync-fd", str(sync)]
    if seccomp is not None:
        parts += ["--seccomp", str(seccomp)]
    return b"".join(os.fsencode(part) + b"\0" for part in parts)


def without_folders(
    program: str, argv: Sequence[str], hidden: Iterable[Path], folder: Path
) -> tuple[str, ...]:
    """Return the command line by which `argv` runs in `folder` with everything as it is, but `hidden`, real
    paths of folders, empty. `folder` may be in one of them: then it is empty as well.

    `program` is bwrap. Not for root alone, this takes a user namespace: there are no setuid programs in it,
    other users' files belong to nobody, and other processes cannot be inspected.
    """
    covered = [one for one in hidden if is_folder(one)]
    parts = [program, "--dev-bind", "/", "/"]
    for one in covered:
        parts += mask(one, one)
    if is_in(folder, covered):
        parts += ["--tmpfs", str(folder)]
    for one in covered:
        parts += ["--remount-ro", str(one)]
    # With these two, root could unmount what covers the folders, or look at them through another process.
    parts += ["--cap-drop", "CAP_SYS_ADMIN", "--cap-drop", "CAP_SYS_PTRACE"]
    return (*parts, "--chdir", str(folder), "--", *argv)


def _kernel_settings() -> list[str]:
    """Mounts that keep root from writing where /proc is not about processes: as the owner it needs no
    capability there, and bwrap covers less than that. The same files of the host are laid over them,
    read-only."""
    if os.geteuid() != 0:
        return []
    places = (Path("/proc") / name for name in _KERNEL_NAMES)
    return [part for place in places if is_there(place) for part in ("--ro-bind", str(place), str(place))]


def why_bwrap_failed(error: str, exit_code: int, settings: Path = Path("/proc/sys")) -> str:
    """Return a reason for the label, from what bwrap wrote to stderr; `settings` is the folder of the
    kernel's settings."""
    first = first_line(error)
    if _FORBIDDEN.search(first):
        return f"user namespaces are forbidden ({_how_to_allow(settings)})"
    if not first:
        return f"bwrap exited with code {exit_code} and printed nothing (try `bwrap --ro-bind / / true`)"
    return f"bwrap failed ({first[:160].rstrip('.')})"


def _how_to_allow(settings: Path) -> str:
    """Return the setting that prevents it; where none is found, the usual ones."""
    if _value(settings / "kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor: add a profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    if _value(settings / "kernel/unprivileged_userns_clone") == "0":
        return "sysctl kernel.unprivileged_userns_clone=1"
    if _value(settings / "user/max_user_namespaces") == "0":
        return "sysctl user.max_user_namespaces=15000"
    if any(mark.exists() for mark in _CONTAINER_MARKS):
        return "in a container: start it with --security-opt seccomp=unconfined, apparmor=unconfined"
    return "ask for bwrap to be allowed by the system's security policy"


def _value(setting: Path) -> str:
    try:
        return setting.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def first_line(error: str) -> str:
    """Return the first line that is not blank, with what cannot be printed replaced."""
    first = next((line.strip() for line in error.splitlines() if line.strip()), "")
    return "".join(char if char.isprintable() else "?" for char in first)
