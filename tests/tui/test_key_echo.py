"""`forge doctor keys`: what the terminal sends, and the terminal afterwards."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from forge_core.exit_codes import ExitCode
from forge_tui.keys.echo import KeyEcho
from forge_tui.keys.effective import EffectiveKeys
from forge_tui.keys.user_file import keys_from
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        (b"\x0b", ["Ctrl+K", "ctrl+k", "\\x0b", "composer.delete_to_line_end,", "endpoints.other_key"]),
        (b"\x1b[1;5C", ["Ctrl+→", "ctrl+right", "\\x1b[1;5C", "composer.word_right"]),
        (b"\x1br", ["Alt+R", "alt+r", "\\x1br", "chat.toggle_raw"]),
        ("ä".encode(), ["Ä", "ä", "\\xc3\\xa4", "not", "bound"]),
        (
            b"\x1b[107;5u",
            ["Ctrl+K", "ctrl+k", "\\x1b[107;5u", "composer.delete_to_line_end,", "endpoints.other_key"],
        ),
    ],
)
def test_a_line_shows_the_key_its_name_the_bytes_and_what_it_does(sent: bytes, line: list[str]) -> None:
    (found,) = KeyEcho(EffectiveKeys()).feed(sent)
    assert found.split() == line


def test_an_escape_is_certain_after_a_moment() -> None:
    echo = KeyEcho(EffectiveKeys())
    assert list(echo.feed(b"\x1b")) == [] and echo.wait_s is not None
    time.sleep(echo.wait_s + 0.01)
    (line,) = echo.tick()
    assert line.split()[:3] == ["Esc", "escape", "\\x1b"]


def test_a_pasted_text_is_not_shown() -> None:
    assert [*KeyEcho(EffectiveKeys()).feed(b"\x1b[200~rm -rf\r\x1b[201~")] == [
        "Paste             7 characters"
    ]


def test_chords_and_changed_keys_are_named() -> None:
    keys, _ = keys_from('"chat.help" = "ctrl+x f1"\n"chat.find" = "f11"')
    echo = KeyEcho(keys)
    assert {"sessions.delete", "Ctrl+X F1: chat.help"} <= set(echo.actions("ctrl+x"))
    assert echo.actions("f11") == ["chat.find"]
    assert "chat.find" not in echo.actions("ctrl+f")


@pytest.mark.parametrize(
    ("sent", "is_over"), [(b"\x03\x03", True), (b"qq", True), (b"q\x03", False), (b"\x03a\x03", False)]
)
def test_ctrl_c_or_q_twice_ends(sent: bytes, is_over: bool) -> None:
    echo = KeyEcho(EffectiveKeys())
    assert list(echo.feed(sent)) and echo.is_over is is_over


@pytest.mark.pty
@pytest.mark.slow
def test_the_terminal_is_restored_at_the_end(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    environment = {
        **os.environ,
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
        "TERM": "xterm",
    }
    program = subprocess.Popen(
        [sys.executable, "-m", "forge_tui.cli", "doctor", "keys"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    try:
        assert "BOUND TO" in read_until(ours, "\x1b[?2004h")
        os.write(ours, b"\x10\x13")
        seen = read_until(ours, "ctrl+s")
        assert "Ctrl+P" in seen and "chat.palette" in seen and "\\x10" in seen
        os.write(ours, b"qq")
        assert program.wait(30) == 0
        assert "\x1b[<u" in read_until(ours, "\x1b[<u")
        assert termios.tcgetattr(theirs) == before
    finally:
        program.kill()
        program.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.pty
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_passes_shift_enter_on(tmp_path: Path) -> None:
    settings, socket = tmp_path / "tmux.conf", str(tmp_path / "tmux")
    settings.write_text("set -s extended-keys on\nset -as terminal-features 'xterm*:extkeys'\n")
    program = f"{shlex.quote(sys.executable)} -m forge_tui.cli doctor keys"
    command = ["tmux", "-S", socket, "-f", str(settings), "new-session", program]
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TMUX": ""}
    with Terminal(command, size=(100, 24), environment=environment, folder=ROOT) as terminal:
        try:
            terminal.wait_for("BOUND TO")
            press_until_shown(terminal, "\x1b[27;2;13~", "composer.newline")
            press_until_shown(terminal, "\x1b[27;6;95~", "composer.undo")  # Ctrl+_
            terminal.send("qq")
            terminal.wait_for_exit()
        finally:
            subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


def press_until_shown(terminal: Terminal, key: str, text: str) -> None:
    """Press a key until it is reported: tmux passes on only what the program has asked for by then."""
    for _ in range(30):
        terminal.send(key)
        terminal.wait_until_quiet(0.5)
        if text in terminal.text:
            return
    raise AssertionError(f"{text!r} did not come; the screen shows:\n{terminal.text}")


def test_without_a_terminal_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "forge_tui.cli", "doctor", "keys"], input="", capture_output=True, text=True
    )
    assert done.returncode == ExitCode.USAGE and "needs a terminal" in done.stderr


def read_until(terminal: int, text: str) -> str:
    """Return the output of the program up to a text; fails after half a minute."""
    seen, deadline = "", time.monotonic() + 30
    while text not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    return seen
