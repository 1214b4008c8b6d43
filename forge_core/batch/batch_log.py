"""`batch.jsonl`, the record of a batch: append-only, flushed to disk line by line. From it the same command
goes on after any end.

Its lines are a `batch` at the top, a `run` for each call of the command, a `start` before each attempt at a
task, and after it either an `attempt`, when the task is to be tried again, or the `end` of the task. A start
without either was cut off.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from forge_core.errors import ConfigError
from forge_core.workspace.record_file import Record, RecordFile, read_records

LOG_FILE = "batch.jsonl"
_VERSION = 1


@dataclass(slots=True)
class TaskState:
    """What the record says of one task, by its id."""

    digest: str = ""
    """Of the line with which it was last started."""
    attempts: int = 0
    spent_usd: Decimal = Decimal(0)
    """By all attempts that have ended."""
    open_start: Record | None = None
    """The attempt that was cut off."""
    last: Record | None = None
    """How the last attempt has ended, if it was no end of the task."""
    end: Record | None = None
    kept: list[str] = field(default_factory=list)
    """The paths of all worktrees that were kept."""


class BatchState:
    """What a record says, line by line."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskState] = {}
        self.key = ""
        """Distinguishes the worktrees of this batch from those of all others."""

    @classmethod
    def read(cls, folder: Path) -> BatchState:
        """Return what the record in a folder says; nothing if there is none. Raises OSError."""
        state = cls()
        with contextlib.suppress(FileNotFoundError):
            for record in read_records(folder / LOG_FILE):
                state.apply(record or {})
        return state

    @property
    def spent_usd(self) -> Decimal:
        return sum((one.spent_usd for one in self.tasks.values()), Decimal(0))

    def task(self, task_id: str) -> TaskState:
        return self.tasks.setdefault(task_id, TaskState())

    def apply(self, record: Mapping[str, Any]) -> None:
        kind, task_id = record.get("type"), record.get("id")
        if kind == "batch":
            self.key = str(record["key"])
        if not isinstance(task_id, str):
            return
        task = self.task(task_id)
        match kind:
            case "start":
                task.attempts = max(task.attempts, int(record["attempt"]))
                task.digest, task.open_start = str(record["digest"]), dict(record)
                task.end = task.last = None
            case "attempt" | "end":
                task.spent_usd += _amount(record.get("cost_usd"))
                task.open_start = None
                if record.get("worktree"):
                    task.kept.append(str(record["worktree"]))
                if kind == "end":
                    task.end = dict(record)
                else:
                    task.last = dict(record)


class BatchLog:
    """The record in a folder, held by this process alone until it is closed."""

    def __init__(self, folder: Path) -> None:
        """Open the record, or begin one. Raises ConfigError when that fails."""
        path = folder / LOG_FILE
        self._file = RecordFile(path)
        try:
            self._file.lock()
            self.state = BatchState.read(folder)
            if not self.state.key:
                self.write({"type": "batch", "v": _VERSION, "key": secrets.token_hex(3)})
        except BlockingIOError as error:
            raise ConfigError(f"Another forge batch is running in {str(folder)!r}.") from error
        except OSError as error:
            raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}.") from error

    def write(self, record: Record) -> None:
        """Append a line. Raises OSError when it cannot be written whole: nothing may be started then."""
        record = {**record, "time": round(time.time(), 3)}
        self._file.append(record)
        self._file.sync()
        self.state.apply(record)

    def close(self) -> None:
        self._file.close()


def _amount(text: object) -> Decimal:
    try:
        amount = Decimal(str(text))
    except InvalidOperation:
        return Decimal(0)
    return amount if amount.is_finite() else Decimal(0)
