"""Programs that never run what their words name, and those whose first word is a subcommand of their own."""

from __future__ import annotations

from forge_core.permissions.programs.word_sets import table

NEVER_RUN = table(
    "echo printf true false : test [ [[ ls cat head tail wc grep egrep fgrep rg diff cmp sort uniq cut tr"
    " cp mv rm"
    " mkdir rmdir touch ln chmod chown stat file du df pwd cd pushd popd basename dirname realpath readlink"
    " date"
    " which type whereis git seq tee md5sum sha1sum sha256sum export declare local readonly unset typeset"
    " read"
    " return exit break continue sleep kill jq tree column comm join paste od xxd strings help man ] fi"
    " done esac"
)
"""A word that one of these only mentions is no command."""

WITH_SUBCOMMANDS = table(
    "docker podman kubectl npm pnpm yarn pip pip3 cargo apt apt-get brew dnf yum snap systemctl aws gcloud"
    " az gh"
    " helm terraform conda poetry uv gem go"
)
SCRIPT_RUNNERS = table("npm pnpm yarn bun")
