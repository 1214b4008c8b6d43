"""Copying on real terminals: the route, the bytes, and the note about the result."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from forge_tui.screens.chat.screen_commands import CannotCopyError, pick
from forge_tui.terminal import clipboard
from forge_tui.terminal.clipboard import Route, copy_note, find_route, sequence
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerText
from tests.support.terminal import Terminal, python

pytestmark = pytest.mark.slow


EVERY_TOOL = {name: f"/usr/bin/{name}" for name in ("wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "tmux")}
SSH = {"SSH_TTY": "/dev/pts/3", "TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("environment", "system", "kind", "program"),
    [
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "linux", "tool", "wl-copy"),
        ({"DISPLAY": ":0", "TMUX": "x"}, "linux", "tool", "xclip"),
        ({"WSL_DISTRO_NAME": "Ubuntu"}, "linux", "tool", "clip.exe"),
        ({}, "darwin", "tool", "pbcopy"),
        ({**SSH, "DISPLAY": ":10"}, "linux", "terminal", None),
        ({**SSH, "TMUX": "/tmp/tmux-0/default,1,0"}, "linux", "tmux", "tmux"),
        ({**SSH, "STY": "1.pts"}, "linux", "screen", None),
        ({"TERM": "linux"}, "linux", "none", None),
        ({"TERM": "xterm-256color"}, "linux", "terminal", None),
    ],
)
def test_the_route_reaches_the_clipboard_of_the_users_machine(
    environment: Mapping[str, str], system: str, kind: str, program: str | None
) -> None:
    route = find_route(environment, EVERY_TOOL.get, system)
    assert route.kind == kind
    assert (route.command[0] if route.command else None) == (program and f"/usr/bin/{program}")


def test_a_clipboard_program_in_the_workspace_is_never_run() -> None:
    assert (
        find_route({"DISPLAY": ":0", "TERM": "xterm"}, lambda name: f"./{name}", "linux").kind == "terminal"
    )


def test_every_note_fits_a_line_and_reports_the_result() -> None:
    assert copy_note("x", Route("tool")) == ("Copied 1 character", False)
    text, long = "y" * 312, "z" * 900_000
    assert (
        copy_note(text, Route("terminal", is_obeyed=True))[0] == "Copied 312 characters through the terminal"
    )
    for route in (Route("terminal"), Route("screen"), Route("none"), Route("tmux"), Route("tmux", ("tmux",))):
        for copied in (text, long):
            assert len(copy_note(copied, route)[0]) <= 76
    assert "F9" in copy_note(text, Route("terminal"))[0]
    assert "74,000" in copy_note(long, Route("terminal", is_obeyed=True))[0]


def test_gnu_screen_gets_the_sequence_in_chunks_and_tmux_gets_it_wrapped() -> None:
    text = "long text " * 40
    whole = sequence(text, "terminal")
    assert whole == f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", sequence(text, "screen"), re.DOTALL)
    assert "".join(pieces) == whole
    assert all(len(piece) < 100 for piece in pieces)
    assert sequence(text, "tmux") == "\x1bPtmux;" + whole.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def tool(folder: Path, body: str) -> str:
    path = folder / "tool"
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return str(path)


async def test_the_terminal_copies_if_the_program_fails_or_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard, "TIMEOUT_S", 0.5)
    for body in ("raise SystemExit(1)", "import time; time.sleep(60)"):
        written: list[str] = []
        route = await clipboard.copy("text", Route("tool", (tool(tmp_path, body),)), written.append)
        assert route.kind == "terminal"
        assert written == [sequence("text", "terminal")]
    assert (await clipboard.copy("x", Route("tool", ("/nowhere/at/all",)), written.append)).kind == "terminal"


async def test_a_clipboard_program_gets_the_text_and_nothing_is_written_to_the_terminal(
    tmp_path: Path,
) -> None:
    body = f"import sys; open({str(tmp_path / 'got')!r}, 'wb').write(sys.stdin.buffer.read())"
    command = (tool(tmp_path, body),)
    written: list[str] = []
    assert (await clipboard.copy("größer\n", Route("tool", command), written.append)).kind == "tool"
    assert (tmp_path / "got").read_text() == "größer\n"
    assert not written
    assert await clipboard.copy_primary("middle", Route("tool", command, command))
    assert (tmp_path / "got").read_text() == "middle"
    assert not await clipboard.copy_primary("middle", Route("terminal"))


async def test_the_next_copy_ends_the_program_of_the_last_one(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    copying = asyncio.create_task(clipboard.run((tool(tmp_path, body),), b"text"))
    async with asyncio.timeout(60):
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.01)
    copying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await copying
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


ANSWERS = [
    AnswerText("first answer\n"),
    AnswerText("see\n\n```py\nx = 1\n```\n\nand\n\n```\nplain\n```\n"),
    AnswerText(" "),
]


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("", ANSWERS[1].source.strip("\n")),
        ("2", "first answer"),
        ("code", "plain"),
        ("code 1", "x = 1"),
        ("1 code 2", "plain"),
    ],
)
def test_copy_copies_an_answer_or_its_code(argument: str, text: str) -> None:
    assert pick(ANSWERS, argument) == text


def test_code_without_the_number_of_an_answer_is_that_of_the_last_answer_that_has_any() -> None:
    later = [*ANSWERS, AnswerText("Done.")]
    assert pick(later, "code") == "plain"
    assert pick(later, "code 1") == "x = 1"
    with pytest.raises(CannotCopyError, match="Answer 1 has no block of code"):
        pick(later, "1 code")
    with pytest.raises(CannotCopyError, match="Answer 1 has no block of code"):
        pick([AnswerText("Done.")], "code")


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("0", "no answer 0 among 2 answers"),
        ("3", "no answer 3 among 2 answers"),
        ("code 3", "no block 3: answer 1 has 2 blocks"),
        ("2 code", "no block of code"),
        ("everything", "does not know 'everything'"),
    ],
)
def test_copy_reports_what_can_be_copied_instead(argument: str, complaint: str) -> None:
    with pytest.raises(CannotCopyError, match=complaint):
        pick(ANSWERS, argument)
    with pytest.raises(CannotCopyError, match="no answer yet"):
        pick([], "")


# On a terminal

MOUSE = {"1000", "1003", "1006"}


def started(tmp_path: Path, **environment: str) -> Terminal:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    quiet = dict.fromkeys(("SSH_TTY", "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY", "TMUX", "STY"), "")
    terminal = Terminal(
        python("-m", "forge_tui.cli", "chat"),
        size=(100, 30),
        folder=tmp_path,
        environment={
            **quiet,
            "HOME": str(home),
            "OPENROUTER_API_KEY": "",
            **environment,
        },
        is_preloaded=True,
    )
    terminal.wait_for(lambda t: t.emulator.modes >= MOUSE and "sandbox: " in t.text)
    return terminal


def answered(terminal: Terminal) -> None:
    terminal.send("hello there\r")
    terminal.wait_for(lambda t: "OPENROUTER_API_KEY=" in t.text and "Enter send" in t.text)  # the end of both
    terminal.wait_until_quiet(0.5)


def copied(terminal: Terminal) -> list[str]:
    found = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", bytes(terminal.output))
    return [base64.b64decode(text).decode() for text in found]


def test_mouse_selections_and_the_copy_command_reach_the_terminal_clipboard(tmp_path: Path) -> None:
    with started(tmp_path, SSH_TTY="/dev/pts/9") as terminal:
        answered(terminal)
        rows = terminal.emulator.lines()
        y = next(y for y, row in enumerate(rows) if "▎ hello there" in row)
        x = rows[y].index("hello")
        before = terminal.emulator.cells()[y]
        terminal.send(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<32;{x + 11};{y + 1}M\x1b[<0;{x + 11};{y + 1}m")

        def highlighted(t: Terminal) -> str:
            cells = zip(t.emulator.cells()[y], before, strict=True)
            return "".join(cell[0] for cell, was in cells if cell != was)

        terminal.wait_for(lambda t: highlighted(t) == "hello there")
        terminal.send("\x03")
        terminal.wait_for("Sent 11 characters to the terminal; paste differs? F9, then the mouse")
        assert copied(terminal) == ["hello there"]
        terminal.send("/copy\r")
        terminal.wait_for(lambda t: len(copied(t)) == 2)
        assert copied(terminal)[1].strip()
        terminal.send("/copy 7\r")
        terminal.wait_for("There is no answer 7")


def test_released_mouse_capture_survives_suspend_and_resize(tmp_path: Path) -> None:
    import signal

    with started(tmp_path) as terminal:
        assert terminal.emulator.modes >= MOUSE
        terminal.send("\x1b[20~")
        terminal.wait_for("mouse released · F9")
        assert not MOUSE & terminal.emulator.modes
        terminal.resize(90, 28)
        terminal.wait_for(lambda t: t.emulator.lines()[24] == f"╭{'─' * 88}╮")
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for(lambda t: "1049" not in t.emulator.modes)
        os.waitpid(terminal.pid, os.WUNTRACED)
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("mouse released · F9")
        terminal.wait_until_quiet(0.4)  # nothing takes it back
        assert not (MOUSE | {"1016"}) & terminal.emulator.modes
        terminal.send("\x1b[20~")
        terminal.wait_for(lambda t: t.emulator.modes >= MOUSE and "mouse released" not in t.text)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_inside_tmux_the_text_reaches_tmux_and_the_terminal_outside(tmp_path: Path) -> None:
    program = (
        "import asyncio, os; from forge_tui.terminal import clipboard as c; r = c.find_route(os.environ);"
        "print(c.copy_note('a text', asyncio.run(c.copy('a text', r, print)))[0], flush=True); input()"
    )
    socket = str(tmp_path / "socket")
    command = ["tmux", "-S", socket, "-f", "/dev/null", "new-session", *python("-c", program)]
    root = Path(__file__).resolve().parents[2]
    with Terminal(
        command, folder=root, environment={"SSH_TTY": "/dev/pts/9", "TMUX": "", "LANG": "C.UTF-8"}
    ) as terminal:
        terminal.wait_for("Copied 6 characters to tmux")
        terminal.wait_for(lambda t: b"\x1b]52;" in t.output)
        found = re.findall(rb"\x1b\]52;[a-z]*;([A-Za-z0-9+/=]*)", bytes(terminal.output))
        assert [base64.b64decode(text) for text in found] == [b"a text"]
        terminal.send("\r")
        terminal.wait_for_exit()
