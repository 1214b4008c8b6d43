"""The result of a command for the model, in the foreground and as a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forge_core.result import ToolOutcome
from forge_core.tools.base import ToolResult
from forge_core.tools.shell.job import Job, exit_code_text, processes_text
from forge_core.tools.shell.job_table import ForegroundOutcome, JobUpdate

_NO_NETWORK = (
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "Name or service not known",
    "getaddrinfo",
    "EAI_AGAIN",
)
_REFUSED = "connection refused"
_OUTCOMES: Mapping[ForegroundOutcome, ToolOutcome] = {
    ForegroundOutcome.MOVED: "background",
    ForegroundOutcome.TOOK_LONG: "background",
    ForegroundOutcome.TIMED_OUT: "timed_out",
    ForegroundOutcome.INTERRUPTED: "interrupted",
}
_READ_ONLY = "Read-only file system"
_LOOKED_AT = 20_000


def command_result(
    job: Job, how: ForegroundOutcome, notes: Sequence[str], *, asked_for: bool, is_reachable: bool
) -> ToolResult:
    """Return the result of the call that started the command.

    `notes` describe its effects on files; `is_reachable` says whether the job tools know its job.
    """
    output = job.capture.take()
    error, summary = _verdict(job, how)
    standing = _standing(job, how, asked_for=asked_for, is_reachable=is_reachable)
    told = [*standing, *notes, *_hints(job, how, output)]
    is_running = how in (ForegroundOutcome.MOVED, ForegroundOutcome.TOOK_LONG)
    body = output.rstrip("\n") if output.strip() else "(no output yet)" if is_running else "(no output)"
    return ToolResult(
        success=error is None,
        output="\n".join([body, *told]),
        error=error,
        summary=summary,
        outcome=_OUTCOMES.get(how, "done" if error is None else "failed"),
        aside=_aside(job, error, told),
        model_notes=tuple(standing),
        omission=job.capture.omission,
    )


def job_result(news: JobUpdate) -> ToolResult:
    """Return the result of a look at a job."""
    job = news.job
    body = news.output.rstrip("\n") if news.output.strip() else "(no new output)"
    line = f"[job {job.id} {job.outcome}]"
    return ToolResult(
        success=True,
        output="\n".join([body, line, *news.notes]),
        summary=f"job {job.id}: {job.outcome}",
        model_notes=(line,),
        omission=job.capture.omission,
    )


def _standing(job: Job, how: ForegroundOutcome, *, asked_for: bool, is_reachable: bool) -> list[str]:
    """Return notes on the state of the command."""
    ended = [_took(job)] if job.process.exit_code == 0 else []
    left = processes_text(job.process.left)
    ways = f"job_output {job.id} shows its output, job_stop {job.id} ends it"
    file = f"; all of its output goes to {job.capture.kept_in}" if job.capture.kept_in else ""
    match how:
        case ForegroundOutcome.ENDED:
            return ended
        case ForegroundOutcome.LEFT_RUNNING if not is_reachable:
            return [*ended, f"[still running in the background: {left}; it ends with the session]"]
        case ForegroundOutcome.LEFT_RUNNING:
            standing = f"[still running in the background as job {job.id}: {left}; {ways}{file}]"
            return [*ended, standing, *_apart(job)]
        case ForegroundOutcome.NO_ROOM:
            return [
                *ended,
                f"[it left running: {left}. This was stopped: the maximum number of jobs is running]",
            ]
        case ForegroundOutcome.TOOK_LONG | ForegroundOutcome.MOVED:
            until = f"; it is stopped {job.timeout_s:g} s after its start" if job.timeout_s else ""
            if how is ForegroundOutcome.MOVED:
                why = "the user moved it to the background: it is now"
            else:
                why = "runs in the background as" if asked_for else "it still runs, in the background now as"
            standing = f"[{why} job {job.id}{until}; {ways}; its end is reported with the next message{file}]"
            return [standing, *_apart(job)]
        case _:
            return []


def _took(job: Job) -> str:
    return f"[exit code 0, {job.duration_s:.1f} s]"


def _aside(job: Job, error: str | None, told: Sequence[str]) -> str:
    """Return the line of the output that the summary repeats."""
    if error is not None:
        return f"Error: {error}"
    return _took(job) if list(told) == [_took(job)] else ""


def _apart(job: Job) -> list[str]:
    """Return further notes on a sandboxed job."""
    sandbox = job.spec.sandbox
    if sandbox is None or job.spec.network or sandbox.state.kind != "bubblewrap":
        return []
    return ["[in the sandbox no other command reaches its ports, unless both run with network=true]"]


def _verdict(job: Job, how: ForegroundOutcome) -> tuple[str | None, str]:
    """Return the error, None on success, and the card's summary."""
    ended = "the command and what it started were ended. Its output:"
    match how:
        case ForegroundOutcome.TIMED_OUT:
            return f"timed out after {job.timeout_s:g} s; {ended}", "timed out"
        case ForegroundOutcome.INTERRUPTED:
            return f"interrupted by the user; {ended}", "interrupted"
        case ForegroundOutcome.TOOK_LONG | ForegroundOutcome.MOVED:
            return None, f"job {job.id}"
    if code := job.process.exit_code or 0:
        return exit_code_text(code), f"exit {code}"
    return None, "exit 0" if how is not ForegroundOutcome.LEFT_RUNNING else f"exit 0, job {job.id}"


def _hints(job: Job, how: ForegroundOutcome, output: str) -> list[str]:
    """Return what a failure in the sandbox most likely comes from."""
    sandbox = job.spec.sandbox
    if how is not ForegroundOutcome.ENDED or not job.process.exit_code or sandbox is None:
        return []
    if sandbox.state.strength == "off":
        return []
    hints: list[str] = []
    tail = output[-_LOOKED_AT:]
    if not job.spec.network and any(words in tail for words in _NO_NETWORK):
        hints.append("[the sandbox has no network; with network=true the user is asked for it]")
    if not job.spec.network and _REFUSED in tail.lower():
        hints.append(
            "[each command in the sandbox has a loopback of its own, unless it runs with network=true]"
        )
    if _READ_ONLY in tail:
        hints.append("[in the sandbox only the workspace and /tmp can be written]")
    return hints
