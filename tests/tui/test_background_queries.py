"""The terminal is asked for its background while the app runs, and never after; what it replies is never typed."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from forge_tui.terminal.background import ANSWER_S, QUERY, REPORTS_OFF, REPORTS_ON
from tests.support.at_rest import AskedTerminal
from tests.support.terminal import Terminal, python
from tests.tui.test_terminal import AT_REST, CTRL_Q, assert_restored

pytestmark = pytest.mark.pty

ROOT = Path(__file__).resolve().parents[2]
FOLLOWING = python("-m", "tests.support.launched_app", "following")
DARK, LIGHT = "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b]11;rgb:ffff/ffff/dddd\x07"
ATTRIBUTES = "\x1b[?62;22c"
REPORTED_DARK, REPORTED_LIGHT = "\x1b[?997;1n", "\x1b[?997;2n"


class PlayedTerminal(AskedTerminal):
    """A terminal whose replies to the query are sent by the test."""

    def _answer(self, data: bytes) -> None:
        if data != ATTRIBUTES.encode():
            super()._answer(data)

    @property
    def queries(self) -> int:
        return self.output.decode(errors="replace").count(QUERY)

    def wait_for_query(self, number: int = 1) -> None:
        self.wait_for(lambda _: self.queries >= number)


def started(**environment: str) -> PlayedTerminal:
    """An app that follows the background and has asked for it."""
    terminal = PlayedTerminal(FOLLOWING, is_preloaded=True, folder=ROOT, environment=environment)
    terminal.wait_for("side 0")
    terminal.wait_for_query()
    return terminal


def quit_and_check(terminal: PlayedTerminal, before: list[object]) -> None:
    terminal.send(CTRL_Q)
    assert terminal.wait_for_exit() == 0
    assert_restored(terminal, before)


def test_an_answer_reaches_the_app_and_keys_around_it_are_typed() -> None:
    with started() as terminal:
        terminal.send(f"ab{LIGHT}c{ATTRIBUTES}d")
        terminal.wait_for("it is light")
        terminal.wait_for("abcd")
        assert "rgb" not in terminal.text and terminal.queries == 1


@pytest.mark.parametrize("at", [2, 3, 9, len(DARK) - 1])
def test_a_split_answer_is_not_typed(at: int) -> None:
    with started() as terminal:
        terminal.send(DARK[:at])
        terminal.wait_until_quiet(0.3)  # longer than what tells Escape from a sequence
        terminal.send(f"{DARK[at:]}{ATTRIBUTES}typed")
        terminal.wait_for("typed")
        terminal.wait_for("it is dark")
        assert [word for word in terminal.text.split() if "typed" in word] == ["typed"]


def test_a_late_answer_counts_and_is_not_typed() -> None:
    with started() as terminal:
        terminal.send("before ")
        terminal.wait_for("before")
        terminal.wait_until_quiet(1.5)
        terminal.send(f"{LIGHT}{ATTRIBUTES}after")
        terminal.wait_for("before after")
        terminal.wait_for("it is light")


def test_silence_shows_the_app_all_the_same() -> None:
    with started() as terminal:
        terminal.send("typed")
        terminal.wait_for("typed")
        terminal.rest()
        assert "it is" not in terminal.text and terminal.queries == 1


def test_an_answer_in_a_paste_is_its_text() -> None:
    with started() as terminal:
        terminal.send(f"\x1b[200~x{LIGHT}y\x1b[201~")
        terminal.wait_for("rgb:ffff")
        terminal.rest()
        assert "it is" not in terminal.text


def test_a_report_of_a_change_asks_again() -> None:
    with started() as terminal:
        assert "2031" in terminal.emulator.modes
        terminal.send(f"{DARK}{ATTRIBUTES}")
        terminal.wait_for("it is dark")
        terminal.send(f"a{REPORTED_LIGHT}b")
        terminal.wait_for_query(2)
        terminal.send(f"{LIGHT}{ATTRIBUTES}c")
        terminal.wait_for("it is light")
        terminal.wait_for("abc")


def test_a_report_counts_where_no_colour_is_known() -> None:
    with started() as terminal:
        terminal.send(ATTRIBUTES)
        terminal.rest()
        terminal.send(REPORTED_LIGHT)
        terminal.wait_for_query(2)
        terminal.send(ATTRIBUTES)
        terminal.wait_for("it is light")


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_a_terminal_without_colours_is_not_asked(variable: str) -> None:
    value = {"NO_COLOR": "1", "TERM": "linux"}[variable]
    with PlayedTerminal(FOLLOWING, is_preloaded=True, folder=ROOT, environment={variable: value}) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.rest()
        assert terminal.queries == 0 and "2031" not in terminal.emulator.modes
        quit_and_check(terminal, before)
        assert REPORTS_ON.encode() not in terminal.output


def test_exit_waits_for_an_answer_that_is_due_and_restores_the_terminal() -> None:
    with PlayedTerminal(FOLLOWING, is_preloaded=True, folder=ROOT) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.send(ATTRIBUTES)
        terminal.rest()
        asked_at = time.monotonic()
        terminal.send(REPORTED_LIGHT + CTRL_Q)
        terminal.wait_for(lambda t: REPORTS_OFF.encode() in t.output)
        assert terminal.queries == 2
        terminal.wait_until_quiet(0.2)  # twice the last look without a question
        if time.monotonic() < asked_at + 0.8 * ANSWER_S:  # unless the machine is too busy to tell
            assert "1049" in terminal.emulator.modes
        terminal.send(f"{LIGHT}{ATTRIBUTES}")
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


def test_a_silent_terminal_does_not_keep_the_app_from_ending() -> None:
    with started() as terminal:
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert terminal.emulator.modes == AT_REST


@pytest.mark.parametrize("end", ["\x1b[19~", signal.SIGTERM, signal.SIGINT])
def test_a_crash_or_a_signal_switches_reports_off(end: str | signal.Signals) -> None:
    with started() as terminal:
        terminal.send(f"{DARK}{ATTRIBUTES}")
        terminal.wait_for("it is dark")
        terminal.send(end) if isinstance(end, str) else terminal.signal(end)
        terminal.wait_for_exit()
        assert terminal.emulator.modes == AT_REST


def test_suspending_switches_reports_off_and_continuing_asks_again() -> None:
    with started() as terminal:
        terminal.send(f"{DARK}{ATTRIBUTES}")
        terminal.wait_for("it is dark")
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for(lambda t: "1049" not in t.emulator.modes)
        _, status = os.waitpid(terminal.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        terminal.wait_until_quiet()
        assert terminal.emulator.modes == AT_REST
        terminal.signal(signal.SIGCONT)
        terminal.wait_for_query(2)
        assert "2031" in terminal.emulator.modes
        terminal.send(f"{LIGHT}{ATTRIBUTES}")
        terminal.wait_for("it is light")


def test_another_program_gets_a_terminal_without_reports() -> None:
    with started() as terminal:
        terminal.send(f"{DARK}{ATTRIBUTES}\x1b[18~")
        terminal.wait_for("another program")
        assert "2031" not in terminal.emulator.modes
        terminal.send("x\n")
        terminal.wait_for_query(2)
        terminal.send(f"{LIGHT}{ATTRIBUTES}")
        terminal.wait_for("it is light")


# forge doctor


DOCTOR = [*python("-m", "forge_tui.cli", "doctor"), "."]


@pytest.mark.parametrize(
    ("background", "words"),
    [("rgb:ffff/ffff/ffff", "light"), ("rgb:00/00/00", "dark"), ("", "not known: the terminal does not say")],
)
def test_doctor_reports_the_background(tmp_path: Path, background: str, words: str) -> None:
    with Terminal(
        DOCTOR, size=(100, 60), folder=tmp_path, environment={"FORGE_MODEL": "offline"}
    ) as terminal:
        terminal.emulator.background = background
        before = terminal.first_settings
        terminal.wait_for_exit()
        assert re.search(rf"background +{words}$", terminal.text, re.MULTILINE)
        assert "rgb" not in terminal.text and "62;22" not in terminal.text
        assert terminal.settings == before


def test_doctor_waits_for_the_colour_where_the_attributes_come_first(tmp_path: Path) -> None:
    environment = {"FORGE_MODEL": "offline", "STY": "1.pts-0.host", "TMUX": ""}
    with PlayedTerminal(DOCTOR, size=(100, 60), folder=tmp_path, environment=environment) as terminal:
        terminal.wait_for_query()
        terminal.send(ATTRIBUTES)
        terminal.wait_until_quiet(0.2)
        terminal.send(LIGHT)
        terminal.wait_for_exit()
        assert re.search(r"background +light$", terminal.text, re.MULTILINE)
        assert "rgb" not in terminal.text


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_doctor_does_not_ask_a_terminal_without_colours(tmp_path: Path, variable: str, value: str) -> None:
    environment = {"FORGE_MODEL": "offline", variable: value}
    with Terminal(DOCTOR, size=(100, 60), folder=tmp_path, environment=environment) as terminal:
        terminal.wait_for_exit()
        assert "background" not in terminal.text and QUERY.encode() not in terminal.output
