"""Why bubblewrap does not run, and what the person can do about it."""

from __future__ import annotations

import re
from pathlib import Path

NO_BWRAP = "bwrap not found (apt install bubblewrap)"

_FORBIDDEN = re.compile(
    r"no permissions to creat\w+ (?:a )?new namespace|creating new namespace failed|setting up uid map"
    r"|RTM_NEWADDR|operation not permitted|permission denied|no space left on device",
    re.IGNORECASE,
)
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def why_bwrap_failed(error: str, exit_code: int, settings: Path = Path("/proc/sys")) -> str:
    """A reason for the label, from what bwrap wrote to stderr; `settings` is where the kernel's lie."""
    first = next((line.strip() for line in error.splitlines() if line.strip()), "")
    if _FORBIDDEN.search(first):
        return f"user namespaces are forbidden ({_how_to_allow(settings)})"
    if not first:
        return f"bwrap ended with {exit_code} and said nothing (try `bwrap --ro-bind / / true`)"
    printable = "".join(char if char.isprintable() else "?" for char in first)[:160]
    return f"bwrap failed ({printable.rstrip('.')})"


def _how_to_allow(settings: Path) -> str:
    """The setting that stands in the way; where none is found, the usual suspects."""
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
