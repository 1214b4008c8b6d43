"""What a batch shows while it runs: a live table on a terminal, one line for each end elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TextIO

from forge_core.batch.results import ResultRow
from forge_core.durations import time_so_far
from forge_core.sanitize import safe_line
from forge_core.text_width import clip

_HEAD_ROWS = 2
_ID_WIDTH = 32


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


class Progress:
    """Prints to `out`. All text is made safe."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_live = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._rows = 0
        """Of the table on the screen."""

    def say(self, text: str) -> None:
        """Print a line above the table."""
        self._erase()
        print(safe_line(text), file=self._out, flush=True)

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
        lines = list(_table(overview, max(1, size.lines - 2)))
        self._erase()
        self._out.write("".join(f"{clip(safe_line(line), size.columns - 1)}\n" for line in lines))
        self._out.flush()
        self._rows = len(lines)

    def close(self) -> None:
        """Remove the table."""
        self._erase()
        self._out.flush()

    def _erase(self) -> None:
        if self._rows:
            self._out.write(f"\x1b[{self._rows}A\x1b[J")
            self._rows = 0


def _table(overview: Overview, height: int) -> list[str]:
    money = f"${overview.spent_usd + sum(one.cost_usd for one in overview.running):.2f}"
    if overview.limit_usd is not None:
        money += f" of ${overview.limit_usd:.2f}"
    counts = f"{overview.ended} of {overview.total} ended, {len(overview.running)} running"
    head = f"── {counts}, {overview.waiting} waiting, {money} ──"
    lines = [head, *([f"Nothing more is started: {overview.stopping}"] if overview.stopping else [])]
    shown = overview.running[: max(0, height - _HEAD_ROWS)]
    for one in shown:
        figures = f"{time_so_far(one.seconds):>12}  ${one.cost_usd:>8.4f}  {one.tokens:>9,} tokens"
        lines.append(f"{one.id[:_ID_WIDTH]:<{_ID_WIDTH}}  {figures}  {one.activity}")
    if len(overview.running) > len(shown):
        lines.append(f"… and {len(overview.running) - len(shown)} more")
    return lines[:height]
