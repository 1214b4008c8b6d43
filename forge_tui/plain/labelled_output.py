"""Labelled lines, which are only ever appended: no colour, no cursor movement, nothing is drawn again."""

from __future__ import annotations

import re
from typing import TextIO

from forge_core.redact import Redactor
from forge_core.sanitize import safe_line, safe_text

YOU = "You"
FORGE = "Forge"
REASONING = "Reasoning"
TOOL = "Tool"
CHANGE = "Change"
OUTPUT = "Output"
NOTICE = "Notice"
WARNING = "Warning"
ERROR = "Error"
STATUS = "Status"
PERMISSION = "Permission"
QUESTION = "Question"
ANSWER = "Answer"
INFO = "Info"
COMMAND = "Command"
LABELS = (
    YOU,
    FORGE,
    REASONING,
    TOOL,
    CHANGE,
    OUTPUT,
    NOTICE,
    WARNING,
    ERROR,
    STATUS,
    PERMISSION,
    QUESTION,
    ANSWER,
    INFO,
    COMMAND,
)
_FORGED = re.compile(rf"^(?=(?:{'|'.join(LABELS)})\b[^\n:]*:)", re.MULTILINE)
"""The beginning of a line that could be taken for one of ours."""
_INDENT = "  "


class LabelledOutput:
    """Writes text with a label wherever the speaker changes.

    All text is made safe. A line inside a text that begins like a label is indented: what is at the
    beginning of a line and labelled comes from Forge.
    """

    def __init__(self, out: TextIO, redact: Redactor) -> None:
        self._out = out
        self._redact = redact
        self._speaker = ""
        """Whose streamed text is being written; empty for none."""
        self._is_line_begun = False

    def say(self, label: str, text: str) -> None:
        """Write a text of its own; further lines follow it as they are."""
        self.end_stream()
        first, *rest = safe_text(self._redact(text)).rstrip("\n").split("\n")
        self._write("\n".join([f"{label}: {first}".rstrip(), *map(_marked, rest)]) + "\n")

    def lines(self, text: str) -> None:
        """Write lines that belong to what was said last."""
        self.end_stream()
        for line in safe_text(self._redact(text)).split("\n"):
            self._write(f"{_marked(line)}\n")

    def line(self, text: str) -> None:
        """Write one safe line without a label."""
        self.lines(safe_line(text))

    def stream(self, label: str, text: str) -> None:
        """Write a part of a speaker's text: whole sentences or lines, redacted already."""
        if self._speaker != label:
            self.end_stream()
            self._speaker = label
            text = text.lstrip("\n")
            self._write(f"{label}: ")
        safe = safe_text(text)
        head, at_break, rest = safe.partition("\n")
        begin = head if self._is_line_begun else _marked(head)
        self._write(begin + at_break + _FORGED.sub(_INDENT, rest) if at_break else begin)

    def end_stream(self) -> None:
        """End the line of a streamed text."""
        self._speaker = ""
        if self._is_line_begun:
            self._write("\n")

    def learn_secret(self, secret: str) -> None:
        """Write this value nowhere from now on."""
        self._redact.learn(secret)

    def prompt(self, text: str) -> None:
        """Write a prompt, after which the user types in the same line."""
        self.end_stream()
        self._out.write(text)
        self._out.flush()

    def echo(self, line: str) -> None:
        """Write what was read after a prompt, where no terminal has shown it."""
        self._out.write(safe_line(line) + "\n")
        self._out.flush()

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._is_line_begun = not text.endswith("\n")


def _marked(line: str) -> str:
    return _FORGED.sub(_INDENT, line)
