"""What a command doesn't get to see besides the home folders: keys of the system, sockets of services,
Forge's own files."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.sandbox.landlock import visible
from forge_core.permissions.sandbox.path_checks import is_folder

_SYSTEM_SECRETS = table(
    """/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/ssl/private /etc/krb5.keytab
    /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /etc/wireguard
    /etc/letsencrypt /etc/NetworkManager/system-connections /etc/security/opasswd /var/mail /var/spool/mail
    /var/spool/cron /var/backups"""
)
"""Root is their owner and needs no capability to read them."""
_LOGIN_VARIABLES = table(
    """GNUPGHOME KUBECONFIG AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE GOOGLE_APPLICATION_CREDENTIALS
    CLOUDSDK_CONFIG AZURE_CONFIG_DIR DOCKER_CONFIG NETRC PGPASSFILE PASSWORD_STORE_DIR CODEX_HOME
    CLAUDE_CONFIG_DIR NPM_CONFIG_USERCONFIG npm_config_userconfig PIP_CONFIG_FILE HF_TOKEN_PATH HISTFILE"""
)
"""The variables that move what programs otherwise keep in a home."""
_MAX_SOCKETS = 200


def home_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the real home folders: the command's, Forge's, and the one in the user database."""
    import pwd

    named = [environment.get("HOME", ""), os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):  # an id without an entry, as containers have
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    real = [Path(os.path.realpath(one)) for one in named if one.startswith("/")]
    return tuple(dict.fromkeys(one for one in real if one != Path("/") and is_folder(one)))


def secrets_outside(more: Iterable[Path], shown: Iterable[Path] = ()) -> list[Path]:
    """Return the real paths of what is there of the system's secrets, of the logins that variables of Forge's
    own environment name, and of `more`: without the folders `shown`, which are given by their real paths."""
    moved = [one for name in sorted(_LOGIN_VARIABLES) for one in os.environ.get(name, "").split(os.pathsep)]
    named = [*sorted(_SYSTEM_SECRETS), *(one for one in moved if one.startswith("/")), *map(str, more)]
    found = {os.path.realpath(one): None for one in named if os.access(one, os.R_OK)}
    return [part for one in found if one != "/" for part in visible(Path(one), {*shown})]


def listening_sockets() -> Iterator[Path]:
    """Yield every named socket of a service: a read-only mount prevents no connection.

    Source: man 5 proc, /proc/net/unix.
    """
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return
    names = {fields[7] for line in lines if len(fields := line.split(None, 7)) == 8 and fields[7][:1] == b"/"}
    for name in sorted(names)[:_MAX_SOCKETS]:
        path = Path(os.path.realpath(os.fsdecode(name)))
        try:
            if stat.S_ISSOCK(path.lstat().st_mode):
                yield path
        except (OSError, ValueError):
            continue
