"""Python programs that start without imports, as copies of a process that has them.

A program that imports Forge takes a second of CPU time before it does anything. `PreloadedPopen` asks a process
that has imported what `forge run` and `forge chat` do to fork; the copy gets the arguments, the environment, the
folder and the descriptors, and runs the module. It is a child of this process, as any other program is.

What happens before or during the imports is not shown so: use `subprocess` there, and for measurements. Programs
whose environment changes how Python or a module starts get a source of their own; on other systems than Linux all
programs are started.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent.parent
_MODULES = (
    *("forge_core.headless.run", "forge_core.headless.printers", "forge_core.langchain.agent.agent"),
    *("forge_core.langchain.llm", "forge_core.runtime.tooling", "forge_core.runtime.provider_setup"),
    *("forge_core.runtime.resuming", "forge_core.session.session", "forge_core.offline.transport"),
    *("forge_core.permissions.sandbox.sandbox", "forge_core.permissions.sandbox.probing"),
    *(f"forge_core.tools.builtin.{name}" for name in ("apply_patch", "edit", "glob", "grep", "write")),
    *("langchain_core.tools.simple", "langchain_core.tracers.langchain", "langchain_core.tracers.stdout"),
    *("tree_sitter_bash", "forge_tui.app"),
)
"""What most programs import, by what imports the rest of it."""
_BRIDGE = "forge_core.mcp.bridge"
"""The only program that imports the SDK of MCP has a source of its own."""
_MAX_SOURCES = 4
"""In one process: each environment that changes how a program starts needs its own."""
_READ_AT_START = ("PYTHON", "LC_", "LANG", "TEXTUAL", "FORGE_OUTPUT")
"""What the names of variables begin with that Python or a module reads when it starts."""
_ENVIRONMENT = dict(os.environ)
_LOCK = threading.Lock()
_MAX_REQUEST_BYTES = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36

Completed = subprocess.CompletedProcess[str]


class PreloadedPopen(subprocess.Popen[Any]):
    """`subprocess.Popen`, whose command may be copied instead of started."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell, *more = rest
        p2cread, _, _, c2pwrite, _, errwrite, _, gid, *_ = more
        command = [args] if isinstance(args, str) else [os.fspath(part) for part in args]
        environment = dict(os.environ if env is None else env)
        if (
            shell
            or preexec_fn
            or pass_fds
            or executable not in (None, command[0])
            or gid is not None
            or not can_copy(command, environment)
        ):
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        descriptors = [
            given if given != -1 else usual for usual, given in enumerate((p2cread, c2pwrite, errwrite))
        ]
        start_new_session = more[-2]
        self.pid = copy(
            command, environment, Path(cwd or "."), descriptors, own_session=bool(start_new_session)
        )
        self._child_created = True
        self._close_pipe_fds(*more[:6])  # type: ignore[attr-defined]


def run(command: Sequence[str], *, stdin_text: str | None = None, **options: Any) -> Completed:
    """Run a command in text mode, as `subprocess.run`; capture both its outputs unless `options` differ."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if stdin_text is not None:
        pipes["stdin"] = subprocess.PIPE
    with PreloadedPopen(command, text=True, **{**pipes, **options}) as process:
        try:
            out, err = process.communicate(stdin_text, timeout=180)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def can_copy(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether the command is `python -m module …`, also with -P, and a source starts as it would."""
    if sys.platform != "linux" or environment.get("TERM") == "linux" or command[0] != sys.executable:
        return False
    key = _key(command, environment)
    return "-m" in command[1:3] and (key in _sources or len(_sources) < _MAX_SOURCES)


def copy(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    descriptors: Sequence[int],
    *,
    own_session: bool = False,
    has_terminal: bool = False,
) -> int:
    """Start a copy with these standard descriptors; return its process id. It may own the terminal on them."""
    request = {
        "arguments": command[1:],
        "environment": dict(environment),
        "folder": str(folder.absolute()),
        "own_session": own_session or has_terminal,
        "has_terminal": has_terminal,
    }
    libc = ctypes.CDLL(None)
    with _LOCK:
        key = _key(command, environment)
        source = _sources.get(key) or _sources.setdefault(key, _new_source(*key))
        # The process between the source and the copy ends at once: the copy becomes a child of this process.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(source, [json.dumps(request).encode()], descriptors)
            return int(source.recv(32))
        finally:
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


_Key = tuple[bool, frozenset[tuple[str, str]]]
_sources: dict[_Key, socket.socket] = {}


def _key(command: Sequence[str], environment: Mapping[str, str]) -> _Key:
    """Whether the command is the bridge, and the variables that change how it starts."""
    return _BRIDGE in command[1:4], frozenset(
        (name, value)
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and name != "PYTHON_KEYRING_BACKEND"
    )


def _new_source(is_bridge: bool, read_at_start: frozenset[tuple[str, str]]) -> socket.socket:
    """Start a process that can be copied; return the connection to it. It ends with this one."""
    names = {name for name in _ENVIRONMENT if name.startswith(_READ_AT_START)}
    environment = {name: value for name, value in _ENVIRONMENT.items() if name not in names}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno()), *([_BRIDGE] if is_bridge else [])],
            cwd=_ROOT,
            env={**environment, **dict(read_at_start)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    assert ours.recv(32) == b"ready"
    return ours


def _serve(connection: socket.socket) -> str:
    """Make copies until the connection ends. Return in each copy, with the module that it is to run."""
    for module in (f"{_BRIDGE}.bridge",) if _BRIDGE in sys.argv else _MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    connection.send(b"ready")
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _MAX_REQUEST_BYTES, 3)
        if not data:
            os._exit(0)
        ours, theirs = socket.socketpair()
        if (between := os.fork()) == 0:
            if (pid := os.fork()) > 0:
                theirs.send(b"%d" % pid)
                os._exit(0)
            connection.close()
            ours.close()
            theirs.recv(1)
            theirs.close()
            return _become(json.loads(data), descriptors)
        theirs.close()
        os.waitpid(between, 0)
        connection.send(ours.recv(32))
        ours.close()  # the copy has its parent, and goes on
        for descriptor in descriptors:
            os.close(descriptor)


def _become(request: dict[str, Any], descriptors: Sequence[int]) -> str:
    """Take on what a new process gets; return the module that it is to run."""
    if request["own_session"]:
        os.setsid()
    if request["has_terminal"]:
        fcntl.ioctl(descriptors[0], termios.TIOCSCTTY, 0)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # They know whether they can seek, as of a terminal they cannot.
    sys.stdin = sys.__stdin__ = _reopened(sys.stdin, "rb")
    sys.stdout = sys.__stdout__ = _reopened(sys.stdout, "wb")
    sys.stderr = sys.__stderr__ = _reopened(sys.stderr, "wb")
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    *options, module = request["arguments"][: (place := request["arguments"].index("-m") + 2)]
    sys.path[:1] = [] if "-P" in options else [request["folder"]]
    sys.argv[1:] = request["arguments"][place:]
    return str(module)


def _reopened(stream: Any, mode: str) -> io.TextIOWrapper:
    """Return a new standard stream as Python makes it from this one's descriptor."""
    number, is_unbuffered = stream.fileno(), stream.write_through
    binary = open(number, mode, buffering=0 if is_unbuffered else -1, closefd=False)  # noqa: SIM115
    is_line_buffered = stream.line_buffering or (number == 1 and os.isatty(1) and not is_unbuffered)
    return io.TextIOWrapper(
        binary,
        stream.encoding,
        stream.errors,
        line_buffering=is_line_buffered,
        write_through=is_unbuffered,
    )


if __name__ == "__main__":
    runpy.run_module(_serve(socket.socket(fileno=int(sys.argv[1]))), run_name="__main__", alter_sys=True)
