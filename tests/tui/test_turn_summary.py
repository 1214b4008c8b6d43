"""The line at the end of a turn: only from figures that exist, and only where it is worth a line."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forge_core.approval import ToolKind
from forge_core.events import AgentEnd, ToolEnd, ToolStart
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, FileDiff, StoppedReason
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from forge_tui.widgets.transcript.turn_summary import TurnEndBlock, TurnSummary


def end(
    duration: float = 2.0,
    stopped: StoppedReason = "complete",
    cost: str | None = None,
    *,
    resumable: bool = False,
) -> AgentEnd:
    usage = TokenUsage(cost_usd=Decimal(cost) if cost else None)
    return AgentEnd(
        result=AgentResult(
            "", [], [], usage, 1, duration=duration, stopped_reason=stopped, is_resumable=resumable
        )
    )


def edit(number: int, path: str, *, success: bool = True) -> ToolEnd:
    diff = FileDiff(path, "@@ -1 +1,2 @@\n-a\n+b\n+c\n", 2, 1)
    return ToolEnd(
        call_id=str(number), name="edit", result="", success=success, duration_s=0.1, diffs=(diff,)
    )


def run(command: str, *, success: bool) -> list[ToolStart | ToolEnd]:
    start = ToolStart(
        call_id=command, name="bash", arguments={}, title="Run", target=command, kind=ToolKind.RUN
    )
    return [start, ToolEnd(call_id=command, name="bash", result="", success=success, duration_s=1.0)]


def line(*events: ToolStart | ToolEnd, at_end: AgentEnd | None = None) -> str:
    summary = TurnSummary()
    for event in events:
        summary.apply(event)
    return summary.line(at_end or end())


def test_a_turn_that_changed_files_is_summed_up() -> None:
    edits = [edit(1, "a.py"), edit(2, "b.py"), edit(3, "a.py"), edit(4, "c.py", success=False)]
    said = line(*edits, *run("pytest -q tests/unit", success=True), at_end=end(48.2, cost="0.0912"))
    assert said == "3 edits in 2 files +6 −3 · tests passed · 48 s · $0.091"
    assert line(edit(1, "a.py")) == "1 edit in 1 file +2 −1 · 2 s"


@pytest.mark.parametrize(
    ("at_end", "said"),
    [
        (end(9.9), ""),
        (end(75.0), "1 min 15 s"),
        (end(75.0, "cancelled"), ""),
        (end(75.0, "error", "0.5"), "1 min 15 s · $0.500"),
    ],
)
def test_a_turn_without_changes_has_a_line_only_if_it_was_long(at_end: AgentEnd, said: str) -> None:
    assert line(at_end=at_end) == said


@pytest.mark.parametrize(
    ("command", "is_test"),
    [
        ("pytest", True),
        (".venv/bin/python -m pytest -q -x", True),
        ("cargo test --all", True),
        ("npm run test", True),
        ("pytest | tail -3", False),
        ("pytest; true", False),
        ("cat tests/test_a.py", False),
        ("pytest-watch", False),
    ],
)
def test_only_a_plain_test_command_says_how_the_tests_ended(command: str, is_test: bool) -> None:
    for success, words in ((True, "tests passed"), (False, "tests failed")):
        assert (words in line(*run(command, success=success), at_end=end(30))) == is_test
    both = [*run("pytest a", success=False), *run("pytest b", success=True)]
    assert "tests passed" in line(*both, at_end=end(30)), "the last run counts"


def blocks(*turns: list[ToolStart | ToolEnd | AgentEnd]) -> list[TurnEndBlock]:
    layout = Layout()
    builder = TranscriptBuilder(layout)
    for events in turns:
        builder.begin_turn()
        for event in events:
            builder.apply(event)
    return [block for block in layout.blocks if isinstance(block, TurnEndBlock)]


def test_each_turn_has_its_own_figures() -> None:
    first, second = blocks([edit(1, "a.py"), end()], [end(30)])
    assert first.find_text() == "1 edit in 1 file +2 −1 · 2 s"
    assert second.find_text() == "30 s"


@pytest.mark.parametrize(
    ("successes", "mark"), [((False,), "✗"), ((True,), "✓"), ((False, True), "✓"), ((True, False), "✗")]
)
def test_the_mark_is_red_if_the_last_tests_failed(successes: tuple[bool, ...], mark: str) -> None:
    runs = [event for success in successes for event in run(f"pytest {success}", success=success)]
    (block,) = blocks([*runs, edit(1, "a.py"), end()])
    rows = block.render(80, TranscriptStyles.bare()).rows
    assert mark in "".join(segment.text for row in rows for segment in row.segments)
