"""What remains on the terminal after Forge: the end of the conversation and its cost."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.pty


FORGE = [sys.executable, "-m", "forge_tui.cli", "chat"]
BROKEN = """
import sys
from forge_tui import cli
from forge_tui.app import ForgeApp
from forge_tui.screens.panels.help import HelpScreen

def broken(*arguments):
    raise RuntimeError("a fault of ours")

HelpScreen.compose = broken
{more}
sys.argv[1:] = ["chat"]
sys.exit(cli.main())
"""
READY = "Ask about this folder"
SAID = "where is the function greet?"


def started(folder: Path, program: list[str] = FORGE, **environment: str) -> Terminal:
    (folder / "greet.py").write_text("def greet(name):\n    return f'hello {name}'\n")
    (folder / ".gitignore").write_text("home/\n")  # what was asked is kept there, and would be found
    home = {"FORGE_HOME": str(folder / "home"), "OPENROUTER_API_KEY": "", **environment}
    terminal = Terminal(program, size=(90, 24), folder=folder, environment=home, is_preloaded=True)
    terminal.wait_for(READY)
    return terminal


def answered(folder: Path, program: list[str] = FORGE, **environment: str) -> Terminal:
    terminal = started(folder, program, **environment)
    terminal.send(SAID + "\r")
    terminal.wait_for("greet.py:1")
    terminal.wait_for("Enter send")
    return terminal


def main_screen(terminal: Terminal) -> str:
    """What was written after the alternate screen was left."""
    return terminal.output.decode().rpartition("\x1b[?1049l")[2]


@pytest.mark.parametrize("way", ["ctrl+d", "ctrl+c twice", "/exit", "SIGTERM"])
def test_the_end_of_the_conversation_is_printed_however_the_app_exits(tmp_path: Path, way: str) -> None:
    with answered(tmp_path) as terminal:
        match way:
            case "ctrl+d":
                terminal.send("\x04")
            case "ctrl+c twice":
                terminal.send("\x03\x03")
            case "/exit":
                terminal.send("/exit\r")
            case _:
                terminal.signal(signal.SIGTERM)
        assert terminal.wait_for_exit() == (128 + signal.SIGTERM if way == "SIGTERM" else 0)
        assert SAID in terminal.text
        assert "greet.py:1" in terminal.text
        assert re.search(r"Forge · forge/offline · \S+ in \S+ out · offline", terminal.text)
        assert terminal.text.index(SAID) < terminal.text.index("greet.py:1")
        assert READY not in terminal.text
        assert len(terminal.text.rstrip().split("\n")) <= 24
        assert "48;2" not in main_screen(terminal)


def test_an_empty_conversation_leaves_no_output(tmp_path: Path) -> None:
    with started(tmp_path) as terminal:
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
        assert terminal.text.strip() == ""


def test_the_last_lines_have_no_colour_when_colour_is_off(tmp_path: Path) -> None:
    with answered(tmp_path, NO_COLOR="1") as terminal:
        terminal.send("\x04")
        terminal.wait_for_exit()
        assert SAID in terminal.text
        assert re.search(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7])", main_screen(terminal)) is None


def test_the_end_of_the_conversation_is_printed_before_a_crash_report(tmp_path: Path) -> None:
    with answered(tmp_path, [sys.executable, "-c", BROKEN.format(more="")]) as terminal:
        terminal.send("\x1bOP")
        assert terminal.wait_for_exit() == 70
        text = terminal.text
        assert text.index(SAID) < text.index("greet.py:1") < text.index("Forge failed: RuntimeError: a fault")
        assert READY not in text


def test_an_error_in_the_last_lines_does_not_hide_a_crash(tmp_path: Path) -> None:
    with answered(
        tmp_path, [sys.executable, "-c", BROKEN.format(more="ForgeApp.last_lines = broken")]
    ) as terminal:
        terminal.send("\x1bOP")
        assert terminal.wait_for_exit() == 70
        assert "Forge failed: RuntimeError: a fault" in terminal.text
        assert SAID not in terminal.text
