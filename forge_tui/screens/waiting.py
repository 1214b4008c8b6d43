"""Lines that were sent while something else was going on, oldest first."""

from __future__ import annotations

from forge_tui.commands import Command, UserText


class WaitingLines:
    """A queue that an interrupt pauses: what was queued must not start by itself after Esc."""

    def __init__(self) -> None:
        self._lines: list[UserText | Command] = []
        self.is_paused = False

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def is_next(self) -> bool:
        """Whether something here comes before what is sent now; while paused, nothing does."""
        return bool(self._lines) and not self.is_paused

    def add(self, line: UserText | Command) -> None:
        self._lines.append(line)

    def next(self) -> UserText | Command | None:
        """Take the oldest out, unless paused."""
        if self.is_paused or not self._lines:
            return None
        return self._lines.pop(0)

    def recall(self) -> str | None:
        """Take the newest out again, as typed."""
        if not self._lines:
            return None
        line = self._lines.pop()
        self.is_paused = self.is_paused and bool(self._lines)
        return line.text if isinstance(line, UserText) else line.line

    def pause(self) -> None:
        self.is_paused = bool(self._lines)

    def clear(self) -> None:
        self._lines.clear()
        self.is_paused = False

    @property
    def text(self) -> str:
        """For the line above the composer."""
        if not self._lines:
            return ""
        return f"{len(self._lines)} queued" + (" · paused, empty Enter sends" if self.is_paused else "")
