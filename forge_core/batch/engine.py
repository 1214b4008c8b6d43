"""Where tasks run. An engine gets plain data and brings back files, so that it may be on other machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

MAX_FILE_BYTES = 50_000_000
"""The largest file that a task brings back; longer ones are left out or cut off."""
PROMPT_FILE = "prompt.txt"
EVENTS_FILE = "events.jsonl"
STDERR_FILE = "stderr.log"
PATCH_FILE = "diff.patch"
VERIFY_FILE = "verify.log"

Verdict = Literal["", "passed", "failed", "not run"]
"""What the command `verify` has found; empty: there is none, or there was nothing to check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchJob:
    """One attempt at a task. All fields can be pickled and written as JSON."""

    id: str
    """Of the task."""
    attempt: int
    """1 for the first one of the batch."""
    folder: str
    """Where its files belong, on the machine of the driver; empty, or with PROMPT_FILE only."""
    repo: str
    ref: str
    worktree: str
    """The name of the worktree to make."""
    prompt: str
    options: tuple[str, ...] = ()
    """Of `forge run`: model, rules and limits."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Set in addition to the environment."""
    verify: str = ""
    time_limit_s: float | None = None
    """After which the run ends itself. One that does not is ended a little later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """How an attempt has ended. The files named above are in the folder of the job."""

    exit_code: int
    """Of `forge run`; 128 + n after signal n."""
    verdict: Verdict = ""
    added: int | None = None
    """Lines; None where the changes are unknown."""
    removed: int | None = None
    worktree: str = ""
    """The path of the worktree, if it was kept."""
    kept_because: str = ""
    notes: tuple[str, ...] = ()
    """What went wrong besides, for the user; untrusted text."""
    duration_s: float = 0.0
    is_lost: bool = False
    """Whether the machine or the process that ran it is gone. Its last events may be missing then, and the
    exit code says nothing."""


class Engine(Protocol):
    """Runs jobs. Retries, money and the record of the batch belong to the driver."""

    is_remote: bool
    """Whether the events of a job come from elsewhere: those in its folder lag behind."""

    async def open(self) -> None:
        """Get ready. Raises ForgeError with what is missing."""

    async def submit(self, job: BatchJob) -> JobResult:
        """Run a job to its end. Never raises for a failure of the job."""

    def cancel(self, job_id: str) -> None:
        """Interrupt a job as Ctrl-C does, so that it keeps its journal; `submit` returns soon after."""

    async def close(self) -> None:
        """End all that still runs, at once."""
