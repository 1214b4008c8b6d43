"""What is typed before the app reads keys: the part that can be shown truthfully, and the rest as it came.

Standard library only, but for the widths of characters beyond ASCII.
"""

from __future__ import annotations

import re
from unicodedata import combining

from forge_core.text_width import cell_len

_WORD_EDGE = r"(?<=\W)(?=\w)|(?<=\w)(?=\W)"
"""As Textual's TextArea has it."""
_IDEOGRAPHIC_SPACE = "\u3000"
"""Every Japanese keyboard writes it, and `str.isprintable` denies it."""


class TypedLine:
    """One line of text with the cursor at its end. It closes at the first key that does more than write or
    delete there; from then on bytes are only kept."""

    def __init__(self, room: int) -> None:
        """`room` is the width in cells that text may take; 0 for a line that shows nothing."""
        self._room = room
        self.text = ""
        self.rest = b""
        """Bytes that come after the text, in order."""
        self.is_open = room > 0

    def feed(self, data: bytes) -> None:
        """Takes bytes as they were read; a character may be cut anywhere."""
        self.rest += data
        while self.is_open and self.rest:
            size = _size(self.rest)
            if len(self.rest) < size:
                return
            try:
                text = self._after(self.rest[:size].decode())
            except UnicodeDecodeError:
                text = None
            if text is None:
                self.is_open = False
                return
            self.text, self.rest = text, self.rest[size:]

    def resize(self, room: int) -> bool:
        """There is more or less room now; whether the text still fits. If not, the line closes."""
        self._room = room
        fits = cell_len(self.text) <= room
        self.is_open = self.is_open and fits and room > 0
        return fits

    def _after(self, character: str) -> str | None:
        """The text once this has been typed; None where that is not known here."""
        match character:
            case "\x7f":  # Backspace
                return self.text[:-1]
            case "\x15":  # Ctrl+U
                return ""
            case "\x17":  # Ctrl+W
                edges = list(re.finditer(_WORD_EDGE, self.text.rstrip()))
                return self.text[: edges[-1].start()] if edges else ""
        text = self.text + character
        return text if _is_plain(character, self.text) and cell_len(text) <= self._room else None


def _is_plain(character: str, before: str) -> bool:
    """Whether it is text to the app and shows alike in all terminals: not what joins or colours emoji."""
    if not (character.isprintable() or character == _IDEOGRAPHIC_SPACE):
        return False
    return bool(cell_len(character)) or (bool(before) and bool(combining(character)))


def _size(data: bytes) -> int:
    """How many bytes the first character takes."""
    lead = data[0]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
