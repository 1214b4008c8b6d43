"""The cards of tools that change several files, run on, keep a plan, or ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.result import FileDiff
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.builtin.job_output import JobOutputTool
from forge_core.tools.output import OutputStore
from forge_core.tools.shell.job_table import JobTable
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from tests.support.transcripts import drawn, layout_of, tool_ended, tool_started

HOSTILE = "[red]x[/] [@click=app.quit]\x1b[2J\u202e\x07"
PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n"
    "*** Delete File: c.py\n*** End Patch\n"
)


def card(*events: Any) -> ToolCard:
    block = layout_of(*events).blocks[0]
    assert isinstance(block, ToolCard)
    return block


def words(row: str) -> list[str]:
    return row.split()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("b.py", "'b.py' does not exist. Did you mean 'a.py'?"),
        (f"{'src/' * 40}b.py", f"'{'src/' * 40}b.py' does not exist. Use glob or ls to find it."),
        ("b.py", "b.py: does not exist. Use glob or ls to find it."),
    ],
)
def test_a_failure_shows_its_reason_without_repeating_the_target(path: str, said: str) -> None:
    block = card(
        tool_started("read", file_path=path), tool_ended("read", f"Error: {said}", success=False, summary="")
    )
    header = drawn(block)[0].rstrip().removesuffix("0.4 s").rstrip()
    assert words(header)[-3:] == ["does", "not", "exist"]
    assert header.count("b.py") == 1


def test_a_change_of_several_files_shows_each_diff_under_its_name() -> None:
    diffs = (
        FileDiff("src/a.py", "@@ -1 +1 @@\n-x\n+y", 1, 1),
        FileDiff(HOSTILE, "@@ -0,0 +1 @@\n+z", 1, 0),
    )
    rows = drawn(
        card(
            tool_started("apply_patch", patch=PATCH),
            tool_ended("apply_patch", "ok", summary="2 files", diffs=diffs),
        )
    )
    assert words(rows[0])[:3] == ["✓", "Patch", "3"]
    assert rows[1].endswith("src/a.py  +1 −1") and "+1 −0" in rows[4]
    assert "[red]x[/] [@click=app.quit]␛[2J\\u202e␇" in rows[4]
    assert "+ z" in rows[5]


def test_a_failure_message_does_not_repeat_the_file_in_the_header() -> None:
    start = tool_started("multi_edit", file_path="src/a.py", edits=[])
    told = "Error: Edit 1 of 3: src/a.py: old_string was not found. Read the file again."
    rows = drawn(card(start, tool_ended("multi_edit", told, success=False)), 80)
    assert " ".join(words(rows[0])[:-2]) == "✗ Edit src/a.py Edit 1 of 3: old_string was not found"


def test_an_edit_shows_its_diff_once_and_any_extra_output() -> None:
    diff = FileDiff("src/a.py", "@@ -1 +1 @@\n-x\n+y", 1, 1)
    start = tool_started("edit", file_path="src/a.py")
    plain = "Edited src/a.py: +1 −1\n" + diff.diff
    block = card(start, tool_ended("edit", plain, summary="+1 −1", diffs=(diff,)))
    assert not block.can_unfold
    warned = f"Edited src/a.py: +1 −1 (blanks differed)\nWarning: line 1 is broken\n{diff.diff}"
    block = card(start, tool_ended("edit", warned, summary="+1 −1", diffs=(diff,)))
    folded = drawn(block)
    assert block.toggle(0)
    more = drawn(block)[len(folded) :]
    assert more == [" │ Edited src/a.py: +1 −1 (blanks differed)", " │ Warning: line 1 is broken"]


def test_a_failure_names_its_file_once() -> None:
    block = card(
        tool_started("edit", file_path="src/a.py"),
        tool_ended("edit", "Error: src/a.py: old_string was not found.", success=False),
    )
    assert words(drawn(block)[0])[:5] == ["✗", "Edit", "src/a.py", "old_string", "was"]


def test_a_command_moved_to_the_background_shows_its_job_number() -> None:
    block = card(
        tool_started("bash", command="npm run dev"),
        tool_ended("bash", "(no output yet)\n[it still runs …]", summary="job 2", outcome="background"),
    )
    (row,) = drawn(block)
    assert words(row)[:2] == ["↷", "Run"] and "job 2" in row
    assert block.toggle(0) and "(no output yet)" in drawn(block)[1]


def test_a_finished_command_that_left_a_job_is_shown_as_done() -> None:
    block = card(tool_started("bash", command="./start"), tool_ended("bash", "up", summary="exit 0, job 3"))
    assert words(drawn(block)[0])[0] == "✓" and "exit 0, job 3" in drawn(block)[0]


def test_a_job_output_card_shows_the_new_output_and_names_the_job_once() -> None:
    rows = drawn(
        card(
            tool_started("job_output", job_id=2),
            tool_ended("job_output", "ready on 3000\n[job 2 runs]", summary="job 2: running"),
        )
    )
    assert words(rows[0]) == ["✓", "Look", "at", "job", "2", "running", "0.4", "s"]
    assert rows[1].endswith("ready on 3000")


def test_a_todo_card_is_one_line_and_unfolds_to_a_checklist() -> None:
    checklist = f"✓ read\n● {HOSTILE}\n○ test"
    end = tool_ended("todo", "Todo list saved: …", summary="1 of 3 done", display=checklist)
    block = card(tool_started("todo"), end)
    assert len(drawn(block)) == 1 and "1 of 3 done" in drawn(block)[0]
    assert block.toggle(0)
    rows = [row[3:] for row in drawn(block)[1:]]
    assert rows == ["✓ read", "● [red]x[/] [@click=app.quit]␛[2J\\u202e␇", "○ test"]


def test_a_rejected_todo_call_shows_the_reason() -> None:
    rows = drawn(card(tool_started("todo", items=[]), tool_ended("todo", "Error: too many", success=False)))
    assert words(rows[0])[0] == "✗" and "too many" in rows[0]


def test_questions_are_shown_with_their_answers() -> None:
    result = f"The user answered:\nWhich?\n  → {HOSTILE}\nWhy?\n  → speed"
    rows = drawn(
        card(
            tool_started("ask_user", questions=[{"question": "Which?"}, {"question": "Why?"}]),
            tool_ended("ask_user", result, summary="x, speed", aside="The user answered:"),
        )
    )
    assert "Ask 2 questions" in rows[0]
    assert [row[3:] for row in rows[1:]] == [
        "Which?",
        "  → [red]x[/] [@click=app.quit]␛[2J\\u202e␇",
        "Why?",
        "  → speed",
    ]


async def run_for_real(folder: Path, command: str, **more: Any) -> tuple[ToolCard, ToolResult, JobTable]:
    """A command that has run, with the card of its call."""
    jobs = JobTable()
    context = ExecutionContext(folder, jobs=jobs, outputs=OutputStore(folder / "outputs"))
    result = await ToolExecutor().execute(BashTool(), {"command": command, **more}, context)
    end = tool_ended(
        "bash",
        result.for_model(),
        success=result.success,
        summary=result.summary,
        outcome=result.outcome,
        aside=result.aside,
        model_notes=result.model_notes,
        omission=result.omission,
    )
    return card(tool_started("bash", command=command), end), result, jobs


@pytest.mark.parametrize("code", [0, 3])
async def test_line_counts_refer_to_the_whole_output_not_the_truncated_result(
    tmp_path: Path, code: int
) -> None:
    run, result, _ = await run_for_real(tmp_path, f"seq -f 'line %06.0f of many' 5000; exit {code}")
    assert result.omission is not None and len(result.output.splitlines()) < 2000
    rows = [row.strip() for row in drawn(run)]
    assert rows[1] == "│ … 4,995 more lines (Ctrl+O)"
    assert rows[2:] == [f"│ line {number:06} of many" for number in range(4996, 5001)]
    run.set_open(True)
    text = "\n".join(drawn(run, 200))
    assert "4,800 more lines (PageDown)" in text
    while run.turn_page("next_page") is not None:
        run.changed()
    rows = drawn(run, 200)
    shown = sum("of many" in row for row in rows[1:])
    assert f"… {5000 - shown:,} earlier lines (PageUp)" in rows[1]
    text = "\n".join(text for _, text in run.passages())
    assert f"… {result.omission.lines:,} lines left out; the whole output is in {tmp_path}" in text
    assert "characters left out" not in text and "use read or grep" not in text


async def test_an_omission_within_one_long_line_is_described_as_part_of_a_line(tmp_path: Path) -> None:
    run, result, _ = await run_for_real(tmp_path, "head -c 90000 /dev/zero | tr '\\0' x")
    assert result.omission is not None and result.omission.lines == 0
    run.set_open(True)
    assert "… part of a line left out; the whole output is in" in "\n".join(drawn(run, 400))


async def test_a_job_card_omits_notes_meant_for_the_model(tmp_path: Path) -> None:
    run, result, jobs = await run_for_real(tmp_path, "echo up; sleep 7110", run_in_background=True)
    assert "job_output 1" in result.output and "next message" in result.output
    assert "job 1" in drawn(run)[0]
    run.set_open(True)
    assert [row.strip() for row in drawn(run)[1:]] == ["│ up"]
    look = await ToolExecutor().execute(JobOutputTool(), {"job_id": 1}, ExecutionContext(tmp_path, jobs=jobs))
    end = tool_ended(
        "job_output", look.output, summary=look.summary, outcome=look.outcome, model_notes=look.model_notes
    )
    rows = drawn(card(tool_started("job_output", job_id=1), end))
    assert "Look at job 1" in rows[0] and "running for" in rows[0]
    assert [row.strip() for row in rows[1:]] == ["│ (no new output)"]
    await jobs.aclose()


async def test_a_note_for_the_model_is_removed_only_as_whole_lines(tmp_path: Path) -> None:
    result = "note\nout note\nnote\n[for the person]"
    rows = drawn(card(tool_started("bash", command="x"), tool_ended("bash", result, model_notes=("note",))))
    assert [row.strip(" │") for row in rows[1:]] == ["note", "out note", "[for the person]"]
