"""A tool call: one header line, a live tail while it runs, what came of it, folded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from rich.segment import Segment

from forge_core.result import FileDiff
from forge_core.sanitize import safe_line, safe_text
from forge_tui.widgets.transcript.blocks import MARGIN, Block, seconds
from forge_tui.widgets.transcript.diff import DiffLine, diff_lines, draw_diff
from forge_tui.widgets.transcript.rows import Canvas
from forge_tui.widgets.transcript.tool_words import checklist, describe_call
from forge_tui.widgets.transcript.wrapping import Span, cells, cut_end, cut_middle

if TYPE_CHECKING:
    from forge_tui.widgets.transcript.styles import TranscriptStyles

_SHOWS_OUTPUT = frozenset({"bash", "job_output", "ask_user"})
"""Tools whose output shows without unfolding; the others' summary says enough."""
_JOB = re.compile(r"job \d+")
"""The summary of a command that runs on without its call."""

_ENDED_WELL = re.compile(r"(?:^|\n)\[exit code 0, [^\]\n]*\]\Z")
"""Last line of a command's result; the header says it."""

UNREADABLE = "unreadable arguments"

_TAIL_ROWS = 5
_FOLDED_ROWS = 5
_ANSWER_ROWS = 12
_FOLDED_DIFF_ROWS = 24
_OPEN_ROWS = 400
"""Rows of an unfolded body; the rest is counted, and is in the session's journal."""
_TAIL_CHARS = 4_000
TIME_WIDTH = 8
"""Cells at the end of the header where the time stands: it can grow without moving anything."""

State = Literal["running", "done", "background", "failed", "denied", "interrupted"]
_SIGNS: Mapping[State, str] = {
    "running": "●",
    "done": "✓",
    "background": "↷",
    "failed": "✗",
    "denied": "⊘",
    "interrupted": "◌",
}


class ToolCard(Block):
    """One tool call, from its start to its end."""

    def __init__(self, name: str, arguments: Mapping[str, Any], started: float, depth: int = 0) -> None:
        super().__init__()
        self.state: State = "running"
        self.is_open = False
        self._name = name
        self._verb, self._target = describe_call(name, arguments)
        self._plan = checklist(arguments) if name == "todo" else ""
        self._started = started
        self._elapsed_s = 0.0
        self._depth = depth
        self._summary = ""
        self._output = ""
        self._diffs: tuple[tuple[FileDiff, list[DiffLine]], ...] = ()

    @property
    def has_body(self) -> bool:
        """Whether rows stand below the header."""
        return bool(self._diffs or self._visible_output()[0])

    def progress(self, text: str) -> None:
        """Adds live output; only its tail is kept."""
        self._output = (self._output + safe_text(text))[-_TAIL_CHARS:]
        self.changed()

    def tick(self, now: float) -> bool:
        """Moves the time on; whether it shows."""
        before = self._time()
        self._elapsed_s = max(0.0, now - self._started)
        if self._time() == before:
            return False
        self.changed()
        return True

    def finish(
        self, *, success: bool, result: str, summary: str, duration_s: float, diffs: tuple[FileDiff, ...]
    ) -> None:
        if self.state == "running":
            self.state = "done" if success else "failed"
        self._elapsed_s = duration_s
        self._summary = safe_line(summary)
        if self._target:  # the header says "job 2" and "2 files" already
            self._summary = self._summary.removeprefix(f"{self._target}: ")
            self._summary = "" if self._summary == self._target else self._summary
        self._output = safe_text(result).rstrip("\n")
        if not success:
            self._fail(safe_line(result.removeprefix("Error: ").split("\n", 1)[0]))
        elif self._name == "bash" and _JOB.fullmatch(summary):
            self.state = "background"
        elif self._name == "bash":
            self._output = _ENDED_WELL.sub("", self._output)
        elif self._plan:
            self._output = self._plan
        elif self._name == "ask_user":  # question and answer, without the line for the model
            self._output = self._output.partition("\n")[2] or self._output
        self._diffs = tuple((diff, diff_lines(diff)) for diff in diffs)
        self.changed()

    def _fail(self, reason: str) -> None:
        """Word the header of a call that failed; what never ran says only that."""
        if self._summary == "unknown tool":
            self._verb, self._target, self._summary = "Unknown tool", safe_line(self._name), ""
        elif self.state == "failed" and reason.startswith("interrupted by the user"):
            self.state = "interrupted"
        elif not self._summary:
            self._summary = UNREADABLE if reason.startswith("this call of ") else reason

    def deny(self) -> None:
        self.state = "denied"
        self.changed()

    def interrupt(self) -> None:
        """The turn ended without this call's end."""
        if self.state == "running":
            self.state = "interrupted"
            self.changed()

    def set_open(self, is_open: bool) -> bool:
        """Unfolds or folds the body; whether that changed anything."""
        if self.is_open == is_open or self.state == "running":
            return False
        self.is_open = is_open
        self.changed()
        return True

    def toggle(self, row: int) -> bool:
        return self.set_open(not self.is_open)

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        colour = {
            "running": styles.accent,
            "done": styles.success,
            "background": styles.accent,
            "failed": styles.error,
            "denied": styles.warning,
            "interrupted": styles.muted,
        }[self.state]
        nest = [Segment("  " * self._depth)] if self._depth else []
        sign = [Segment(MARGIN), *nest, Segment(_SIGNS[self.state], colour), Segment(" ")]
        with canvas.indented([Segment(MARGIN), *nest, Segment("  ")], sign):
            canvas.text(self._header(canvas.width, styles))
        with canvas.indented([Segment(MARGIN), *nest, Segment("│ ", styles.faint)]):
            self._draw_diffs(canvas, styles)
            self._draw_output(canvas, styles)

    def _header(self, width: int, styles: TranscriptStyles) -> list[Span]:
        time = self._time().rjust(TIME_WIDTH)
        room = width - cells(self._verb) - 1 - TIME_WIDTH
        summary = cut_end(self._summary_text(), max(0, room // 2)) if self._summary_text() else ""
        target = cut_middle(self._target, max(4, room - (cells(summary) + 2 if summary else 0)))
        quiet = self.state in ("failed", "denied", "interrupted")
        left: list[Span] = [
            (self._verb, styles.text + styles.strong),
            (" ", styles.text),
            (target, styles.muted if quiet else styles.text),
        ]
        if summary:
            left.append(("  " + summary, styles.muted))
        used = sum(cells(text) for text, _ in left)
        return [*left, (" " * max(0, width - used - TIME_WIDTH), styles.text), (time, styles.muted)]

    def _summary_text(self) -> str:
        return {"denied": "not allowed", "interrupted": "interrupted"}.get(self.state, self._summary)

    def _time(self) -> str:
        """The time so far; nothing in the first second, and nothing of calls that took hardly any."""
        if self.state == "running":
            return "" if self._elapsed_s < 1 else seconds(float(int(self._elapsed_s))).replace(".0s", "s")
        return (
            seconds(self._elapsed_s)
            if self.state in ("done", "failed", "background") and self._elapsed_s >= 0.05
            else ""
        )

    def _draw_diffs(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        room = _OPEN_ROWS if self.is_open else _FOLDED_DIFF_ROWS
        for diff, lines in self._diffs:
            if len(self._diffs) > 1:
                counts = f"  +{diff.added} −{diff.removed}"
                path = cut_middle(safe_line(diff.path), max(4, canvas.width - cells(counts)))
                canvas.text([(path, styles.text), (counts, styles.muted)])
            shown = lines[: max(0, room)]
            draw_diff(shown, canvas, styles)
            room -= len(lines)
            if len(lines) > len(shown):
                canvas.decoration([(_more(len(lines) - len(shown), self.is_open), styles.muted)])

    def _draw_output(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        lines, hidden = self._visible_output()
        if hidden and self.state == "running":
            hidden = 0
        if hidden and not self.is_open:
            canvas.decoration([(_more(hidden, False), styles.muted)])
        for line in lines:
            shown = line.expandtabs(8)
            if self.is_open:
                canvas.text([(shown, styles.muted)], original=line)
            else:
                canvas.text([(cut_end(shown, canvas.width), styles.muted)], original=line)
        if hidden and self.is_open:
            canvas.decoration([(_more(hidden, True), styles.muted)])

    def _visible_output(self) -> tuple[list[str], int]:
        """The lines of output to show, and how many are hidden."""
        if not self._output or (self._diffs and not self.is_open) or self.state == "denied":
            return [], 0
        lines = self._output.split("\n")
        if self.is_open:
            return lines[:_OPEN_ROWS], max(0, len(lines) - _OPEN_ROWS)
        if self.state == "running":
            return [line for line in lines if line.strip()][-_TAIL_ROWS:], 0
        if self.state == "background":
            return [], 0
        if self._name not in _SHOWS_OUTPUT and not (self.state == "failed" and len(lines) > 1):
            return [], 0
        room = _ANSWER_ROWS if self._name == "ask_user" else _FOLDED_ROWS
        if self._name == "ask_user" and len(lines) == 2:
            return [], 0  # the header says both
        return lines[-room:], max(0, len(lines) - room)

    def estimate(self, width: int) -> int:
        diff_rows = sum(len(lines) for _, lines in self._diffs)
        return self.gap + 1 + min(diff_rows, _FOLDED_DIFF_ROWS) + len(self._visible_output()[0])


def _more(count: int, is_open: bool) -> str:
    lines = "line" if count == 1 else "lines"
    return f"… {count} more {lines}" + ("" if is_open else " (Ctrl+O)")
