"""Lines from a terminal, read by the plain chat."""

from __future__ import annotations

import io
import os
import pty
import select

from forge_core.redact import Redactor
from forge_tui.plain.input_lines import InputLines
from forge_tui.plain.labelled_output import LabelledOutput

KEY = b"a-key-0123456789"


class QuickUser(io.StringIO):
    """An output whose reader types the key in the moment in which the prompt appears."""

    def __init__(self, terminal: int) -> None:
        super().__init__()
        self._terminal = terminal

    def write(self, text: str) -> int:
        if text == "Key: ":
            os.write(self._terminal, KEY + b"\n")
        return super().write(text)


async def test_a_secret_typed_at_the_first_moment_is_read_and_not_shown() -> None:
    terminal, descriptor = pty.openpty()
    try:
        lines = InputLines(LabelledOutput(QuickUser(terminal), Redactor()), descriptor)
        assert await lines.secret("Key: ") == KEY.decode()
        shown = os.read(terminal, 1000) if select.select([terminal], [], [], 0)[0] else b""
        assert KEY not in shown
    finally:
        os.close(terminal)
        os.close(descriptor)
