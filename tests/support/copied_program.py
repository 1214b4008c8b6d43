"""A program `forge` that others can start, whose work a preloaded copy does (`tests/support/preloaded.py`).

What starts it gets a small process that passes its arguments, environment, folder, descriptors and Ctrl+C on, and
ends as the copy does, which is killed with it. The copy is a child of the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from types import TracebackType

from tests.support.preloaded import copy

_CLIENT = """
import json, os, signal, socket, sys
link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
link.connect(sys.argv[1])
request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd()}
socket.send_fds(link, [json.dumps(request).encode()], [0, 1, 2])
signal.signal(signal.SIGINT, lambda *_: link.send(b"interrupt"))
os._exit(int(link.recv(32)))
"""
_MAX_REQUEST_BYTES = 1 << 20


class CopiedProgram:
    """Serves in threads until the end of the context. Linux only."""

    def __init__(self, folder: Path) -> None:
        path = folder / "forge.socket"
        self.argv = (sys.executable, "-I", "-S", "-c", _CLIENT, str(path))
        """Of the program, without its arguments."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> CopiedProgram:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:  # the first one adds the others, and has ended then
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the end of the context
            while True:
                thread = threading.Thread(target=_run, args=(self._listener.accept()[0],))
                self._threads.append(thread)
                thread.start()


def _run(client: socket.socket) -> None:
    """Run one program to its end."""
    with client, contextlib.suppress(BrokenPipeError):
        data, descriptors, _, _ = socket.recv_fds(client, _MAX_REQUEST_BYTES, 3)
        request = json.loads(data)
        command = [sys.executable, "-P", "-m", "forge_tui.cli", *request["arguments"]]
        folder = Path(request["folder"])
        pid = copy(command, request["environment"], folder, descriptors, own_session=True)
        for descriptor in descriptors:
            os.close(descriptor)
        client.send(b"%d" % _exit_code(pid, client))


def _exit_code(pid: int, client: socket.socket) -> int:
    """Return the exit code of a copy, to which what the client gets is passed on."""
    ended = os.pidfd_open(pid)
    try:
        watched = [ended, client.fileno()]
        while ended not in (ready := select.select(watched, [], [])[0]):
            is_interrupt = bool(ready and client.recv(32))
            os.kill(pid, signal.SIGINT if is_interrupt else signal.SIGKILL)
            if not is_interrupt:
                watched = [ended]
    finally:
        os.close(ended)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return 128 - code if code < 0 else code
