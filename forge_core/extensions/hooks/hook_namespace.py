"""The pid namespace of a hook: when Forge ends, even by SIGKILL, the kernel ends every process in it.

bubblewrap sets it up. Files, devices, sockets and the network are those outside, only /proc is new. A
namespace ends with its first process, and a hook may leave a program in the background. So the first process
is a supervisor, a small shell program. It runs the hook, reports on standard error how that ended, and ends
when no other process is left.

Source: man 1 bwrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState

_OPTIONS = "--die-with-parent --new-session --unshare-pid --dev-bind / / --proc /proc --chdir"
_SUPERVISOR = r"""
trap : HUP INT QUIT TERM
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
code=$?
set -- /proc/[0-9]*
printf '%s %s %s\n' "$0" "$code" $(($# - 2)) >&3
exec </dev/null >/dev/null 3>&-
pause=1
while [ $# -gt 2 ]; do
  sleep $pause || break
  [ $pause -gt 30 ] || pause=$((2 * pause))
  set -- /proc/[0-9]*
done
exit $code
"""
"""Its messages, such as that of a killed child, go nowhere, and signals to its process group do not end it.
Two entries in /proc are those of bubblewrap's init and of this shell."""


def namespace_program(state: SandboxState) -> str:
    """Return the path of the bubblewrap that sets up namespaces of hooks; "" where it cannot, or where the
    user has turned the sandbox off."""
    return state.program if state.kind is SandboxKind.BUBBLEWRAP and not state.host_proc else ""


def namespaced(program: str, mark: str, argv: Sequence[str], folder: Path) -> list[str]:
    """Return the argument vector that runs `argv` in a namespace. The report begins with `mark`."""
    return [program, *_OPTIONS.split(), str(folder), "--", "/bin/sh", "-c", _SUPERVISOR, mark, *argv]


@dataclass(slots=True)
class ExitReport:
    """What a supervisor has reported, taken out of what a hook writes to standard error."""

    mark: str
    """Empty: the hook has no supervisor."""
    exit_code: int | None = None
    """None: the hook runs, or its supervisor does not."""
    leaves_programs: bool = False
    """Whether programs that the hook has started run on."""

    def take(self, text: bytearray) -> None:
        """Remove the report from the text, if it is in it."""
        if not self.mark or self.exit_code is not None:
            return
        start = text.rfind(f"{self.mark} ".encode())
        end = text.find(b"\n", start)
        if start >= 0 and end >= 0:
            _, code, count = text[start:end].split()
            self.exit_code, self.leaves_programs = int(code), int(count) > 0
            del text[start : end + 1]
