"""Forge opens no door: after a turn with tools the program listens on no socket of any kind."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

LISTENING = "0A"
"""TCP_LISTEN in /proc/net/tcp."""
ACCEPTS = 0x10000
"""__SO_ACCEPTCON in the flags of /proc/net/unix."""

pytestmark = [
    pytest.mark.pty,
    pytest.mark.skipif(not Path("/proc/self/net/tcp").is_file(), reason="there is no /proc/net here"),
]


def listening(pid: int) -> set[str]:
    """The inodes of the listening sockets that a process holds open."""
    held: set[str] = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the descriptor that lists them is gone by now
            found = re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink()))
            held |= {found[1]} if found else set()
    net = Path(f"/proc/{pid}/net")
    waiting: set[str] = set()
    for table in ("tcp", "tcp6"):
        if (net / table).is_file():
            rows = [line.split() for line in (net / table).read_text().splitlines()[1:]]
            waiting |= {row[9] for row in rows if row[3] == LISTENING}
    rows = [line.split() for line in (net / "unix").read_text().splitlines()[1:]]
    waiting |= {row[6] for row in rows if int(row[3], 16) & ACCEPTS}
    return held & waiting


def test_the_check_sees_a_listening_socket(tmp_path: Path) -> None:
    before = listening(os.getpid())
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as local:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        local.bind(str(tmp_path / "s"))
        local.listen()
        assert len(listening(os.getpid()) - before) == 2


def test_a_chat_that_has_read_and_searched_listens_on_no_socket(tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_text("def greet(name):\n    return f'hello {name}'\n")
    with Terminal(
        [sys.executable, "-m", "forge_tui.cli", "chat"], size=(100, 30), folder=tmp_path
    ) as terminal:
        terminal.wait_for("Ask about this folder")
        terminal.send("where is the function greet?\r")
        terminal.wait_for("greet.py:1")
        assert listening(terminal.pid) == set()
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
