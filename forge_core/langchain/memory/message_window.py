"""The messages of a history, in units that are dropped together: a call and its results, or one message."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from forge_core.llm.models import Message, MessageRole, ToolCall

_COUNTED_CHARS = 4_000_000
"""Of a history that was loaded: about a million tokens, counted in 0.25 s."""


@dataclass(slots=True, eq=False)
class Entry:
    """A message with what has been worked out from it so far."""

    message: Message
    tokens: int | None = None
    langchain: BaseMessage | None = None
    """The message as LangChain has it: a history is handed over once per model call, converted once."""


@dataclass(slots=True, eq=False)
class Unit:
    entries: list[Entry]
    open_calls: list[ToolCall] = field(default_factory=list)
    """Calls without a result yet."""

    @property
    def first(self) -> Message:
        return self.entries[0].message

    @property
    def is_user(self) -> bool:
        return self.first.role is MessageRole.USER

    @property
    def calls(self) -> list[ToolCall]:
        return (self.first.tool_calls or []) if self.first.role is MessageRole.ASSISTANT else []


class MessageWindow:
    """A history that grows at one end and is dropped, unit by unit, at the other; both in O(1) amortised."""

    def __init__(self, count_tokens: Callable[[Message], int]) -> None:
        self._count_tokens = count_tokens
        self._units: deque[Unit] = deque()
        self._waiting: dict[str, Unit] = {}
        self._stale_calls: set[str] = set()
        self._last_user: Unit | None = None
        self._last_calls: Unit | None = None
        self._size = 0
        self._tokens: int | None = None
        self.user_count = 0
        """User messages held."""

    def __len__(self) -> int:
        """Return the number of messages held."""
        return self._size

    def entries(self) -> Iterator[Entry]:
        """Oldest first."""
        for unit in self._units:
            yield from unit.entries

    def counted(self) -> Iterator[tuple[Message, int]]:
        """Yield the messages, oldest first, with their tokens."""
        return ((entry.message, self._tokens_of(entry)) for entry in self.entries())

    @property
    def tokens(self) -> int:
        """Of all messages held: counted once each, at the first question; from then on a running total.

        Of a history longer than any window only the newest part is counted; what is before it is estimated
        from its length.
        """
        if self._tokens is None:
            self._tokens = self._count_all()
        return self._tokens

    def add(self, message: Message) -> None:
        """Appends; a tool result goes behind the call that it answers, even when something came between."""
        if message.role is MessageRole.TOOL:
            self._add_result(message)
            return
        unit = Unit([])
        self._units.append(unit)
        self._put(unit, message)
        if unit.is_user:
            self._last_user = unit
            self.user_count += 1
        if unit.calls:
            unit.open_calls = list(unit.calls)
            for call in unit.calls:
                self._waiting[call.id] = unit
                self._stale_calls.discard(call.id)
            self._last_calls = unit

    def drop_oldest(self, *, keep_latest: bool) -> bool:
        """Drop the oldest unit that may be dropped; return False when there is none.

        Never dropped: the last user message, and a call that still waits for results (they would be orphans).
        `keep_latest` also protects the newest unit.
        """
        for index, unit in enumerate(self._units):
            if keep_latest and index == len(self._units) - 1:
                return False
            if self._may_go(unit):
                self._remove_at(index)
                return True
        return False

    def drop_headless_start(self, *, until_user: bool = False) -> None:
        """Drop what a window must not open with: results without their call, calls without their question.

        `until_user`: everything before the first user message.
        """
        while len(self._units) > 1 and self._may_go(self._units[0]):
            unit = self._units[0]
            is_orphan = unit.first.role is MessageRole.TOOL
            is_headless = self.user_count > 0 and (bool(unit.calls) or (until_user and not unit.is_user))
            if not (is_orphan or is_headless):
                return
            self._remove_at(0)

    def keep_exchanges(self, count: int) -> None:
        """Keep the last `count` exchanges: a user message and everything up to the next one."""
        if self.user_count <= count:
            return
        while self.user_count > count and self.drop_oldest(keep_latest=True):
            pass
        self.drop_headless_start(until_user=True)

    def drop_orphans(self) -> int:
        """Drop tool results that answer no call; return their number."""
        orphans = [unit for unit in self._units if unit.first.role is MessageRole.TOOL]
        self.remove(orphans)
        return len(orphans)

    def answer_open_calls(self, answer: Callable[[ToolCall], Message]) -> list[Message]:
        """Add the result that `answer` returns for every call without one; return them, oldest first."""
        added = []
        for unit in self._units:
            for call in unit.open_calls:
                self._waiting.pop(call.id, None)
                added.append(answer(call))
                self._put(unit, added[-1])
            unit.open_calls = []
        return added

    def older_than(self, keep: int) -> list[Unit]:
        """Return the units before about the newest `keep` messages, without those that must stay.

        More are kept where the cut would split a unit, fewer where calls would lose the question they serve.
        """
        units = list(self._units)
        kept, cut = 0, len(units)
        while cut > 0 and kept < keep:
            cut -= 1
            kept += len(units[cut].entries)
        if self._last_user in units[cut:]:
            while units[cut].calls:
                cut += 1
        return [unit for unit in units[:cut] if self._may_go(unit)]

    def remove(self, units: list[Unit]) -> None:
        """Remove these units, if they are still held."""
        gone = {id(unit) for unit in units}
        for unit in self._units:
            if id(unit) in gone:
                self._forget(unit)
        self._units = deque(unit for unit in self._units if id(unit) not in gone)

    def _add_result(self, message: Message) -> None:
        call_id = message.tool_call_id or ""
        unit = self._waiting.get(call_id)
        if unit is None and call_id in self._stale_calls:
            self._stale_calls.discard(call_id)  # its call was dropped: kept, it would be an orphan
            return
        if unit is None:
            unit = Unit([])
            self._units.append(unit)
        self._put(unit, message)
        self._close(unit, call_id)

    def _close(self, unit: Unit, call_id: str) -> None:
        """Mark one call as answered; a model may have given two the same id."""
        answered = next((call for call in unit.open_calls if call.id == call_id), None)
        if answered is not None:
            unit.open_calls.remove(answered)
        if all(call.id != call_id for call in unit.open_calls):
            self._waiting.pop(call_id, None)

    def _put(self, unit: Unit, message: Message) -> None:
        entry = Entry(message)
        unit.entries.append(entry)
        self._size += 1
        if self._tokens is not None:
            self._tokens += self._tokens_of(entry)

    def _may_go(self, unit: Unit) -> bool:
        is_waiting = bool(unit.open_calls) and unit is self._last_calls
        return unit is not self._last_user and not is_waiting

    def _remove_at(self, index: int) -> None:
        self._forget(self._units[index])
        del self._units[index]  # index is 0 … 3: at most the protected units come before it

    def _forget(self, unit: Unit) -> None:
        self._size -= len(unit.entries)
        if self._tokens is not None:
            self._tokens -= sum(map(self._tokens_of, unit.entries))
        if unit.is_user:
            self.user_count -= 1
        for call in unit.open_calls:
            if self._waiting.get(call.id) is unit:
                del self._waiting[call.id]
                self._stale_calls.add(call.id)

    def _count_all(self) -> int:
        total = chars = 0
        for unit in reversed(self._units):
            for entry in unit.entries:
                length = _length(entry.message)
                if entry.tokens is None and chars > _COUNTED_CHARS:
                    entry.tokens = total * length // chars
                total += self._tokens_of(entry)
                chars += length
        return total

    def _tokens_of(self, entry: Entry) -> int:
        if entry.tokens is None:
            entry.tokens = self._count_tokens(entry.message)
        return entry.tokens


def _length(message: Message) -> int:
    calls = message.tool_calls or ()
    return len(message.text) + sum(len(call.name) + len(call.arguments) for call in calls)
