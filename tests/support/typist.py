"""What the person knows of the composer: kept apart from it, to be compared with it."""

from __future__ import annotations

from typing import Any, cast

from forge_tui.widgets.composer import Composer


class Typist:
    """Text, selection, and what was sent."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self.text = ""
        self.start = self.end = 0
        self.submitted: list[str] = []

    def insert(self, text: str) -> None:
        self.text = self.text[: self.start] + text + self.text[self.end :]
        self.start = self.end = self.start + len(text)

    def backspace(self) -> None:
        if self.start == self.end:
            self.start = max(0, self.start - 1)
        self.insert("")

    def delete(self) -> None:
        if self.start == self.end:
            self.end = min(len(self.text), self.end + 1)
        self.insert("")

    def submit(self) -> None:
        if self.text.strip():
            self.submitted.append(self.text.strip())
        self.text, self.start, self.end = "", 0, 0

    def look(self) -> None:
        """Learns where the cursor has gone."""
        document = cast("Any", self._composer.document)
        self.start, self.end = sorted(map(document.get_index_from_location, self._composer.selection))

    def read(self) -> str:
        """Learns what an editing key has left; gives what stood there before."""
        before, self.text = self.text, self._composer.text
        self.look()
        return before
