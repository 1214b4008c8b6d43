"""What the end of an attempt means."""

from __future__ import annotations

import pytest

from forge_core.batch.engine import JobResult
from forge_core.batch.event_figures import RunFigures
from forge_core.batch.outcomes import judge
from forge_core.llm.endpoints import DEFAULT_PROVIDER, missing_key


@pytest.mark.parametrize(
    "code, kind, status, is_final, may_retry, breaks",
    [
        (0, "", "complete", True, False, False),
        (1, "", "failed", True, False, False),
        (70, "", "failed", True, False, False),
        (137, "", "failed", True, False, False),
        (3, "", "unfinished", True, False, False),
        (4, "", "interrupted", False, False, False),
        (2, "", "error", True, True, False),
        (2, "ServerError", "error", True, True, False),
        (2, "RateLimitError", "error", True, True, False),
        (2, "InvalidRequestError", "error", True, False, False),
        (2, "PermissionDeniedError", "error", True, False, False),
        (2, "AuthenticationError", "error", False, False, True),
        (2, "PaymentRequiredError", "error", False, False, True),
        (2, "ModelNotFoundError", "error", False, False, True),
    ],
)
def test_exit_codes_and_errors_decide(
    code: int, kind: str, status: str, is_final: bool, may_retry: bool, breaks: bool
) -> None:
    found = judge(JobResult(exit_code=code), RunFigures(error_kind=kind), has_cost_limit=True)
    assert (found.status, found.is_final, found.may_retry) == (status, is_final, may_retry)
    assert bool(found.breaker) is breaks


def test_a_missing_key_stops_the_batch_and_its_task_starts_again() -> None:
    error = f"forge: {missing_key(DEFAULT_PROVIDER)}"
    found = judge(JobResult(exit_code=1), RunFigures(error=error), has_cost_limit=False)
    assert (found.status, found.is_final, found.breaker) == ("failed", False, "there is no API key")


def test_what_a_lost_machine_has_run_is_tried_again() -> None:
    found = judge(JobResult(exit_code=70, is_lost=True), RunFigures(), has_cost_limit=True)
    assert (found.status, found.is_final, found.may_retry) == ("cut off", False, True)


@pytest.mark.parametrize("code, is_final", [(0, True), (3, False)])
def test_an_unknown_price_below_a_limit_of_cost_stops_the_batch(code: int, is_final: bool) -> None:
    figures = RunFigures(is_price_known=False)
    found = judge(JobResult(exit_code=code), figures, has_cost_limit=True)
    assert "use --max-tokens" in found.breaker and found.is_final is is_final
    assert not judge(JobResult(exit_code=code), figures, has_cost_limit=False).breaker
