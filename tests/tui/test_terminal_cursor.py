"""The terminal's own cursor is the caret of the composer: its place, its shape, and its end."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import terminal as terminals
from tests.support.terminal import Terminal, python

pytestmark = [pytest.mark.pty, pytest.mark.slow]

CHAT = python("-m", "forge_tui.cli", "--model", "offline")
SIZE = (80, 24)
SHOWN = "25"
BLOCK, BAR = "2", "6"


def environment(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "FORGE_HOME": str(folder / "forge"), "PS1": "$ "}


@contextmanager
def chat(folder: Path) -> Iterator[Terminal]:
    """The chat, once the terminal's cursor is in its composer."""
    with Terminal(
        CHAT, size=SIZE, folder=folder, environment=environment(folder), is_preloaded=True
    ) as terminal:
        terminal.wait_for("❯ Ask")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BLOCK)
        terminal.wait_for("offline")
        terminal.wait_until_quiet()
        yield terminal


def place(terminal: Terminal) -> tuple[int, int]:
    """Where the cursor is, from the first cell of the composer's text."""
    row = next(y for y, line in enumerate(terminal.emulator.lines()) if re.search("│[❯N]", line))
    cursor = terminal.emulator.screen.cursor
    return cursor.x - 3, cursor.y - row


def wait_for_place(terminal: Terminal, wanted: tuple[int, int]) -> None:
    terminal.wait_for(lambda terminal: place(terminal) == wanted)


def test_the_cursor_follows_the_caret_and_none_is_drawn(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        assert SHOWN in terminal.emulator.modes and place(terminal) == (0, 0)
        assert not any(
            cell.reverse for row in terminal.emulator.screen.buffer.values() for cell in row.values()
        )
        first = terminal.emulator.screen.buffer[terminal.emulator.screen.cursor.y]
        assert first[3].bg == first[5].bg, "a cursor is drawn as well"
        terminal.send("é日本 x")
        wait_for_place(terminal, (7, 0))
        terminal.send("\x1b[D\x1b[D\x1b[D")
        wait_for_place(terminal, (3, 0))
        terminal.send("\x05\x0anext")
        wait_for_place(terminal, (4, 1))
        terminal.resize(60, 20)
        terminal.wait_until_quiet()
        wait_for_place(terminal, (4, 1))
        for _ in range(12):
            terminal.send("\x0a")
        terminal.wait_until_quiet()
        cursor = terminal.emulator.screen.cursor
        bottom = max(y for y, line in enumerate(terminal.emulator.lines()) if line.startswith("╰"))
        assert cursor.y == bottom - 1


def test_it_is_hidden_where_nothing_is_written_and_unchanged_during_a_turn(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.send("\x10")
        terminal.wait_for(lambda terminal: SHOWN not in terminal.emulator.modes)
        terminal.send("\x1b")
        terminal.wait_for(lambda terminal: SHOWN in terminal.emulator.modes)
        terminal.wait_until_quiet()
        before = len(terminal.output)
        terminal.send("hello\r")
        terminal.wait_for("built-in offline model")
        terminal.wait_until_quiet(0.4)
        assert re.findall(rb"\x1b\[\?25[hl]|\x1b\[\d q", bytes(terminal.output[before:])) == []
        assert place(terminal) == (0, 0)


def test_vim_shows_its_mode_by_the_shape(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.send("/vim on\r")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BAR)
        terminal.send("word\x1b")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BLOCK)
        wait_for_place(terminal, (3, 0))
        terminal.send("A")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BAR)
        wait_for_place(terminal, (4, 0))
        terminal.send("\x15/vim off\r")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BLOCK)


@pytest.mark.parametrize("end", ["\x04", signal.SIGTERM, signal.SIGHUP])
def test_the_end_restores_the_cursor(tmp_path: Path, end: str | signal.Signals) -> None:
    with chat(tmp_path) as terminal:
        if isinstance(end, str):
            terminal.send(end)
        else:
            terminal.signal(end)
        assert terminal.wait_for_exit() == (0 if isinstance(end, str) else 128 + end)
        assert terminal.emulator.cursor_shape == "0"
        assert SHOWN in terminal.emulator.modes


def test_a_stop_restores_the_cursor_until_the_program_continues(tmp_path: Path) -> None:
    with Terminal(
        ["bash", "--norc", "-i"], size=SIZE, folder=tmp_path, environment=environment(tmp_path)
    ) as terminal:
        terminal.wait_for("$")
        terminal.send(f"{sys.executable} -m forge_tui.cli --model offline\r")
        terminal.wait_for("❯ Ask")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BLOCK)
        terminal.wait_until_quiet()
        terminal.send("\x1a")
        terminal.wait_for("Stopped")
        assert terminal.emulator.cursor_shape == "0" and SHOWN in terminal.emulator.modes
        terminal.send("fg\r")
        terminal.wait_for("❯ Ask")
        terminal.wait_for(lambda terminal: terminal.emulator.cursor_shape == BLOCK)
        wait_for_place(terminal, (0, 0))


def test_without_synchronized_frames_it_is_hidden_while_a_frame_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(terminals._ANSWERS, "2026")
    with chat(tmp_path) as terminal:
        before = len(terminal.output)
        terminal.send("hello\r")
        terminal.wait_for("built-in offline model")
        terminal.wait_until_quiet(0.4)
        codes = re.findall(rb"\x1b\[\?25([hl])", bytes(terminal.output[before:]))
        assert codes and codes == [b"l", b"h"] * (len(codes) // 2)
        assert place(terminal) == (0, 0)
