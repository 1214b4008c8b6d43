"""A Ray cluster of two nodes on this machine, for the tests of `forge batch --engine ray`."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from forge_core.tools.shell.supervised import supervised

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="the extra `ray` is not installed; .ci/full runs this"
)
_HOST = "127.0.0.1"
_STARTED_S = 120.0


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A running cluster. Each of its nodes has one CPU."""

    address: str
    home: Path
    """The home of those who work on its nodes."""
    logs: Path
    """The folder of Ray's sessions."""
    _nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_node(self, *options: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a node, with these variables in its environment."""
        marker = f"ready-{len(self._nodes)}"
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
        command += [f"--node-ip-address={_HOST}", f"--node-name={marker}"]
        command += options or (f"--address={self.address}",)
        output = (self.logs / marker).open("wb")
        with output:
            node = subprocess.Popen(
                supervised("node", command),  # ends with the tests, even if they are killed
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "200", **variables},
            )
        self._nodes.append(node)
        deadline = time.monotonic() + _STARTED_S
        while b"Ray runtime started" not in (self.logs / marker).read_bytes():
            assert node.poll() is None and time.monotonic() < deadline, (self.logs / marker).read_text()
            time.sleep(0.05)
        return node

    def kill_node(self, node: subprocess.Popen[bytes]) -> None:
        """Kill a node, as if its machine lost power."""
        for pid in [node.pid, *_descendants(node.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        node.wait()

    def stop(self) -> None:
        for node in reversed(self._nodes):
            if node.poll() is None:
                self.kill_node(node)


@contextlib.contextmanager
def two_nodes(home: Path) -> Iterator[RayCluster]:
    """Start a cluster; it ends with the block. Drivers find its token in the environment."""
    (home / "token").write_text(secrets.token_hex(32))
    # The paths of sockets in it have 108 bytes at most, so it is not below `home`.
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray") as logs:
        for name, value in {
            "HOME": str(home),
            "FORGE_HOME": str(home / "forge"),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(home / "token"),
        }.items():
            patch.setenv(name, value)
        with socket.create_server((_HOST, 0)) as free:
            port = free.getsockname()[1]
        cluster = RayCluster(f"{_HOST}:{port}", home, Path(logs))
        try:
            cluster.add_node("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={logs}")
            cluster.add_node()
            yield cluster
        finally:
            cluster.stop()


def _descendants(pid: int) -> list[int]:
    found = []
    for entry in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, entry.read_text().split()):
                found += [child, *_descendants(child)]
    return found


def processes_naming(text: str | Path) -> list[str]:
    """Return the command lines of running processes in which a text occurs."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(text) in (line := entry.read_bytes()):
                found.append(line.decode("utf-8", "replace"))
    return found
