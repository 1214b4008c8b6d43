"""The record of a batch, and the tables that are made from it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.batch.batch_log import LOG_FILE, BatchLog, BatchState
from forge_core.batch.outcomes import TaskStatus
from forge_core.batch.progress import Overview, Progress, RunningTask
from forge_core.batch.results import ResultRow, row_of, summary, write_results
from forge_core.batch.task_file import BatchTask
from forge_core.text_width import cell_len


def start(attempt: int, digest: str = "d") -> dict[str, object]:
    return {"type": "start", "id": "a", "digest": digest, "attempt": attempt, "worktree": "/w"}


def test_a_record_is_read_again_and_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    log = BatchLog(tmp_path)
    log.write(start(1))
    log.write({"type": "attempt", "id": "a", "cost_usd": "0.5", "status": "error", "worktree": "/w"})
    log.write(start(2))
    log.close()
    with (tmp_path / LOG_FILE).open("a") as file:
        file.write('{"type":"end","id":"a","cost_')
    again = BatchLog(tmp_path)
    task = again.state.task("a")
    assert (again.state.key, task.attempts, task.end) == (log.state.key, 2, None)
    assert task.open_start is not None and again.state.spent_usd == Decimal("0.5")
    again.write({"type": "end", "id": "a", "cost_usd": "NaN", "status": "complete", "worktree": ""})
    again.close()
    found = BatchState.read(tmp_path).task("a")
    assert found.end is not None and found.open_start is None
    assert found.kept == ["/w"] and found.spent_usd == Decimal("0.5")


def test_a_row_belongs_to_the_line_as_it_is_now(tmp_path: Path) -> None:
    state = BatchState()
    state.apply(start(1))
    state.apply(
        {"type": "end", "id": "a", "cost_usd": "0.5", "status": "complete", "seconds": 90, "added": 3}
    )
    task = BatchTask(id="a", prompt="x", repo=tmp_path, digest="d")
    assert (row_of(task, state.task("a")).status, row_of(task, state.task("a")).minutes) == ("complete", 1.5)
    changed = row_of(BatchTask(id="a", prompt="y", repo=tmp_path, digest="e"), state.task("a"))
    assert (changed.status, changed.cost_usd) == (TaskStatus.NOT_STARTED, "0.5")


ROWS = [
    ResultRow(
        id="a",
        status=TaskStatus.COMPLETE,
        verify="passed",
        cost_usd="0.5",
        added=3,
        removed=1,
        worktrees=("/w",),
    ),
    ResultRow(id="b", status=TaskStatus.COMPLETE, verify="failed"),
    ResultRow(id="c", status=TaskStatus.NOT_STARTED),
]


def test_the_three_tables_hold_the_same_rows(tmp_path: Path) -> None:
    write_results(tmp_path, ROWS)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    table = list(csv.DictReader(io.StringIO((tmp_path / "results.csv").read_text())))
    assert [one["id"] for one in lines] == [one["id"] for one in table] == ["a", "b", "c"]
    assert (table[0]["added"], table[0]["worktrees"], table[2]["added"]) == ("3", "/w", "")
    markdown = (tmp_path / "results.md").read_text().splitlines()
    assert markdown[0] == "1 of 3 complete, 1 not verified, 1 not started." == f"{summary(ROWS)}."
    assert markdown[4].startswith("| a | complete | passed | 0.5 |") and len(markdown) == 7


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def overview(activity: str) -> Overview:
    running = [RunningTask("b", 75.0, Decimal("0.25"), 1234, activity)]
    return Overview(3, 1, 1, Decimal("0.5"), Decimal(2), running)


def test_a_terminal_gets_a_table_and_a_file_only_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        progress = Progress(out)
        progress.update(overview("Run ls \x1b]0;x\x07"))
        progress.ended(ROWS[0])
        progress.close()
    assert file.getvalue() == "a  complete  verify passed  $0.5000  0 s  +3 −1\n"
    shown = terminal.getvalue()
    assert "1 of 3 ended, 1 running, 1 waiting, $0.75 of $2.00" in shown and "1 min 15 s" in shown
    # From the first column: the terminal shows the keys Ctrl+C as ^C where the cursor is.
    assert shown.count("\r\x1b[2A\x1b[J") == 1 and "\x1b]" not in shown
    assert shown.endswith(file.getvalue())


def test_a_terminal_that_was_closed_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    master, terminal = pty.openpty()
    os.close(master)
    progress = Progress(out := os.fdopen(terminal, "w"))
    for _ in range(2):
        progress.update(overview("x"))
        progress.ended(ROWS[0])
        progress.close()
    with pytest.raises(OSError):  # it still holds what could not be written
        out.close()


def test_no_row_of_the_table_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "90")
    terminal = Terminal()
    Progress(terminal).update(overview("漢字" * 40))
    rows = terminal.getvalue().splitlines()
    assert rows[1].endswith("…") and 87 < max(map(cell_len, rows)) <= 89


def test_the_table_leaves_room_for_what_tasks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    long_id = "scikit-learn__scikit-learn-10297"
    running = [
        RunningTask(name, 3599.0, Decimal("1.25"), 123_456, "Run pytest -q tests") for name in ("a", long_id)
    ]
    Progress(terminal).update(Overview(2, 0, 0, Decimal(0), None, running))
    first, second = terminal.getvalue().splitlines()[1:]
    assert "…" in second and "-learn-10297  59 min 59 s  $1.2500  123,456 tokens  Run" in second
    assert first.index("Run") == second.index("Run") == 60
    terminal = Terminal()
    Progress(terminal).update(Overview(1, 0, 0, Decimal(0), None, running[:1]))
    assert terminal.getvalue().splitlines()[1] == (
        "a  59 min 59 s  $1.2500  123,456 tokens  Run pytest -q tests"
    )
