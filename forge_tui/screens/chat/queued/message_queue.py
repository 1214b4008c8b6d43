"""The queue of lines that were sent while a turn or a command was running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forge_tui.submitted_line import Command, SentLine, ShellLine, UserText, message_line

if TYPE_CHECKING:
    from forge_core.langchain.agent.steering import Steering, SteeringMessage


@dataclass(eq=False, slots=True)
class QueuedLine:
    """A line that waits."""

    line: SentLine
    given: SteeringMessage | None = None
    """The message as the running turn has been given it, for its next step."""
    _withdraw: Callable[[SteeringMessage], bool] | None = None

    @property
    def may_be_given(self) -> bool:
        """Whether it is a message that the running turn has not been given."""
        return self.given is None and isinstance(self.line, UserText)

    def give(self, steering: Steering) -> None:
        """Give a message to the running turn."""
        if isinstance(self.line, UserText):
            self.given = steering.add(self.line.text, queued=_typed(self.line))
            self._withdraw = steering.withdraw

    @property
    def is_delivered(self) -> bool:
        """Whether the turn has taken it; the event that says so may still be on its way."""
        return self.given is not None and self.given.is_delivered

    def take_back(self) -> bool:
        """Take it back from the turn; return False if the turn has taken it before."""
        if self.is_delivered:
            return False
        if self.given is not None and self._withdraw is not None:
            self._withdraw(self.given)
        self.given = None
        return True


class MessageQueue:
    """Messages and commands, oldest first. An interrupt pauses it: nothing starts by itself after Esc."""

    def __init__(self) -> None:
        self._entries: list[QueuedLine] = []
        self.is_paused = False
        self._holds = 0

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def entries(self) -> tuple[QueuedLine, ...]:
        """What waits, oldest first."""
        return tuple(entry for entry in self._entries if not entry.is_delivered)

    @property
    def is_next(self) -> bool:
        """Whether queued lines run before a line sent now; a paused queue does not."""
        return self._holds > 0 or (bool(self._entries) and not self.is_paused)

    def add(self, line: SentLine) -> None:
        self._entries.append(QueuedLine(line))

    def next(self) -> SentLine | None:
        """Remove and return the oldest line, unless paused or held."""
        if self.is_paused or self._holds or not self._entries:
            return None
        return self._entries.pop(0).line

    def take_shell_lines(self) -> list[ShellLine]:
        """Remove and return the lines for the user's shell, which runs beside the turns."""
        lines = [entry.line for entry in self._entries if isinstance(entry.line, ShellLine)]
        self._entries = [entry for entry in self._entries if not isinstance(entry.line, ShellLine)]
        self.is_paused = self.is_paused and bool(self._entries)
        return lines

    def recall(self) -> str | None:
        """Remove the newest line and return it as typed."""
        newest = next((entry for entry in reversed(self._entries) if not entry.is_delivered), None)
        return None if newest is None else self.remove(newest)

    def remove(self, entry: QueuedLine) -> str | None:
        """Remove a line and return it as typed; None if it does not wait any more."""
        if entry not in self._entries or not entry.take_back():
            return None
        self._entries.remove(entry)
        self.is_paused = self.is_paused and bool(self._entries)
        return _typed(entry.line)

    def move(self, entry: QueuedLine, by: int) -> None:
        """Move a line by so many places, as far as there are any."""
        if entry in self._entries:
            at = self._entries.index(entry)
            self._entries.insert(min(max(at + by, 0), len(self._entries)), self._entries.pop(at))

    def put_back(self, lines: Iterable[SentLine]) -> None:
        """Put lines of a session before all others, and wait for the user to send them."""
        if earlier := [*map(QueuedLine, lines)]:
            self._entries[:0] = earlier
            self.pause()

    # Into the running turn

    def next_to_give(self) -> QueuedLine | None:
        """Return the oldest message that the running turn has not been given."""
        return next((entry for entry in self._entries if entry.may_be_given), None)

    def delivered(self, text: str) -> UserText | None:
        """Remove and return the message with this text that the turn has taken."""
        for entry in self._entries:
            if entry.is_delivered and isinstance(entry.line, UserText) and entry.line.text == text:
                self._entries.remove(entry)
                return entry.line
        return None

    def turn_ended(self) -> None:
        """Take back what the turn has not taken."""
        self._entries = [entry for entry in self._entries if entry.take_back()]

    @property
    def typed(self) -> list[str]:
        """The lines as typed."""
        return self.as_typed([entry.line for entry in self.entries])

    @staticmethod
    def as_typed(lines: Sequence[SentLine]) -> list[str]:
        """Return lines as they were typed."""
        return [_typed(line) for line in lines]

    def pause(self) -> None:
        self.is_paused = bool(self._entries) and not self._holds

    @contextmanager
    def held(self) -> Iterator[None]:
        """Queue what is sent while a command ends the running turn; it starts after the command."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    def take_all(self) -> list[SentLine]:
        """Remove and return all lines."""
        self.turn_ended()
        lines, self._entries, self.is_paused = [one.line for one in self._entries], [], False
        return lines

    @property
    def text(self) -> str:
        """The text for the line above the composer."""
        if not self:
            return ""
        return f"{len(self)} queued" + (" · paused, empty Enter sends" if self.is_paused else "")


def _typed(line: SentLine) -> str:
    if isinstance(line, Command | ShellLine):
        return line.line
    return message_line(line.typed or line.text)
