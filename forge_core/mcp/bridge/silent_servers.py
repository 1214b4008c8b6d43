"""Remembers which servers do not answer when they are asked for the protocol.

An older server behind a URL may ignore that request: then each start would wait for the limit. For a week it
is connected as an older server at once. Only such servers are remembered, so that one that answers and speaks
several revisions is always used in the newest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge_core.config.project_state import replace_file
from forge_core.mcp.wire import Protocol, ServerLaunch
from forge_core.private_folders import make_private_folder

FILE = "mcp-silent.json"
"""In Forge's state folder."""
_MAX_BYTES = 100_000
_MOST = 200
_KEPT_S = 7 * 24 * 3600.0


class SilentServers:
    """What is known of one server. A file that cannot be read counts as empty, and one that cannot be written
    is left: it saves time only."""

    def __init__(self, launch: ServerLaunch) -> None:
        self._path = Path(launch.state_dir, FILE)
        self._is_kept = bool(launch.state_dir and launch.fingerprint)
        named = f"{launch.fingerprint} {launch.url}".encode("utf-8", "surrogateescape")
        self._key = hashlib.sha256(named).hexdigest()[:32]

    def attempts(self, protocol: Protocol) -> list[Protocol]:
        """Return how to try to connect, one after the other, if the server is to be connected by `protocol`.
        Blocks."""
        if protocol != "auto":
            return [protocol]
        return ["legacy", "auto"] if self._is_kept and self._key in self._read() else ["auto", "legacy"]

    def note(self, protocol: Protocol, *, is_silent: bool) -> None:
        """Take note of what the server was connected by, and whether it did not answer before. Blocks."""
        known = self._read() if self._is_kept else {}
        others = {key: at for key, at in known.items() if key != self._key}
        if protocol == "legacy" and is_silent and self._is_kept:
            self._write({**others, self._key: int(time.time())})
        elif protocol == "auto" and others != known:
            self._write(others)

    def _read(self) -> dict[str, float]:
        """Return key → when it was found out, in seconds since the epoch, the latest last."""
        try:
            with self._path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
            content: Any = json.loads(data) if len(data) <= _MAX_BYTES else None
        except (OSError, ValueError, RecursionError):
            return {}
        servers = content.get("servers") if isinstance(content, dict) else None
        if not isinstance(servers, dict):
            return {}
        now = time.time()
        kept = {key: at for key, at in servers.items() if isinstance(at, int | float)}
        return {key: at for key, at in kept.items() if now - _KEPT_S < at <= now}

    def _write(self, servers: Mapping[str, float]) -> None:
        newest = dict([*servers.items()][-_MOST:])
        with contextlib.suppress(OSError):
            make_private_folder(self._path.parent)
            replace_file(self._path, json.dumps({"v": 1, "servers": newest}) + "\n")
