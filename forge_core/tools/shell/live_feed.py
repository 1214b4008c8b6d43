"""A command's output on its way to the screen: joined, thinned out and capped."""

from __future__ import annotations

import time
from collections.abc import Callable

from forge_core.tools.shell.terminal_text import TerminalText

LIVE_INTERVAL_S = 0.05
"""At least this long between two pieces: at most 20 a second."""
MAX_LIVE_PIECE = 16_384
"""Characters of one piece; what comes faster is skipped, its end is kept."""
MAX_LIVE_TOTAL = 1_000_000
"""Characters of one command."""


class LiveFeed:
    """Hands on what `output` shows. A piece that begins with \\r takes the place of the line before."""

    def __init__(self, on_output: Callable[[str], None], output: TerminalText) -> None:
        self._on_output = on_output
        self._output = output
        self._pending = ""
        self._row = ""
        """The row as it was handed on last."""
        self._is_wrapped = False
        """Whether that row began within a line."""
        self._sent = 0
        self._last = 0.0
        self._skipped = False

    def feed(self, settled: str) -> None:
        if self._sent >= MAX_LIVE_TOTAL:
            return
        self._pending += settled[-MAX_LIVE_PIECE - 1 :]
        if len(self._pending) > MAX_LIVE_PIECE:
            self._pending = self._pending[-MAX_LIVE_PIECE:]
            self._skipped = True
        self.flush()

    def flush(self, final: bool = False) -> None:
        """Hands on what is held back, if it is time."""
        now = time.monotonic()
        if self._sent >= MAX_LIVE_TOTAL or (now - self._last < LIVE_INTERVAL_S and not final):
            return
        row = self._output.row
        shown = self._pending + row
        if shown == self._row and not self._skipped:
            return
        text = self._since(shown)
        if self._pending:
            self._is_wrapped = not self._pending.endswith("\n")
        self._pending, self._row, self._skipped = "", row, False
        self._last = now
        self._sent += len(text)
        if self._sent >= MAX_LIVE_TOTAL:
            text += "\n[live output ends here; the command goes on]\n"
        self._on_output(text)

    def _since(self, shown: str) -> str:
        """What makes `shown` of what was handed on."""
        if self._skipped:
            return "\n[...]\n" + shown
        if shown.startswith(self._row):
            return shown[len(self._row) :]
        return ("\n" if self._is_wrapped else "\r") + shown
