"""The environment of commands that the model runs: what a build needs, and no secret."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from forge_core.permissions.sandbox.shown_at_home import TOOLCHAIN_VARIABLES

_ALLOWED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TMPDIR|PWD|TZ|VIRTUAL_ENV|CI"
    r"|XDG_(?:CACHE|CONFIG|DATA|STATE)_HOME|XDG_RUNTIME_DIR"
    r"|GOCACHE|SDKROOT"
    r"|LD_LIBRARY_PATH|PKG_CONFIG_PATH|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    r"|SystemRoot|WSL_DISTRO_NAME"
)
_NETWORK = re.compile(
    r"(?:https?|all|no)_proxy|PYTHONPATH|SSL_CERT_(?:FILE|DIR)|DBUS_SESSION_BUS_ADDRESS|PYTHON_KEYRING_BACKEND",
    re.IGNORECASE,
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_FIXED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
}
_PR_SET_DUMPABLE = 4
"""From linux/prctl.h."""
CALL_VARIABLE = "FORGE_CALL"
"""Marks every process that a command leaves behind, so that it can be found and ended."""


def child_environment(source: Mapping[str, str] | None = None, call: str = "") -> dict[str, str]:
    """Return the environment for a child process.

    These are the variables of `source` (None: this process) on the allow list, without any whose name
    suggests a secret. Pagers, prompts and editors are set so that nothing waits for input.
    """
    source = os.environ if source is None else source
    kept = {
        name: value
        for name, value in source.items()
        if (_ALLOWED.fullmatch(name) or name in TOOLCHAIN_VARIABLES) and not _SECRET.search(name)
    }
    kept.setdefault("PATH", os.defpath)
    return kept | _FIXED | ({CALL_VARIABLE: call} if call else {})


def network_environment(source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a child process of Forge that opens connections itself: also with what
    proxies, certificates and keyring it is to use, and where Python finds Forge."""
    source = os.environ if source is None else source
    kept = {name: value for name, value in source.items() if _NETWORK.fullmatch(name)}
    return child_environment(source) | kept


def protect_process() -> bool:
    """Keep other processes of the same user from reading this one's environment and memory; return whether it
    worked.

    This concerns above all commands that the model runs: the API key is in /proc/PID/environ, and ptrace
    could read it. Call it once, before the first command runs: it takes about 2 ms (the import of ctypes).
    Children reset it when they start a program. It only works on Linux, and it disables core dumps. It does
    not stop root, a process with CAP_SYS_PTRACE, or a command that finds the key elsewhere, such as in the
    user's start-up files.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
