"""Which secrets of a workspace are none, because git holds the same bytes already."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from forge_core.permissions.sandbox.presence import is_there
from forge_core.workspace.git import hardened_git_args

_MAX_BYTES = 1_000_000
_TIMEOUT_S = 2.0


def tracked_secrets(root: Path, paths: Sequence[Path]) -> dict[Path, bool]:
    """Those of `paths` that git tracks in `root`; True when the file is just what git has.

    Hiding such a file would protect nothing (`git show` gives it), and git would take the stand-in for a
    change. Equal bytes are asked for, not the name alone: a command could track the name with other bytes.
    """
    if not paths or not is_there(root / ".git"):
        return {}
    names = {str(path.relative_to(root)): path for path in paths if path.is_relative_to(root)}
    command = ["git", *hardened_git_args(), "-C", str(root), "--literal-pathspecs", "--no-optional-locks"]
    try:
        done = subprocess.run(
            [*command, "ls-files", "--stage", "-z", "--", *names],
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[Path, bool] = {}
    for record in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, name = record.partition("\t")
        if (path := names.get(name)) is not None and len(fields := facts.split()) == 3:
            found[path] = _blob_id(path, len(fields[1])) == fields[1]
    return found


def _blob_id(path: Path, digits: int) -> str:
    """git's name for the file's bytes; empty when it can't be read or is large."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return ""
        data = path.read_bytes()
    except OSError:
        return ""
    algorithm = hashlib.sha256 if digits == 64 else hashlib.sha1
    return algorithm(b"blob %d\0" % len(data) + data).hexdigest()
