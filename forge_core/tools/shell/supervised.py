"""Programs under a supervisor: all that they start ends with Forge, even if Forge is killed.

On Linux the supervisor adopts every process that the program leaves behind, also daemons (a "subreaper", see
PR_SET_CHILD_SUBREAPER in man 2 prctl). It ends them all at SIGTERM, which the kernel sends when Forge ends
(PR_SET_PDEATHSIG). The program itself is not confined: sudo, ssh and pgrep work in it, unlike in a pid
namespace. Starting one takes about 12 ms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

_SUPERVISOR = r"""
import ctypes, os, signal, sys

mark, parent, program = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
prctl = ctypes.CDLL(None).prctl


def children():
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(one) for one in file.read().split()]
    except OSError:
        pass
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
        except OSError:
            pass
    return found


def end(*_):
    # The children of a killed process become children of this one.
    while True:
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(143)


signals = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
prctl(36, 1, 0, 0, 0)
prctl(1, signal.SIGTERM, 0, 0, 0)
if os.getppid() != parent:
    os._exit(143)
pid = os.fork()
if pid == 0:
    code = 126
    os.setpgid(0, 0)  # a signal that the program sends to its group does not reach the supervisor
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        os.execvp(program[0], program)
    except FileNotFoundError as error:
        code = 127
        os.write(2, f"{program[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
    except (OSError, ValueError) as error:
        os.write(2, f"{program[0]}: {error}\n".encode("utf-8", "surrogateescape"))
    os._exit(code)
signal.signal(signal.SIGTERM, end)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
while True:
    ended, status = os.waitpid(-1, 0)
    if ended == pid:
        break
code = os.waitstatus_to_exitcode(status)
code = 128 - code if code < 0 else code
try:
    ended = os.waitpid(-1, os.WNOHANG)
    while ended[0]:
        ended = os.waitpid(-1, os.WNOHANG)
    leaves = 1
except ChildProcessError:
    leaves = 0
os.write(2, f"{mark} {code} {leaves}\n".encode())
if leaves:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
os._exit(code)
"""
"""Python ignores two signals, which an exec keeps. Of the signals that a terminal or a group may get, the
supervisor takes SIGTERM only."""


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
