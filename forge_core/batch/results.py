"""The results of a batch: `results.jsonl`, `.csv` and `.md`, a row for each task in the order of its file."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forge_core.batch.batch_log import TaskState
from forge_core.batch.outcomes import TaskStatus
from forge_core.batch.task_file import BatchTask

TABLE_FILES = ("results.jsonl", "results.csv", "results.md")
_SAID = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """How a task stands."""

    id: str
    status: TaskStatus
    verify: str = ""
    """"passed", "failed", "not run", or empty."""
    cost_usd: str = "0"
    """Of all attempts."""
    tokens: int = 0
    """Of the last attempt, as the rest."""
    minutes: float = 0.0
    added: int | None = None
    removed: int | None = None
    attempts: int = 0
    worktrees: tuple[str, ...] = ()
    """All that were kept."""
    error: str = ""

    @property
    def is_fine(self) -> bool:
        return self.status is TaskStatus.COMPLETE and self.verify in ("", "passed")

    @property
    def changes(self) -> str:
        return "" if self.added is None else f"+{self.added} −{self.removed}"


def is_ended(task: BatchTask, state: TaskState) -> bool:
    """Return whether the task has ended, as its line is now."""
    return state.end is not None and state.digest == task.digest


def row_of(task: BatchTask, state: TaskState) -> ResultRow:
    """Return the row of a task."""
    record: dict[str, Any] = {}
    if state.digest == task.digest:
        record = state.end or state.last or {}
    return ResultRow(
        id=task.id,
        status=TaskStatus(record.get("status", TaskStatus.NOT_STARTED)),
        verify=str(record.get("verify", "")),
        cost_usd=f"{state.spent_usd:f}",
        tokens=int(record.get("tokens", 0)),
        minutes=round(float(record.get("seconds", 0.0)) / 60, 2),
        added=record.get("added"),
        removed=record.get("removed"),
        attempts=state.attempts,
        worktrees=tuple(state.kept),
        error=str(record.get("error", ""))[:_SAID],
    )


def write_results(folder: Path, rows: Sequence[ResultRow]) -> None:
    """Write the three tables, each at once. Raises OSError."""
    lines = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    for name, text in zip(TABLE_FILES, (lines, _csv(rows), _markdown(rows)), strict=True):
        temporary = folder / f".{name}.{os.getpid()}"
        temporary.write_text(text, "utf-8", "backslashreplace")
        temporary.replace(folder / name)


def summary(rows: Sequence[ResultRow]) -> str:
    """Return the numbers of a batch in one line: "3 of 5 complete, 1 unfinished, 1 not started"."""
    complete = sum(row.is_fine for row in rows)
    unverified = sum(row.status is TaskStatus.COMPLETE for row in rows) - complete
    counts = {status: sum(row.status is status for row in rows) for status in TaskStatus}
    counts.pop(TaskStatus.COMPLETE)
    parts = [f"{complete} of {len(rows)} complete", *([f"{unverified} not verified"] if unverified else [])]
    parts += [f"{count} {status}" for status, count in counts.items() if count]
    return ", ".join(parts)


_COLUMNS = ("id", "status", "verify", "cost_usd", "tokens", "minutes", "added", "removed", "attempts")


def _cells(row: ResultRow) -> list[str]:
    values = (getattr(row, name) for name in _COLUMNS)
    return ["" if value is None else str(value) for value in values]


def _csv(rows: Iterable[ResultRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, "worktrees"])
    writer.writerows([*_cells(row), " ".join(row.worktrees)] for row in rows)
    return text.getvalue()


def _markdown(rows: Sequence[ResultRow]) -> str:
    lines = [f"{summary(rows)}.", "", f"| {' | '.join(_COLUMNS)} |", "| --- " * len(_COLUMNS) + "|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines) + "\n"
