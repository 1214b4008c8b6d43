"""The messages that Up brings back into the composer."""

from __future__ import annotations

from collections.abc import Iterable

HISTORY_LIMIT = 1000
"""Messages of this session, and earlier ones, that Up brings back."""


class Recall:
    """What Up brings back, and the place in it: earlier messages of the folder, those of this session, and
    the draft."""

    def __init__(self) -> None:
        self._earlier: dict[str, None] = {}
        """Messages of earlier sessions, each once, the oldest first."""
        self._sent: list[str] = []
        self._back = 0
        """How many messages before the draft the composer is."""
        self._draft = ""
        self._pasted: set[str] = set()

    def add(self, text: str, *, has_paste: bool = False) -> None:
        """Add a message, `has_paste` if any part of it may have been pasted. The composer is empty."""
        if not self._sent or self._sent[-1] != text:
            self._sent = [*self._sent, text][-HISTORY_LIMIT:]
            self._pasted.intersection_update(self._sent)
        if has_paste:
            self._pasted.add(text)
        else:
            self._pasted.discard(text)
        self._earlier.pop(text, None)
        self._back = 0

    def set_earlier(self, texts: Iterable[str]) -> None:
        """Set the messages of earlier sessions, the oldest first; of equal ones the last counts."""
        sent, found = set(self._sent), dict.fromkeys(reversed([*texts]))
        newest = [text for text in found if text not in sent][:HISTORY_LIMIT]
        self._earlier = dict.fromkeys(reversed(newest))

    def step(self, by: int, text: str) -> str | None:
        """Return the message `by` places later, or None if there is none; `text` is what the composer holds,
        which comes back as the draft."""
        messages = [*self._earlier, *self._sent]
        back = min(max(self._back - by, 0), len(messages))
        if back == self._back:
            return None
        if not self._back:
            self._draft = text
        self._back = back
        return messages[-back] if back else self._draft

    def was_pasted(self, text: str) -> bool:
        """Return whether any part of a message of this session may have been pasted."""
        return text in self._pasted
