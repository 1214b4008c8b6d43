"""What the end of an attempt means: for the task, and for the rest of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from forge_core.batch.engine import JobResult
from forge_core.batch.event_figures import RunFigures
from forge_core.exit_codes import ExitCode
from forge_core.llm.endpoints import NO_KEY


class TaskStatus(StrEnum):
    COMPLETE = "complete"
    UNFINISHED = "unfinished"
    """A limit, a refusal or a denial."""
    ERROR = "error"
    """The provider failed."""
    FAILED = "failed"
    """The run could not start, or crashed."""
    INTERRUPTED = "interrupted"
    CUT_OFF = "cut off"
    """The batch itself was killed meanwhile, or the machine that ran the task is gone."""
    NOT_STARTED = "not started"

    @property
    def is_open(self) -> bool:
        """Whether the same command starts the task (again)."""
        return self in (TaskStatus.INTERRUPTED, TaskStatus.CUT_OFF, TaskStatus.NOT_STARTED)


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What follows from an attempt."""

    status: TaskStatus
    is_final: bool = True
    """Whether the task has ended: the same command does not start it again."""
    may_retry: bool = False
    """Whether another attempt may help."""
    breaker: str = ""
    """Why no other task would succeed now either; empty: one may."""


_BREAKERS = {
    "AuthenticationError": "the API key was not accepted",
    "PaymentRequiredError": "there is no credit, or a quota is used up",
    "ModelNotFoundError": "the model is unknown",
}
"""Class of the provider's error → what is wrong."""
_HOPELESS = frozenset({"InvalidRequestError", "ContextLengthError", "PermissionDeniedError"})
"""The same request would fail again."""


def judge(result: JobResult, figures: RunFigures, *, has_cost_limit: bool) -> AttemptOutcome:
    """Return what the end of an attempt means. `has_cost_limit`: whether its cost must be known."""
    if result.is_lost:
        return AttemptOutcome(TaskStatus.CUT_OFF, is_final=False, may_retry=True)
    if has_cost_limit and not figures.is_price_known:
        text = "the price of the model is unknown, so --max-cost cannot hold; use --max-tokens in its place"
        status = TaskStatus.COMPLETE if result.exit_code == ExitCode.COMPLETE else TaskStatus.UNFINISHED
        return AttemptOutcome(status, is_final=status is TaskStatus.COMPLETE, breaker=text)
    match result.exit_code:
        case ExitCode.COMPLETE:
            return AttemptOutcome(TaskStatus.COMPLETE)
        case ExitCode.UNFINISHED:
            return AttemptOutcome(TaskStatus.UNFINISHED)
        case ExitCode.INTERRUPTED:
            return AttemptOutcome(TaskStatus.INTERRUPTED, is_final=False)
        case ExitCode.PROVIDER if figures.error_kind in _BREAKERS:
            return AttemptOutcome(TaskStatus.ERROR, is_final=False, breaker=_BREAKERS[figures.error_kind])
        case ExitCode.PROVIDER:
            return AttemptOutcome(TaskStatus.ERROR, may_retry=figures.error_kind not in _HOPELESS)
        case ExitCode.USAGE if NO_KEY in figures.error:
            return AttemptOutcome(TaskStatus.FAILED, is_final=False, breaker="there is no API key")
        case _:
            return AttemptOutcome(TaskStatus.FAILED)
