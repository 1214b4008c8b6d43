"""What a batch shows while it runs: a live table on a terminal, one line for each end elsewhere."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TextIO

from forge_core.batch.results import ResultRow
from forge_core.durations import time_so_far
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line
from forge_core.text_width import clip, clip_middle

_HEAD_ROWS = 2
_LEAST_ID_WIDTH = 12


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that runs, for display."""

    id: str
    seconds: float
    cost_usd: Decimal
    tokens: int
    activity: str


@dataclass(frozen=True, slots=True)
class Overview:
    """How the batch stands."""

    total: int
    ended: int
    waiting: int
    spent_usd: Decimal
    limit_usd: Decimal | None
    running: Sequence[RunningTask]
    stopping: str = ""
    """Why nothing more is started; empty while something is."""


def open_output() -> TextIO:
    """Return standard output; a character that its encoding lacks is escaped. Raises ConfigError if it is
    closed."""
    if sys.stdout is None:
        raise ConfigError("Standard output is closed, so there is nowhere to print how the tasks end.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return sys.stdout


class Progress:
    """Prints to `out`. All text is made safe. A terminal that is closed meanwhile gets nothing more."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_live = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._rows = 0
        """Of the table on the screen."""
        self._is_closed = False

    def say(self, text: str) -> None:
        """Print a line above the table."""
        self._write(f"{self._erasing()}{safe_line(text)}\n")

    def ended(self, row: ResultRow, *, is_final: bool = True) -> None:
        """Print how a task has ended, or an attempt at it."""
        verify = f"verify {row.verify}" if row.verify else ""
        minutes = time_so_far(row.minutes * 60)
        parts = [str(row.status), verify, f"${Decimal(row.cost_usd):.4f}", minutes, row.changes, row.error]
        mark = "" if is_final else "  (not the end)"
        self.say(f"{row.id}  {'  '.join(filter(None, parts))}{mark}")

    def update(self, overview: Overview) -> None:
        """Draw the table anew, on a terminal."""
        if not self._is_live:
            return
        size = shutil.get_terminal_size()
        lines = _table(overview, size.columns, max(1, size.lines - 2))
        rows = [f"{clip(safe_line(line), size.columns - 1)}\n" for line in lines]
        self._write("".join([self._erasing(), *rows]))
        self._rows = len(rows)

    def close(self) -> None:
        """Remove the table."""
        self._write(self._erasing())

    def _erasing(self) -> str:
        """Return what removes the table from the screen."""
        rows, self._rows = self._rows, 0
        # From the first column: a terminal shows ^C where the cursor is.
        return f"\r\x1b[{rows}A\x1b[J" if rows else ""

    def _write(self, text: str) -> None:
        if self._is_closed:
            return
        try:
            self._out.write(text)
            self._out.flush()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._is_closed = True


def _table(overview: Overview, width: int, height: int) -> list[str]:
    money = f"${overview.spent_usd + sum(one.cost_usd for one in overview.running):.2f}"
    if overview.limit_usd is not None:
        money += f" of ${overview.limit_usd:.2f}"
    counts = f"{overview.ended} of {overview.total} ended, {len(overview.running)} running"
    head = f"── {counts}, {overview.waiting} waiting, {money} ──"
    lines = [head, *([f"Nothing more is started: {overview.stopping}"] if overview.stopping else [])]
    shown = overview.running[: max(0, height - _HEAD_ROWS)]
    rows = [_figures(one, max(_LEAST_ID_WIDTH, width // 4)) for one in shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for one, (name, *figures) in zip(shown, rows, strict=True):
        cells = [f"{text:>{size}}" for text, size in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:<{widths[0]}}", *cells, one.activity]))
    if len(overview.running) > len(shown):
        lines.append(f"… and {len(overview.running) - len(shown)} more")
    return lines[:height]


def _figures(task: RunningTask, width: int) -> tuple[str, str, str, str]:
    """Return the id in at most `width` cells, the time, the cost and the tokens of a task."""
    name = clip_middle(task.id, width)
    return name, time_so_far(task.seconds), f"${task.cost_usd:.4f}", f"{task.tokens:,} tokens"
