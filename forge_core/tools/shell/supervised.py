"""Programs under a supervisor: all that they start ends with Forge, even if Forge is killed.

On Linux the supervisor adopts every process that the program leaves behind, also daemons (a "subreaper", see
PR_SET_CHILD_SUBREAPER in man 2 prctl). It ends them all at SIGTERM, which the kernel sends when Forge ends
(PR_SET_PDEATHSIG). The program ends with the supervisor if that is killed. It is not confined: sudo, ssh and
pgrep work in it, unlike in a pid namespace. Starting a supervisor takes about 10 ms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

_SUPERVISOR = r"""
import _signal, posix, sys

mark, parent, program = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def prctl(*arguments):
    try:
        from _ctypes import call_function, dlopen, dlsym
    except ImportError:
        import ctypes
        ctypes.CDLL(None).prctl(*arguments)
    else:
        call_function(dlsym(dlopen(None, 0), "prctl"), arguments)


def run():
    tried = OSError(2, "No such file or directory")
    path = posix.environ.get(b"PATH", b"/bin:/usr/bin").decode("utf-8", "surrogateescape")
    for folder in ["."] if "/" in program[0] else path.split(":"):
        try:
            posix.execv(program[0] if "/" in program[0] else f"{folder or '.'}/{program[0]}", program)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            tried = error
    posix.write(2, f"{program[0]}: {tried.strerror}\n".encode("utf-8", "surrogateescape"))
    posix._exit(127 if tried.errno == 2 else 126)


def children():
    try:
        with open(f"/proc/self/task/{posix.getpid()}/children") as file:
            return [int(one) for one in file.read().split()]
    except OSError:
        pass
    found = []
    for name in filter(str.isdigit, posix.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == posix.getpid():
                    found.append(int(name))
        except OSError:
            pass
    return found


def end(*_):
    # The children of a killed process become children of this one.
    while True:
        for pid in children():
            try:
                posix.kill(pid, _signal.SIGKILL)
            except OSError:
                pass
        try:
            posix.waitpid(-1, 0)
        except ChildProcessError:
            posix._exit(143)


signals = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)
_signal.pthread_sigmask(_signal.SIG_BLOCK, signals)
prctl(36, 1, 0, 0, 0)
prctl(1, int(_signal.SIGTERM), 0, 0, 0)
if posix.getppid() != parent:
    posix._exit(143)
supervisor = posix.getpid()
pid = posix.fork()
if pid == 0:
    posix.setpgid(0, 0)  # a signal that the program sends to its group does not reach the supervisor
    prctl(1, int(_signal.SIGKILL), 0, 0, 0)
    if posix.getppid() != supervisor:
        posix._exit(143)
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, signals)
    run()
_signal.signal(_signal.SIGTERM, end)
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGTERM,))
ended, status = posix.waitpid(-1, 0)
while ended != pid:
    ended, status = posix.waitpid(-1, 0)
code = posix.waitstatus_to_exitcode(status)
code = 128 - code if code < 0 else code
leaves = 1
try:
    while posix.waitpid(-1, posix.WNOHANG)[0]:
        pass
except ChildProcessError:
    leaves = 0
try:
    posix.write(2, f"{mark} {code} {leaves}\n".encode())
except OSError:  # Forge was killed: SIGTERM is about to come
    pass
if leaves:
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for descriptor in (0, 1, 2):
        posix.dup2(nothing, descriptor)
    try:
        while True:
            posix.waitpid(-1, 0)
    except ChildProcessError:
        pass
posix._exit(code)
"""
"""Only built-in modules: `os`, `signal` and `ctypes` would take 8 ms more. Python ignores two signals, which
an exec keeps. Of the signals that a terminal or a group may get, the supervisor takes SIGTERM only."""


def can_supervise() -> bool:
    """Return whether a supervisor can run here."""
    return sys.platform == "linux" and bool(sys.executable)


def supervised(mark: str, argv: Sequence[str]) -> list[str]:
    """Return the argument vector that runs `argv` under a supervisor, for a child of this process.

    The supervisor reports on standard error how the program has ended, in a line that begins with `mark`
    (`ExitReport`), and lives as long as any process that the program has left. Its own exit code is that of
    the program: 126 and 127 if it could not be started, 128 plus the number of a signal. SIGTERM ends it and
    all that it has adopted.
    """
    return [sys.executable, "-I", "-S", "-c", _SUPERVISOR, mark, str(os.getpid()), *argv]


@dataclass(slots=True)
class ExitReport:
    """What a supervisor has reported, taken out of what a program writes to standard error."""

    mark: str
    """Empty: the program has no supervisor."""
    exit_code: int | None = None
    """None: the program runs."""
    leaves_programs: bool = False
    """Whether programs that it has started run on."""

    def take(self, text: bytearray) -> None:
        """Remove the report from the text, if it is in it."""
        if not self.mark or self.exit_code is not None:
            return
        start = text.rfind(f"{self.mark} ".encode())
        end = text.find(b"\n", start)
        if start >= 0 and end >= 0:
            _, code, leaves = text[start:end].split()
            self.exit_code, self.leaves_programs = int(code), leaves == b"1"
            del text[start : end + 1]
