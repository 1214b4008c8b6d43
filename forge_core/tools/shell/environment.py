"""The environment of commands that the model runs: what a build needs, and no secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

_ALLOWED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TMPDIR|PWD|TZ|VIRTUAL_ENV|CONDA_PREFIX|CI"
    r"|XDG_(?:CACHE|CONFIG|DATA|STATE)_HOME|XDG_RUNTIME_DIR"
    r"|JAVA_HOME|GOPATH|GOROOT|GOCACHE|CARGO_HOME|RUSTUP_HOME|NVM_DIR|PYENV_ROOT|RBENV_ROOT|ANDROID_HOME|SDKROOT"
    r"|LD_LIBRARY_PATH|PKG_CONFIG_PATH|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    r"|SystemRoot|WSL_DISTRO_NAME"
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
CALL_VARIABLE = "FORGE_CALL"
"""Marks every process that a command leaves behind, so that it can be found and ended."""


def child_environment(
    source: Mapping[str, str] | None = None, extra_names: Iterable[str] = (), call: str = ""
) -> dict[str, str]:
    """The variables of `source` (None: this process) that are on the allow list or in `extra_names`, without
    any whose name speaks of a secret; pagers, prompts and editors are set so that nothing waits for a
    person."""
    source = os.environ if source is None else source
    extra = frozenset(extra_names)
    kept = {
        name: value
        for name, value in source.items()
        if (_ALLOWED.fullmatch(name) or name in extra) and not _SECRET.search(name)
    }
    kept.setdefault("PATH", os.defpath)
    return kept | _FIXED | ({CALL_VARIABLE: call} if call else {})
