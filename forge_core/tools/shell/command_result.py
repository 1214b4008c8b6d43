"""The result of a command for the model, in the foreground and as a job."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from forge_core.result import ToolOutcome
from forge_core.tools.base import ToolResult
from forge_core.tools.shell.job import Job, exit_code_text, processes_text
from forge_core.tools.shell.job_table import ForegroundOutcome, JobUpdate
from forge_core.tools.shell.limits import GB

_NO_NETWORK = (
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "Name or service not known",
    "getaddrinfo",
    "EAI_AGAIN",
)
_REFUSED = "connection refused"
_READ_ONLY = "Read-only file system"
_FILE_TOO_LARGE = 128 + signal.SIGXFSZ
_LARGE_FILE = ("File too large", "File size limit exceeded", "EFBIG")
_OPEN_FILES = "Too many open files"
_LOOKED_AT = 20_000


def command_result(
    job: Job, how: ForegroundOutcome, notes: Sequence[str], *, asked_for: bool, is_reachable: bool
) -> ToolResult:
    """Return the result of the call that started the command.

    `notes` describe its effects on files; `is_reachable` says whether the job tools know its job.
    """
    output = job.capture.take()
    outcome, error, summary = _outcome(job, how)
    state = _state_notes(job, how, asked_for=asked_for, is_reachable=is_reachable)
    all_notes = [*state, *notes, *_hints(job, how, output)]
    nothing = "(no output yet)" if outcome == "background" else "(no output)"
    return ToolResult(
        success=error is None,
        output="\n".join([output.rstrip("\n") if output.strip() else nothing, *all_notes]),
        error=error,
        summary=summary,
        outcome=outcome,
        aside=_aside(job, error, all_notes),
        model_notes=tuple(state),
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


def _state_notes(job: Job, how: ForegroundOutcome, *, asked_for: bool, is_reachable: bool) -> list[str]:
    """Return notes on the state of the command."""
    ended = [_took(job)] if job.process.exit_code == 0 else []
    left = processes_text(job.process.left)
    match how:
        case ForegroundOutcome.TIMED_OUT | ForegroundOutcome.INTERRUPTED:
            return []
        case ForegroundOutcome.ENDED:
            return ended
        case ForegroundOutcome.LEFT_RUNNING if not is_reachable:
            return [*ended, f"[still running in the background: {left}; it ends with the session]"]
        case ForegroundOutcome.NO_ROOM:
            text = f"[it left running: {left}. This was stopped: the maximum number of jobs is running]"
            return [*ended, text]
    ways = f"job_output {job.id} shows its output, job_stop {job.id} ends it"
    file = f"; all of its output goes to {job.capture.kept_in}" if job.capture.kept_in else ""
    if how is ForegroundOutcome.LEFT_RUNNING:
        notes = [*ended, f"[still running in the background as job {job.id}: {left}; {ways}{file}]"]
    else:
        until = f"; it is stopped {job.timeout_s:g} s after its start" if job.timeout_s else ""
        if how is ForegroundOutcome.MOVED:
            why = "the user moved it to the background: it is now"
        else:
            why = "runs in the background as" if asked_for else "it still runs, in the background now as"
        notes = [f"[{why} job {job.id}{until}; {ways}; its end is reported with the next message{file}]"]
    sandbox = job.spec.sandbox
    if sandbox is not None and not job.spec.network and sandbox.state.kind == "bubblewrap":
        notes.append("[in the sandbox no other command reaches its ports, unless both run with network=true]")
    return notes


def _took(job: Job) -> str:
    return f"[exit code 0, {job.duration_s:.1f} s]"


def _aside(job: Job, error: str | None, notes: Sequence[str]) -> str:
    """Return the line of the output that the summary repeats."""
    if error is not None:
        return f"Error: {error}"
    return _took(job) if list(notes) == [_took(job)] else ""


def _outcome(job: Job, how: ForegroundOutcome) -> tuple[ToolOutcome, str | None, str]:
    """Return the outcome, the error (None on success), and the card's summary."""
    ended = "the command and what it started were ended. Its output:"
    match how:
        case ForegroundOutcome.TIMED_OUT:
            return "timed_out", f"timed out after {job.timeout_s:g} s; {ended}", "timed out"
        case ForegroundOutcome.INTERRUPTED:
            return "interrupted", f"interrupted by the user; {ended}", "interrupted"
        case _ if why := job.process.stopped_because:
            return "failed", f"stopped: {why}; {ended}", job.process.stop_summary
        case ForegroundOutcome.TOOK_LONG | ForegroundOutcome.MOVED:
            return "background", None, f"job {job.id}"
    if code := job.process.exit_code:
        return "failed", exit_code_text(code), f"exit {code}"
    return "done", None, "exit 0" if how is not ForegroundOutcome.LEFT_RUNNING else f"exit 0, job {job.id}"


def _hints(job: Job, how: ForegroundOutcome, output: str) -> list[str]:
    """Return what a failure most likely comes from: a limit, or the sandbox."""
    if how is not ForegroundOutcome.ENDED or not job.process.exit_code:
        return []
    tail = output[-_LOOKED_AT:]
    hints = _limit_hints(job, tail)
    sandbox = job.spec.sandbox
    if sandbox is None or sandbox.state.strength == "off":
        return hints
    if not job.spec.network and any(words in tail for words in _NO_NETWORK):
        hints.append("[the sandbox has no network; with network=true the user is asked for it]")
    if not job.spec.network and _REFUSED in tail.lower():
        hints.append(
            "[each command in the sandbox has a loopback of its own, unless it runs with network=true]"
        )
    if _READ_ONLY in tail:
        hints.append("[in the sandbox only the workspace and /tmp can be written]")
    return hints


def _limit_hints(job: Job, tail: str) -> list[str]:
    hints: list[str] = []
    limits = job.spec.limits
    if job.process.exit_code == _FILE_TOO_LARGE or any(words in tail for words in _LARGE_FILE):
        size = f"{limits.file_bytes / GB:g} GB"
        hints.append(f"[a command may write files of at most {size} (command_file_gb)]")
    if _OPEN_FILES in tail:
        count = f"{limits.open_files:,}"
        hints.append(f"[a process may have at most {count} files open (command_open_files)]")
    return hints
