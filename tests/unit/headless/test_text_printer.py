"""Plain text output where an answer breaks off and starts again."""

from __future__ import annotations

import io
from pathlib import Path

from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Retry,
    ToolEnd,
    ToolStart,
)
from forge_core.headless.printers import RESTART, TextPrinter
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, StoppedReason

USAGE = TokenUsage()
END = LLMEnd(usage=USAGE, cost_usd=None, finish_reason=None, duration_s=0.0, total_usage=USAGE)
RETRY = Retry.of("It broke.", attempt=1, max_retries=2, wait_s=0.0, discards_answer=True)
CALL = ToolStart(call_id="c", name="ls", arguments={})
FAILED = Error(error="It broke for good.", kind="E", recoverable=True)


def start(iteration: int = 1) -> LLMStart:
    return LLMStart(iteration=iteration, model="m")


def over(reason: StoppedReason = "complete", *, is_resumable: bool = False) -> AgentEnd:
    result = AgentResult("", [], [], USAGE, 1, stopped_reason=reason, is_resumable=is_resumable)
    return AgentEnd(result=result)


REPEATED: list[AgentEvent] = [
    *(start(), LLMChunk(text="I lo"), END, RETRY),
    *(start(), LLMChunk(text="I look."), END, CALL),
    *(start(2), LLMChunk(text="Do"), END, RETRY, start(2), END, RETRY),
    *(start(2), LLMChunk(text="Done."), END, over()),
]
FAILING: list[AgentEvent] = [start(), LLMChunk(text="ha"), END, RETRY, start(), END, FAILED]


def printed(events: list[AgentEvent], file: Path | None = None) -> tuple[str, str]:
    """What is on standard output, a file or else something like a pipe, and on standard error."""
    err = io.StringIO()
    with io.StringIO() if file is None else file.open("w+") as out:
        printer = TextPrinter(out, err)
        for event in events:
            printer.event(event)
        out.seek(0)
        return out.read(), err.getvalue()


def test_piped_output_marks_where_an_answer_restarts() -> None:
    out, err = printed(REPEATED)
    assert out == f"I lo\n{RESTART}\nI look.\nDo\n{RESTART}\nDone.\n"
    assert err.count("It broke. Starting the answer again at once.") == 3


def test_an_output_file_gets_only_complete_answers(tmp_path: Path) -> None:
    assert printed(REPEATED, tmp_path / "out")[0] == "I look.\nDone.\n"


def test_the_partial_answer_is_printed_once_when_all_retries_fail(tmp_path: Path) -> None:
    events = [*FAILING, over("error", is_resumable=True)]
    assert printed(events)[0] == printed(events, tmp_path / "out")[0] == "ha\n"


def test_an_interrupt_during_a_retry_wait_prints_the_partial_answer(tmp_path: Path) -> None:
    events = [*FAILING[:4], over("cancelled", is_resumable=True)]
    assert printed(events)[0] == printed(events, tmp_path / "out")[0] == "ha\n"


def test_an_uninterrupted_answer_is_printed_unchanged(tmp_path: Path) -> None:
    events = [start(), LLMChunk(text="a"), END, start(2), LLMChunk(text="b\n"), END, over()]
    assert printed(events)[0] == printed(events, tmp_path / "out")[0] == "a\nb\n"


def test_a_plan_is_printed_as_the_answer(tmp_path: Path) -> None:
    end = ToolEnd(
        call_id="c",
        name="exit_plan_mode",
        result="not approved",
        success=True,
        duration_s=0.1,
        document="# Goal",
    )
    events: list[AgentEvent] = [start(), LLMChunk(text="Here it is:"), END, CALL, end, over()]
    for file in (None, tmp_path / "out"):
        out, err = printed(events, file)
        assert out == "Here it is:\n# Goal\n"
        assert "✓ exit_plan_mode" in err
