"""The exit codes of the `forge` programs."""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False  # importing typing for it would cost every start 10 ms
if TYPE_CHECKING:
    from forge_core.result import StoppedReason


class ExitCode(IntEnum):
    COMPLETE = 0
    USAGE = 1
    """A flag, the configuration, the folder or the prompt is unusable."""
    PROVIDER = 2
    """The provider or the infrastructure failed, or a full sandbox was demanded and there is none."""
    UNFINISHED = 3
    """A limit was reached, the model refused, or the run ended on a denial."""
    INTERRUPTED = 4
    """Ctrl-C."""
    CRASH = 70
    """An internal error (EX_SOFTWARE)."""


_BY_REASON: dict[StoppedReason, ExitCode] = {
    "complete": ExitCode.COMPLETE,
    "stop_tool": ExitCode.COMPLETE,
    "error": ExitCode.PROVIDER,
    "cancelled": ExitCode.INTERRUPTED,
}


def exit_code_for(reason: StoppedReason) -> ExitCode:
    """Return the exit code of a run that stopped for `reason`."""
    return _BY_REASON.get(reason, ExitCode.UNFINISHED)
