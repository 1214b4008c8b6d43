"""The line at the end of a turn: what it changed, how its tests ended, how long it took and what it cost."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.segment import Segment

from forge_core.approval import ToolKind
from forge_core.commands.figures import dollars
from forge_core.durations import time_so_far
from forge_core.events import AgentEnd, AgentEvent, ToolEnd, ToolStart
from forge_tui.widgets.blockview.blocks import GUTTER, MARGIN, LinesBlock

if TYPE_CHECKING:
    from forge_tui.widgets.blockview.rows import Canvas
    from forge_tui.widgets.blockview.styles import TranscriptStyles

LONG_S = 10.0
"""A turn that changed nothing has a line only if it took longer."""
_RUNNERS = "cargo|go|npm|pnpm|yarn|mix|dotnet|make|bundle exec|mvn|gradle|./gradlew"
_TESTS = re.compile(
    r"(?:(?:(?:\S*/)?python[\d.]* -m )?(?:\S*/)?(?:pytest|unittest|tox|nox)"
    rf"|(?:{_RUNNERS}) (?:run )?(?:test|rspec))"
    r"(?: [^|;&<>$`\n]*)?"
)
"""A command that only runs tests, so that its exit code says how they ended."""


class TurnSummary:
    """Collects the figures of one turn from its events."""

    def __init__(self) -> None:
        self._edits = self._added = self._removed = 0
        self._files: set[str] = set()
        self._test_calls: set[str] = set()
        """The running calls that run tests."""
        self.has_failed_tests = False
        """Whether the last tests that ran have failed."""
        self._tests = ""

    def apply(self, event: AgentEvent) -> None:
        """Take note of one event."""
        match event:
            case ToolStart(kind=ToolKind.RUN) if _TESTS.fullmatch(event.target.strip()):
                self._test_calls.add(event.call_id)
            case ToolEnd():
                if event.call_id in self._test_calls:
                    self._test_calls.discard(event.call_id)
                    self.has_failed_tests = not event.success
                    self._tests = "tests failed" if self.has_failed_tests else "tests passed"
                if event.success and event.diffs:
                    self._edits += 1
                    self._files.update(diff.path for diff in event.diffs)
                    self._added += sum(diff.added for diff in event.diffs)
                    self._removed += sum(diff.removed for diff in event.diffs)
            case _:
                pass

    def line(self, end: AgentEnd) -> str:
        """Return the line; empty for a turn that was interrupted, or that was short and changed nothing."""
        result = end.result
        if result.stopped_reason == "cancelled" or not (self._edits or result.duration > LONG_S):
            return ""
        parts = [self._changes(), self._tests, time_so_far(result.duration), _cost(result.usage.cost_usd)]
        return " · ".join(part for part in parts if part)

    def _changes(self) -> str:
        if not self._edits:
            return ""
        edits, files = _count(self._edits, "edit"), _count(len(self._files), "file")
        return f"{edits} in {files} +{self._added} −{self._removed}"


class TurnEndBlock(LinesBlock):
    """The line, dim behind a green mark; red if the turn or its last tests failed."""

    def __init__(self, text: str, *, is_failure: bool) -> None:
        super().__init__([text])
        self._is_failure = is_failure

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        mark, style = ("✗", styles.error) if self._is_failure else ("✓", styles.success)
        with canvas.indented(GUTTER, [Segment(MARGIN), Segment(mark, style), Segment(" ")]):
            canvas.text([(self._lines[0], styles.error if self._is_failure else styles.muted)])


def _cost(usd: Decimal | None) -> str:
    return dollars(usd) if usd else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s'[: number != 1]}"
