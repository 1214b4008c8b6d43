"""Each frame is one synchronized update if the terminal supports them, and none is left open."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.support import terminal as terminals
from tests.support.at_rest import AskedTerminal
from tests.support.terminal import python

pytestmark = pytest.mark.pty


ROOT = Path(__file__).resolve().parents[2]
ASKED, BEGIN, END = b"\x1b[?2026$p", b"\x1b[?2026h", b"\x1b[?2026l"
ADD, PANEL, THEME, LEND, FAIL, CTRL_Q = (
    "\x1bOP",
    "\x1bOQ",
    "\x1bOR",
    "\x1b[18~",
    "\x1b[19~",
    "\x11",
)
PAINTING = re.compile(rb"\x1b\[\d+;\d+[Hr]|\x1b\[[0-9;]*m")
"""What no frame is without: a place, a style."""


def started() -> AskedTerminal:
    terminal = AskedTerminal(python("-m", "tests.support.launched_app"), folder=ROOT, is_preloaded=True)
    terminal.wait_for("side 0")
    # The emulator has answered once this is read, and its answer comes before any key that is sent from now on.
    terminal.wait_for(lambda seen: ASKED in seen.output)
    terminal.rest()
    return terminal


def work(terminal: AskedTerminal) -> int:
    """Lets the app scroll, dim, switch themes and change its size; where that begins in the output."""
    began = len(terminal.output)
    for key in (ADD, ADD, ADD, PANEL, "g", "c", THEME, "text"):
        terminal.send(key)
        terminal.rest()
    terminal.resize(60, 20)
    terminal.ask()
    terminal.settle_in_size()
    return began


def pairs(written: bytes) -> list[bytes]:
    """The frames, each with its marks off. Fails where marks are not in pairs or something is painted outside."""
    outside, frames = b"", []
    for part in written.split(BEGIN)[1:]:
        frame, end, rest = part.partition(END)
        assert end, f"not ended: {frame[:200]!r}"
        assert END not in rest
        frames.append(frame)
        outside += rest
    assert not PAINTING.search(outside), outside
    assert not PAINTING.search(written.split(BEGIN)[0])
    return frames


def test_each_frame_is_one_synchronized_update() -> None:
    with started() as terminal:
        began = work(terminal)
        frames = pairs(bytes(terminal.output[began:]))
    assert len(frames) >= 8
    assert all(PAINTING.search(frame) for frame in frames)


def test_an_unsupporting_terminal_gets_no_synchronized_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "_ANSWERS", {})
    with started() as terminal:
        began = work(terminal)
        assert len(terminal.output) > began
        assert BEGIN not in terminal.output


@pytest.mark.parametrize("end", [CTRL_Q, FAIL, signal.SIGTERM, signal.SIGHUP])
def test_no_synchronized_update_is_left_open_at_exit(end: str | signal.Signals) -> None:
    with started() as terminal:
        terminal.send(ADD * 3)
        terminal.wait_for(lambda seen: BEGIN in seen.output)
        if isinstance(end, str):
            terminal.send(end)
        else:
            terminal.signal(end)
        terminal.wait_for_exit()
        written = bytes(terminal.output)
        assert BEGIN in written
        assert written.rindex(END) > written.rindex(BEGIN)
        assert "2026" not in terminal.emulator.modes


def test_no_synchronized_update_is_open_while_another_program_has_the_terminal() -> None:
    with started() as terminal:
        terminal.send(ADD + LEND)
        terminal.wait_for("another program")
        assert "2026" not in terminal.emulator.modes
        before = len(terminal.output)
        terminal.send("\r")
        terminal.wait_for("side 0")
        terminal.rest()
        assert len(pairs(bytes(terminal.output[terminal.output.index(BEGIN, before) :]))) > 0
        assert "2026" not in terminal.emulator.modes
