"""The terminal is restored however the program ends, with the right exit code."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from forge_tui.terminal.title import POP_TITLE, PUSH_TITLE
from tests.support.at_rest import AskedTerminal
from tests.support.terminal import Terminal, python

pytestmark = pytest.mark.pty


ROOT = Path(__file__).resolve().parents[2]
LAUNCHED = python("-m", "tests.support.launched_app")
AT_REST = {"7", "25"}
"""Private modes that are on in a terminal nobody has changed: line wrap and the cursor."""
CTRL_Q = "\x11"


def started() -> tuple[AskedTerminal, list[object]]:
    """An app that shows its screen, and the tty's settings before it."""
    terminal = AskedTerminal(
        LAUNCHED, is_preloaded=True, folder=ROOT, environment={"TMUX": "", "XTERM_VERSION": ""}
    )
    before = terminal.first_settings
    terminal.wait_for("side 0")
    terminal.rest()
    assert "1003" in terminal.emulator.modes and "modified keys" not in terminal.emulator.modes
    return terminal, before


def thread_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def assert_restored(terminal: Terminal, before: list[object]) -> None:
    assert terminal.emulator.modes == AT_REST
    assert terminal.settings == before
    assert terminal.output.count(PUSH_TITLE.encode()) == terminal.output.count(POP_TITLE.encode()) > 0


def test_a_normal_exit_restores_the_terminal() -> None:
    terminal, before = started()
    with terminal:
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


@pytest.mark.parametrize("end", [None, signal.SIGTERM])
def test_xterm_and_tmux_are_asked_for_modified_keys_until_the_end(end: signal.Signals | None) -> None:
    with AskedTerminal(
        LAUNCHED, is_preloaded=True, folder=ROOT, environment={"XTERM_VERSION": "XTerm(379)"}
    ) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.rest()
        assert "modified keys" in terminal.emulator.modes
        if end is None:
            terminal.send(CTRL_Q)
        else:
            terminal.signal(end)
        assert terminal.wait_for_exit() == (0 if end is None else 128 + end)
        assert_restored(terminal, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_restores_the_terminal_and_sets_the_exit_code(number: signal.Signals) -> None:
    terminal, before = started()
    with terminal:
        terminal.signal(number)
        assert terminal.wait_for_exit() == 128 + number
        assert_restored(terminal, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_during_the_launcher_frame_restores_the_terminal(number: signal.Signals) -> None:
    with Terminal([*LAUNCHED, "wait"], folder=ROOT) as terminal:
        before = terminal.first_settings
        terminal.wait_for("Forge is starting")
        terminal.signal(number)
        assert terminal.wait_for_exit() == 128 + number
        assert_restored(terminal, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_received_by_another_thread_ends_the_program_too(number: signal.Signals) -> None:
    """Python only notes it then, for a main thread that sleeps."""
    with AskedTerminal([*LAUNCHED, "deaf"], is_preloaded=True, folder=ROOT) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.rest()
        terminal.signal(number)
        assert terminal.wait_for_exit() == 128 + number
        assert_restored(terminal, before)


@pytest.mark.parametrize("mode", ["import", "late"])
def test_a_signal_ends_the_program_at_any_point(mode: str) -> None:
    """An exception would get lost in the middle of an import, or become another one; a loop that is closed
    takes nothing."""
    with Terminal([*LAUNCHED, mode], folder=ROOT) as terminal:
        before = terminal.first_settings
        if mode == "late":
            terminal.wait_for("side 0")
            terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 128 + signal.SIGTERM
        assert_restored(terminal, before)


def test_a_second_signal_exits_immediately() -> None:
    with AskedTerminal([*LAUNCHED, "endless"], is_preloaded=True, folder=ROOT) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.rest()
        terminal.signal(signal.SIGTERM)
        while terminal.exit_code is None:  # those of the first half second mean the same as the first
            terminal.signal(signal.SIGTERM)
            terminal.wait_until_quiet(0.1)
            with contextlib.suppress(AssertionError):
                terminal.wait_for_exit(0.1)
        assert terminal.exit_code == 128 + signal.SIGTERM
        assert_restored(terminal, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_the_program_even_while_locks_are_held(number: signal.Signals) -> None:
    with AskedTerminal([*LAUNCHED, "locked", str(int(number))], is_preloaded=True, folder=ROOT) as terminal:
        before = terminal.first_settings
        assert terminal.wait_for_exit() == 128 + number
        assert_restored(terminal, before)


def test_sigcont_while_locks_are_held_does_not_block() -> None:
    with AskedTerminal(
        [*LAUNCHED, "locked", str(int(signal.SIGCONT))], is_preloaded=True, folder=ROOT
    ) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.send("a word")
        terminal.wait_for("a word")
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


def test_sigtstp_while_locks_are_held_suspends_the_program() -> None:
    with AskedTerminal(
        [*LAUNCHED, "locked", str(int(signal.SIGTSTP))], is_preloaded=True, folder=ROOT
    ) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.wait_for(lambda t: "1049" not in t.emulator.modes)
        _, status = os.waitpid(terminal.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        terminal.signal(signal.SIGCONT)
        terminal.wait_for(lambda t: "1049" in t.emulator.modes)
        terminal.wait_for("side 0")
        terminal.rest()
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


def is_stopped(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def test_repeated_stop_and_continue_signals_leave_the_program_running() -> None:
    terminal, before = started()
    with terminal:
        threads = thread_count(terminal.pid)
        for _ in range(50):
            for number in (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH):
                terminal.signal(number)
        terminal.send("a word")
        # A SIGCONT that arrives just before the program stops itself has no effect: a shell, too, sends it when
        # it sees that the program has stopped.
        for _ in range(300):
            if "a word" in terminal.text:
                break
            if is_stopped(terminal.pid):
                terminal.signal(signal.SIGCONT)
            terminal.wait_until_quiet(0.2, 1.0)
        terminal.wait_for("a word", 1.0)
        terminal.rest()
        assert thread_count(terminal.pid) == threads
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


def test_a_terminal_that_accepts_nothing_does_not_delay_the_exit() -> None:
    terminal, before = started()
    with terminal:
        for _ in range(40):
            terminal.send("\x1bOP\x1b[5~")
        terminal.signal(signal.SIGTERM)
        _, status = os.waitpid(terminal.pid, 0)  # nobody reads meanwhile
        terminal.exit_code = os.waitstatus_to_exitcode(status)
        assert terminal.exit_code == 128 + signal.SIGTERM
        assert terminal.settings == before


def test_a_crash_behind_the_first_frame_is_reported_on_the_main_screen() -> None:
    with Terminal([*LAUNCHED, "crash"], folder=ROOT) as terminal:
        before = terminal.first_settings
        assert terminal.wait_for_exit() == 70
        assert "told after the terminal was restored" in terminal.text
        assert_restored(terminal, before)


def test_redirected_stderr_does_not_affect_the_screen() -> None:
    in_shell = ["sh", "-c", 'exec "$0" "$@" 2>/dev/null', *LAUNCHED]
    with Terminal(in_shell, folder=ROOT) as terminal:
        before = terminal.first_settings
        terminal.wait_for("side 0")
        terminal.send("日本")
        terminal.wait_for("日本")
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


@pytest.mark.parametrize("how", ["<&-", ">&-", "</dev/null", "| cat"])
def test_chat_without_a_terminal_on_stdin_and_stdout_reports_an_error(how: str, tmp_path: Path) -> None:
    chat = python("-m", "forge_tui.cli", "chat")
    with Terminal(["sh", "-c", f'"$0" "$@" {how}', *chat], folder=tmp_path) as terminal:
        assert terminal.wait_for_exit() == (0 if how == "| cat" else 1)
        assert terminal.text.startswith("forge: forge chat needs a terminal.")


def test_a_closed_window_ends_the_program() -> None:
    terminal, _ = started()
    with terminal:
        terminal.hang_up()
        assert terminal.wait_for_exit() == 128 + signal.SIGHUP


def test_hangup_does_not_block_a_clean_exit() -> None:
    """The kernel sends SIGCONT with SIGHUP, at which nothing may start again."""
    with Terminal([*LAUNCHED, "patient"], folder=ROOT) as terminal:
        terminal.wait_for("side 0")
        terminal.wait_until_quiet()
        terminal.hang_up()
        assert terminal.wait_for_exit() == 128 + signal.SIGHUP


def test_a_program_stopped_by_sigstop_continues_with_one_screen_and_one_reader() -> None:
    terminal, before = started()
    with terminal:
        terminal.send("half a word")
        terminal.wait_for("half a word")
        terminal.rest()
        threads = thread_count(terminal.pid)
        shown = terminal.emulator.cells()
        terminal.signal(signal.SIGSTOP)
        os.waitpid(terminal.pid, os.WUNTRACED)
        terminal.emulator.feed("\x1b[2J\x1b[Hsomebody else wrote here")
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("half a word")
        terminal.rest()
        assert terminal.emulator.cells() == shown
        assert thread_count(terminal.pid) == threads
        terminal.send(" more")
        terminal.wait_for("half a word more")
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)


def test_suspending_restores_the_terminal_and_continuing_shows_the_same_screen() -> None:
    terminal, before = started()
    with terminal:
        terminal.send("half a word")
        terminal.wait_for("half a word")
        terminal.rest()
        shown = terminal.emulator.cells()
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for(lambda t: "1049" not in t.emulator.modes)
        pid, status = os.waitpid(terminal.pid, os.WUNTRACED)
        assert pid == terminal.pid
        assert os.WIFSTOPPED(status)
        terminal.wait_until_quiet()  # a stopped program writes nothing more
        assert_restored(terminal, before)
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("half a word")
        terminal.rest()
        assert terminal.emulator.cells() == shown
        terminal.send(CTRL_Q)
        assert terminal.wait_for_exit() == 0
        assert_restored(terminal, before)
