"""What a key writes."""

from __future__ import annotations

from unicodedata import category

from textual import events

_WRITES_NOTHING = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of controls, halves of pairs, and separators of lines and paragraphs."""


def typed_text(event: events.Key) -> str:
    """The text that the key writes, empty for a key that does something else.

    `Key.is_printable` asks `str.isprintable`, which denies what people write: the ideographic space, blanks
    that do not break, joiners, marks of direction, private letters, emoji younger than Python's tables.
    """
    text = event.character or ""
    if text.isprintable() or not any(category(character) in _WRITES_NOTHING for character in text):
        return text
    return ""
