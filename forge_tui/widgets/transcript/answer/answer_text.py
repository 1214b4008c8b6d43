"""What the model wrote in one answer: its Markdown source, and the code in it."""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.sanitize import safe_line


@dataclass(frozen=True, slots=True)
class CodeText:
    """One block of code in an answer."""

    language: str
    """As the model named it, or ""."""
    text: str
    """Without the fence and without a line end at the end."""


class AnswerText:
    """The source of one answer. It grows while the answer streams; the answer's blocks point to it."""

    __slots__ = ("_parts", "is_void", "length", "turns")

    def __init__(self, source: str = "") -> None:
        self._parts = [source] if source else []
        self.length = len(source)
        self.turns = 0
        """How often it was turned from what it means to its source, or back."""
        self.is_void = False
        """Whether the answer broke off and is asked for again: shown dimmed until the other begins."""

    @property
    def looks(self) -> int:
        """Differs for each way of showing it."""
        return self.turns * 2 + self.is_void

    @property
    def is_raw(self) -> bool:
        """Whether its blocks show the source instead of what it means."""
        return self.turns % 2 > 0

    def turn(self) -> None:
        """Shows the other of the two, in all its blocks at once."""
        self.turns += 1

    @property
    def source(self) -> str:
        """The Markdown as it was written, sanitised."""
        self.join()
        return self._parts[0] if self._parts else ""

    def append(self, text: str) -> None:
        """Adds sanitised text."""
        if text:
            self._parts.append(text)
            self.length += len(text)

    def join(self) -> None:
        """Keeps what has come in one piece: each fragment by itself takes ten times its characters."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]

    @property
    def code_blocks(self) -> list[CodeText]:
        """Every block of code, in order, also those in lists and quotes."""
        from forge_tui.widgets.transcript.markdown.markdown import parse

        return [
            CodeText(safe_line(token.info.strip().partition(" ")[0]), token.content.removesuffix("\n"))
            for token in parse(self.source)
            if token.type in ("fence", "code_block")
        ]
