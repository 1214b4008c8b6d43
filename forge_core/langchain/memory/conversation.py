"""The history of a conversation, as the model is sent it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypedDict, Unpack

from langchain_core.messages import BaseMessage

from forge_core.errors import ConfigError
from forge_core.images.image_reference import media_tokens
from forge_core.langchain.memory.message_window import Entry, MessageWindow
from forge_core.langchain.messages.conversion import forge_to_langchain, langchain_to_forge
from forge_core.llm.models import Message, MessageRole, ToolCall
from forge_core.llm.tokens import estimate_tokens

CANCELLED = "Error: cancelled before it finished; there is no result."
"""The result that `repair` adds for a call without one."""


class MessageStore(Protocol):
    """Where a history outlives the process: LangChain's `BaseChatMessageHistory`, or anything like it."""

    messages: list[BaseMessage]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None: ...

    def clear(self) -> None: ...


class MemoryOptions(TypedDict, total=False):
    """The arguments that every kind of memory takes; see `ConversationMemory`."""

    max_messages: int | None
    max_tokens: int | None
    system_message: Message | None
    token_counter: Callable[[str], int]
    backend: MessageStore | None


class ConversationMemory:
    """A history that always fits its limits and stays valid for strict providers.

    The system message is separate: first in `get_messages()`, never counted as history, never dropped.
    Limits are enforced on every add, oldest first; a tool call and its results go together, and the last
    user message stays whatever the limits say. Messages are kept by reference: do not change one after
    adding it. Not for several threads at once.

    Args:
        max_messages: how many messages of history are kept.
        max_tokens: budget for everything in `get_messages()`.
        token_counter: tokens of a text; the default is an estimate. Framing per message is not counted.
        backend: a store (a `BaseChatMessageHistory`, say) that outlives the process. Its messages are loaded
            at once; what is added is appended to it, what a limit drops stays in it, `clear_history` clears
            it. The system message is not stored.

    Raises:
        ConfigError: a limit is below 1.
    """

    def __init__(
        self,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        *,
        system_message: Message | None = None,
        token_counter: Callable[[str], int] = estimate_tokens,
        backend: MessageStore | None = None,
    ) -> None:
        self.max_messages = at_least_one("max_messages", max_messages)
        self.max_tokens = at_least_one("max_tokens", max_tokens)
        self.system_message: Message | None = None
        self._token_counter = token_counter
        self._window = MessageWindow(self.count_tokens)
        self._counted_preface: tuple[list[str], int] = ([], 0)
        self._backend: MessageStore | None = None
        if system_message is not None:
            self.set_system_message(system_message)
        if backend is not None:
            self._add(langchain_to_forge(message) for message in backend.messages)
            self._backend = backend

    def __len__(self) -> int:
        """Return the number of messages of the history, without system message and notes."""
        return len(self._window)

    def __bool__(self) -> bool:
        return True  # an empty memory is still a memory: `memory or default` must not replace it

    @property
    def messages(self) -> list[Message]:
        """The history as a new list, without system message and notes."""
        return self.get_history()

    def add_message(self, message: Message) -> None:
        """Append one message; a system message replaces the present one. O(1) amortised."""
        self.add_messages([message])

    def add_messages(self, messages: Sequence[Message]) -> None:
        """Append the messages in order."""
        self._store(self._add(messages))

    def add_langchain_message(self, message: BaseMessage) -> None:
        """Append a LangChain message.

        Raises:
            ValueError: it is of a kind that no provider takes (a chat, function or remove message).
        """
        self.add_message(langchain_to_forge(message))

    def get_messages(self) -> list[Message]:
        """Return what the model is sent: the system message, the notes, the history. O(n)."""
        return [*self._preface(), *self.get_history()]

    def get_history(self) -> list[Message]:
        """Return the history, oldest first, without system message and notes."""
        return [entry.message for entry in self._window.entries()]

    def counted_history(self) -> Iterator[tuple[Message, int]]:
        """Yield the history, oldest first, each message with its tokens; it is counted once."""
        return self._window.counted()

    def set_system_message(self, message: Message) -> None:
        """Set or replace the system message.

        Raises:
            ValueError: the message has another role.
        """
        if message.role is not MessageRole.SYSTEM:
            raise ValueError(f"A system message is needed, not one of role {message.role.value!r}.")
        self.system_message = message

    def clear(self) -> None:
        """Forget everything, the system message included."""
        self.clear_history()
        self.system_message = None

    def clear_history(self) -> None:
        """Forget the history; the system message stays."""
        self._window = MessageWindow(self.count_tokens)
        if self._backend is not None:
            self._backend.clear()

    def replace_history(self, messages: Iterable[Message]) -> None:
        """Replace the history by another form of the same conversation; a `backend` keeps what it holds."""
        self._window = MessageWindow(self.count_tokens)
        for message in messages:
            self._window.add(message)

    def trim(self, max_tokens: int) -> None:
        """Drop the oldest messages until `get_messages()` fits `max_tokens`, once; the set limits stay.

        The system message, the last user message and a call whose results are still to come are kept, even
        where they alone exceed the budget.
        """
        self._drop_while(lambda: self.token_count() > max_tokens, keep_latest=False)

    def repair(self) -> int:
        """Make a history valid that was loaded or cut from outside; return the number of repairs.

        Every call without a result is answered as cancelled; results that answer no call are dropped.
        """
        dropped = self._window.drop_orphans()
        answers = self._window.answer_open_calls(_cancelled)
        self._store(answers)
        return dropped + len(answers)

    def token_count(self) -> int:
        """Return tokens of `get_messages()`. Each message is counted once; asking again is O(1)."""
        preface = self._preface()
        texts = [message.text for message in preface]
        if texts != self._counted_preface[0]:
            self._counted_preface = (texts, sum(map(self.count_tokens, preface)))
        return self._window.tokens + self._counted_preface[1]

    def count_tokens(self, message: Message) -> int:
        """Return tokens of one message: its text, its calls, its images, a flat figure for other media."""
        total = self._token_counter(message.text) if message.text else 0
        for call in message.tool_calls or ():
            total += self._token_counter(f"{call.name} {call.arguments}")
        return total + media_tokens(message.content)

    def to_langchain_messages(self) -> list[BaseMessage]:
        """Return `get_messages()` as LangChain messages. Each is converted once and shared: do not change
        them."""
        preface = [forge_to_langchain(message) for message in self._preface()]
        return [*preface, *map(_converted, self._window.entries())]

    def from_langchain_messages(self, messages: Iterable[BaseMessage]) -> None:
        """Replace the history by these. A system message among them replaces the present one."""
        converted = [langchain_to_forge(message) for message in messages]
        self.clear_history()
        self.add_messages(converted)

    def _add(self, messages: Iterable[Message]) -> list[Message]:
        added = []
        for message in messages:
            if not isinstance(message, Message):
                raise TypeError(
                    f"A Message is needed, not {type(message).__name__}, or add_langchain_message."
                )
            if message.role is MessageRole.SYSTEM:
                self.set_system_message(message)
                continue
            self._window.add(message)
            self._enforce_window()
            added.append(message)
        return added

    def _store(self, messages: list[Message]) -> None:
        if self._backend is not None and messages:
            self._backend.add_messages([forge_to_langchain(message) for message in messages])

    def _enforce_window(self) -> None:
        self._drop_while(self._exceeds_limits, keep_latest=True)

    def _exceeds_limits(self) -> bool:
        if self.max_messages is not None and len(self._window) > self.max_messages:
            return True
        return self.max_tokens is not None and self.token_count() > self.max_tokens

    def _drop_while(self, exceeds: Callable[[], bool], *, keep_latest: bool) -> None:
        is_shortened = False
        while exceeds() and self._window.drop_oldest(keep_latest=keep_latest):
            is_shortened = True
        if is_shortened:
            self._window.drop_headless_start()

    def _preface(self) -> list[Message]:
        """Return what comes before the history."""
        return [] if self.system_message is None else [self.system_message]


class SlidingWindowMemory(ConversationMemory):
    """Keeps the last `window_size` exchanges: a user message and everything up to the next one.

    Raises:
        ConfigError: `window_size` is below 1.
    """

    def __init__(self, window_size: int = 10, **options: Unpack[MemoryOptions]) -> None:
        at_least_one("window_size", window_size)
        self.window_size = window_size
        super().__init__(**options)

    def _enforce_window(self) -> None:
        self._window.keep_exchanges(self.window_size)
        super()._enforce_window()


def _cancelled(call: ToolCall) -> Message:
    return Message(
        MessageRole.TOOL, CANCELLED, tool_call_id=call.id, name=call.name or None, extra={"status": "error"}
    )


def _converted(entry: Entry) -> BaseMessage:
    if entry.langchain is None:
        entry.langchain = forge_to_langchain(entry.message)
    return entry.langchain


def at_least_one(name: str, value: int | None) -> int | None:
    """Return the value.

    Raises:
        ConfigError: it is below 1.
    """
    if value is not None and value < 1:
        raise ConfigError(f"{name} is {value}; give 1 or more, or None for no limit.")
    return value
