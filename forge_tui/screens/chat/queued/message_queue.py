"""The queue of lines that were sent while a turn or a command was running."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from forge_tui.submitted_line import Command, UserText, message_line


class MessageQueue:
    """Messages and commands, oldest first. An interrupt pauses it: nothing starts by itself after Esc."""

    def __init__(self) -> None:
        self._lines: list[UserText | Command] = []
        self.is_paused = False
        self._holds = 0

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def is_next(self) -> bool:
        """Whether queued lines run before a line sent now; a paused queue does not."""
        return self._holds > 0 or (bool(self._lines) and not self.is_paused)

    def add(self, line: UserText | Command) -> None:
        self._lines.append(line)

    def next(self) -> UserText | Command | None:
        """Remove and return the oldest line, unless paused or held."""
        if self.is_paused or self._holds or not self._lines:
            return None
        return self._lines.pop(0)

    def recall(self) -> str | None:
        """Remove the newest line and return it as typed."""
        if not self._lines:
            return None
        line = self._lines.pop()
        self.is_paused = self.is_paused and bool(self._lines)
        return _typed(line)

    def put_back(self, lines: Iterable[UserText | Command]) -> None:
        """Put lines of a session before all others, and wait for the user to send them."""
        if earlier := [*lines]:
            self._lines[:0] = earlier
            self.pause()

    @property
    def typed(self) -> list[str]:
        """The lines as typed."""
        return self.as_typed(self._lines)

    @staticmethod
    def as_typed(lines: Sequence[UserText | Command]) -> list[str]:
        """Return lines as they were typed."""
        return [_typed(line) for line in lines]

    def pause(self) -> None:
        self.is_paused = bool(self._lines) and not self._holds

    @contextmanager
    def held(self) -> Iterator[None]:
        """Queue what is sent while a command ends the running turn; it starts after the command."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    def take_all(self) -> list[UserText | Command]:
        """Remove and return all lines."""
        lines, self._lines, self.is_paused = self._lines, [], False
        return lines

    @property
    def text(self) -> str:
        """The text for the line above the composer."""
        if not self._lines:
            return ""
        return f"{len(self._lines)} queued" + (" · paused, empty Enter sends" if self.is_paused else "")


def _typed(line: UserText | Command) -> str:
    if isinstance(line, Command):
        return line.line
    return message_line(line.typed or line.text)
