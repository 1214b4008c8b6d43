"""Keys typed while `forge chat` starts: shown at once, none lost, repeated or misplaced."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.support.terminal import Emulator, Terminal, python

pytestmark = pytest.mark.pty


ROOT = Path(__file__).resolve().parents[2]
AT_REST = {"7", "25"}
SCRIPTS = {
    "latin": "the quick brown fox jumps over the lazy dog and then sits down to write a few more tests!!",
    "cjk": "漢字かな交じり文を入力しても一文字も失われない" * 3
    + "速く書く人のための試験です、九十文字まで。",
    "emoji": "🎉🚀🌍🍀🎈🐳🦊🍎🌻" * 10,
}


@contextmanager
def starting(
    tmp_path: Path, size: tuple[int, int] = (120, 36), **environment: str
) -> Iterator[tuple[Terminal, Callable[[], None]]]:
    """`forge chat` with the launcher's frame shown and Textual held back; and what lets it go on."""
    gate, folder = tmp_path / "gate", tmp_path / "work"
    os.mkfifo(gate)
    folder.mkdir()
    home = {"HOME": str(tmp_path), "FORGE_HOME": str(tmp_path / "forge"), "OPENROUTER_API_KEY": ""}
    command = python("-m", "tests.support.held_start", "chat", str(folder))
    with Terminal(
        command, size=size, environment={**home, "FORGE_TEST_GATE": str(gate), **environment}, folder=ROOT
    ) as terminal:
        # In a thread: the program may have to write more than the terminal takes before it comes to the gate.
        opener = Thread(target=gate.write_bytes, args=(b"",), daemon=True)
        yield terminal, opener.start


def written(terminal: Terminal) -> str:
    """What stands in the composer's first row."""
    for line in terminal.emulator.lines():
        if line.startswith("│❯"):
            return line[3:].rpartition("│")[0].rstrip().replace("\u0000", "")
    return ""


def compact(text: str) -> str:
    """Without the empty cells behind wide characters, and without blanks."""
    return "".join(text.split())


def text_of_screen(terminal: Terminal) -> str:
    """The composer's text, its rows put together."""
    rows = [line for line in terminal.emulator.lines() if line.startswith(("│❯ ", "│  "))]
    return compact("".join(row[3:].rpartition("│")[0] for row in rows))


def has_taken_over(terminal: Terminal) -> bool:
    """Whether Textual's driver has the terminal: it has asked for the mouse."""
    return "1003" in terminal.emulator.modes


def was_sent(terminal: Terminal, text: str) -> bool:
    """Whether it has become a message, or waits in the queue for the session."""
    above = terminal.text.partition("╭")[0]
    return text in above or "1 queued" in above


def states(output: bytes, size: tuple[int, int]) -> Iterator[Emulator]:
    """The screen after every single sequence that was written."""
    emulator = Emulator(*size)
    for piece in re.split(r"(?=\x1b)", output.decode()):
        emulator.feed(piece)
        yield emulator


@pytest.mark.parametrize("script", SCRIPTS)
def test_ninety_keys_typed_during_startup_are_kept_in_order(tmp_path: Path, script: str) -> None:
    keys = SCRIPTS[script]
    assert len(keys) == 90
    with starting(tmp_path) as (terminal, go_on):
        for number, key in enumerate(keys):
            terminal.send(key)
            if number == 30:
                terminal.wait_for(lambda terminal: compact(keys[:31]) in compact(terminal.text))
                go_on()
            terminal.wait_until_quiet(0.004)
        terminal.wait_for(lambda terminal: text_of_screen(terminal) == compact(keys))


def test_a_key_shows_before_textual_is_imported_and_is_kept(tmp_path: Path) -> None:
    size, keys = (80, 24), "typed early and shown at once"
    with starting(tmp_path, size) as (terminal, go_on):
        terminal.wait_for("Ask about this folder")
        for key in keys:
            terminal.send(key)
        terminal.wait_for(keys)
        assert b"\x1b[?1003h" not in terminal.output  # what Textual's driver begins with
        go_on()
        terminal.wait_for(has_taken_over)
        terminal.send("!")
        terminal.wait_for(f"{keys}!")
        output = bytes(terminal.output)
    longest = 0
    for emulator in states(output, size):
        line = emulator.screen.display[21]
        shown = next((n for n, (a, b) in enumerate(zip(line[3:], keys, strict=False)) if a != b), len(keys))
        assert shown >= longest, "what was typed went away"
        longest = shown
        if longest > 5:
            assert sum("typed" in row for row in emulator.screen.display) == 1, "it stands there twice"
    assert longest == len(keys)
    after = output[output.index(b"\x1b[?1003h") :]
    assert b"\x1b[?1049h" not in after
    assert not re.search(rb"\x1b\[[0-3]?J", after), "the screen was cleared"


def test_an_early_enter_sends_the_line_and_later_keys_start_a_new_one(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        terminal.wait_for("Ask about this folder")
        terminal.send("hello\rnext")
        terminal.wait_for(lambda terminal: written(terminal) == "hello")
        go_on()
        terminal.wait_for(lambda terminal: was_sent(terminal, "hello") and written(terminal) == "next")
        assert was_sent(terminal, "hello") and written(terminal) == "next"


def test_enter_typed_before_raw_mode_also_sends(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        terminal.send("hello\rnext")  # the interpreter has not even started: this comes as a line feed
        go_on()
        terminal.wait_for(lambda terminal: was_sent(terminal, "hello") and written(terminal) == "next")
        assert was_sent(terminal, "hello") and written(terminal) == "next"


def test_early_corrections_are_shown_and_kept(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        terminal.wait_for("Ask about this folder")
        terminal.send("one twoo\x7f thre\x17four")
        terminal.wait_for(lambda terminal: written(terminal) == "one two four")
        terminal.send("\x15")
        terminal.wait_for("Ask about this folder")
        terminal.send("done")
        terminal.wait_for(lambda terminal: written(terminal) == "done")
        go_on()
        terminal.wait_for(has_taken_over)
        terminal.send("!")
        terminal.wait_for(lambda terminal: written(terminal) == "done!")
        assert written(terminal) == "done!"


def test_cursor_keys_and_a_paste_are_handled_once_the_app_runs(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        terminal.wait_for("Ask about this folder")
        terminal.send("world\x1b[Hhello \x1b[F, \x1b[200~pasted\rline\x1b[201~")
        terminal.wait_for(lambda terminal: written(terminal) == "world")
        go_on()
        terminal.wait_for(lambda terminal: text_of_screen(terminal) == "helloworld,pastedline")
        assert text_of_screen(terminal) == "helloworld,pastedline"


def test_a_big_early_paste_is_kept_whole(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        terminal.wait_for("Ask about this folder")
        for number in range(64):
            terminal.send(("\x1b[200~" if number == 0 else "") + f"{number:03} " * 255 + "\n")
        terminal.send("the end\x1b[201~!")
        go_on()
        terminal.wait_for("[Pasted text #1 +64 lines]!")
        terminal.send("\x1b[D\x0f")  # Left and Ctrl+O: expand it
        terminal.wait_for("the end!")
        assert "the end!" in terminal.text


def test_a_resize_during_startup_repaints_the_frame_at_the_new_size(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        terminal.wait_for("Ask about this folder")
        terminal.send("hello")
        terminal.resize(60, 20)
        terminal.wait_for(lambda terminal: terminal.emulator.lines()[17].startswith("│❯ hello"))
        terminal.send(" there")
        terminal.wait_for("hello there")
        go_on()
        terminal.wait_for(has_taken_over)
        terminal.send("!")
        terminal.wait_for(lambda terminal: terminal.emulator.lines()[17].startswith("│❯ hello there!"))
        assert terminal.emulator.lines()[17].startswith("│❯ hello there!")


@pytest.mark.parametrize("size", [(19, 24), (80, 6), (1, 1)])
def test_a_terminal_too_small_for_a_frame_keeps_the_keys(tmp_path: Path, size: tuple[int, int]) -> None:
    with starting(tmp_path, size) as (terminal, go_on):
        terminal.wait_for(lambda terminal: "1049" in terminal.emulator.modes)
        terminal.send("kept")
        terminal.wait_until_quiet()
        assert terminal.text.strip() == ""
        go_on()
        terminal.wait_for(has_taken_over)
        terminal.resize(60, 20)
        terminal.wait_for("kept")


def test_ctrl_c_twice_leaves_immediately(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, _):
        before = terminal.first_settings
        terminal.wait_for("Ask about this folder")
        terminal.send("hello\x03\x03")
        assert terminal.wait_for_exit() == 128 + signal.SIGINT
        assert (terminal.emulator.modes, terminal.settings) == (AT_REST, before)


def test_ctrl_c_once_during_startup_clears_the_line_and_ctrl_d_exits(tmp_path: Path) -> None:
    with starting(tmp_path) as (terminal, go_on):
        before = terminal.first_settings
        terminal.wait_for("Ask about this folder")
        terminal.send("hello\x03")
        go_on()
        terminal.wait_for("Ctrl+C again leaves Forge")
        assert written(terminal).startswith("Ask about")
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
        assert (terminal.emulator.modes, terminal.settings) == (AT_REST, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_start_up_restores_the_terminal(tmp_path: Path, number: signal.Signals) -> None:
    with starting(tmp_path) as (terminal, _):
        before = terminal.first_settings
        terminal.wait_for("Ask about this folder")
        terminal.send("hello")
        terminal.wait_for(lambda terminal: written(terminal) == "hello")
        terminal.signal(number)
        assert terminal.wait_for_exit() == 128 + number
        assert (terminal.emulator.modes, terminal.settings) == (AT_REST, before)
