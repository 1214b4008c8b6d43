"""What a command doesn't get to see: keys and passwords, sockets of services, Forge's own files."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.sandbox.path_checks import is_folder

SECRETS_AT_HOME = table(
    """.ssh .aws .azure .gnupg .kube .netrc _netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .vault-token
    .boto .s3cfg .git-credentials .docker .oci .fly .heroku .databricks.cfg .snowflake .huggingface
    .password-store .1password .terraform.d .terraformrc .bash_history .zsh_history .python_history
    .psql_history .node_repl_history .cargo/credentials .cargo/credentials.toml .gem/credentials
    .composer/auth.json .m2/settings.xml .config/gh .config/glab-cli .config/hub .config/gcloud
    .config/git/credentials .config/op .config/sops .config/rclone .config/doctl .config/helm/registry
    .config/containers/auth.json .config/composer/auth.json .config/google-chrome .config/chromium
    .config/BraveSoftware .config/microsoft-edge .config/1Password .config/Signal .mozilla .thunderbird
    .local/share/keyrings .local/share/kwalletd .local/share/fish/fish_history .cache/huggingface/token
    .cache/google-chrome .cache/chromium .cache/mozilla"""
)
"""Relative to a home; folders and files."""
_SYSTEM_SECRETS = table("/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/ssl/private")
"""Root is their owner and needs no capability to read them."""
_MAX_SOCKETS = 200


def home_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the real home folders: the command's, Forge's, and the one in the user database."""
    import pwd

    named = [environment.get("HOME", ""), os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):  # an id without an entry, as containers have
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    real = [Path(os.path.realpath(one)) for one in named if one.startswith("/")]
    return tuple(dict.fromkeys(one for one in real if one != Path("/") and is_folder(one)))


def secrets_outside(homes: Iterable[Path], more: Iterable[Path]) -> list[Path]:
    """Return the real paths of what is there of the well-known secrets and of `more`."""
    named = [f"{home}/{name}" for home in homes for name in sorted(SECRETS_AT_HOME)]
    named += sorted(_SYSTEM_SECRETS)
    named += [str(one) for one in more]
    found = {os.path.realpath(one): None for one in named if os.access(one, os.R_OK)}
    return [Path(one) for one in found if one != "/"]


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
