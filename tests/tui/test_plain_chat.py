"""The plain chat over a pipe and in a terminal."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.session.prompt_history import PromptHistory
from forge_tui.pastes.folded_text import folded
from forge_tui.plain.input_lines import GRACE_S
from tests.support import preloaded
from tests.support.sse_server import Reply, Seen, SseServer, answer, error_reply, json_reply
from tests.support.terminal import Terminal, python

CHAT = python("-m", "forge_tui.cli", "chat", "--model", "offline")
PLAIN = [*CHAT, "--plain"]


def piped(
    lines: str, folder: Path, *arguments: str, command: Sequence[str] = PLAIN
) -> subprocess.CompletedProcess[str]:
    """Runs the chat with its input in a pipe."""
    environment = {**os.environ, "FORGE_HOME": str(folder.parent / "home"), "OPENROUTER_API_KEY": ""}
    return preloaded.run([*command, *arguments, str(folder)], stdin_text=lines, env=environment)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "a.py").write_text('print("hi")\n')
    return made


def test_a_conversation_over_a_pipe(folder: Path) -> None:
    done = piped(
        'read a.py\n/nope\n/show 1\n"""\nhello\nthere"""\n! echo from my shell\n/help\n/theme\n', folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert "\x1b" not in text and "\r" not in text
    assert "You: read a.py\nStatus: forge/offline is working.\nTool read a.py: done, 1 line" in text
    assert "Error: There is no command /nope." in text
    assert "Output: Tool read a.py\n" in text
    assert "from my shell\n" in text
    assert "/rewind " in text
    assert "/theme needs the screen." in text


def test_a_setting_chooses_plain_text_and_spoken_diffs(folder: Path) -> None:
    settings = folder.parent / "home" / "config"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("plain = true\nspoken_diffs = true\n")
    done = piped("replace hi with bye in a.py\n1\n", folder, command=CHAT)
    assert 'Removed line: print("hi")\nAdded line: print("bye")\n' in done.stdout


def test_settings_are_listed_and_changed(folder: Path) -> None:
    file = folder.parent / "home" / "config" / "config.toml"
    lines = [
        "/config",
        "/config thinking full",
        "/config thinking",
        "/config sandbox off",
        "/config theme dark",
        "/config max_cost 2.50",
        "/budget",
        "/config thinking default",
        "/config zzz",
    ]
    done = piped("\n".join(lines), folder)
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert "\nsandbox: auto (default)\n" in text
    assert "\nmodel: forge/offline (flag; --model sets it)\n" in text
    assert "Notice: thinking is now full.\n" in text
    assert "\nthinking: full (user config)\nValues: hidden, folded, full\n" in text
    assert "Notice: sandbox is now off; it takes effect at the next start.\n" in text
    assert "Error: There is no theme 'dark'." in text
    assert "session cost    $0.00  $2.50" in text
    assert "Notice: thinking is folded again, the default.\n" in text
    assert "Error: There is no setting 'zzz'. /config shows all settings.\n" in text
    assert file.read_text() == 'sandbox = "off"\nmax_cost = 2.5\n'


def test_permission_is_asked_and_a_pipe_answers_it(folder: Path) -> None:
    request = "replace hi with bye in a.py\n"
    denied = piped(request, folder)
    assert "Permission: Forge wants to edit a file, +1 −1." in denied.stdout
    assert (folder / "a.py").read_text() == 'print("hi")\n'
    allowed = piped(f"{request}9\n1\n", folder)
    assert "Nothing was decided. Type one of 1," in allowed.stdout
    assert '+print("bye")\n' in allowed.stdout
    assert (folder / "a.py").read_text() == 'print("bye")\n'
    again = piped("/undo\n", folder, "--continue")
    assert "You: replace hi with bye in a.py\n" in again.stdout
    assert (folder / "a.py").read_text() == 'print("hi")\n'


def test_a_message_of_the_command_line_is_sent_first(folder: Path) -> None:
    done = piped("/exit\n", folder, "-p", "read a.py")
    assert "You: read a.py\nStatus: forge/offline is working.\nTool read a.py: done" in done.stdout


def test_a_provider_that_fails_and_one_that_answers(folder: Path) -> None:
    with SseServer(error_reply(401, "No such key"), answer("It ", "works. ", "Yes.")) as server:
        chat = [
            *python("-m", "forge_tui.cli", "chat", "--plain", "--model", "m/m"),
            "--base-url",
            server.base_url,
        ]
        done = piped("hello\nhello again\n", folder, command=chat)
    assert done.returncode == 0
    first, second = done.stdout.split("You: hello again\n")
    assert "You: hello\nStatus: m/m is working.\nError: " in first
    assert "Status: m/m is working.\nForge: It works. Yes.\nStatus: Turn ended, " in second


@pytest.mark.pty
def test_a_conversation_in_a_terminal(folder: Path) -> None:
    environment = {"FORGE_HOME": str(folder.parent / "home"), "OPENROUTER_API_KEY": "", "TERM": "dumb"}
    with Terminal(
        [*PLAIN, str(folder)], environment=environment, folder=folder, is_preloaded=True
    ) as terminal:
        before = terminal.first_settings
        terminal.wait_for("You:")
        terminal.send("read \\\n")
        terminal.wait_for("...")
        terminal.send("a.py\n")
        terminal.wait_for(lambda one: "Turn ended" in one.text and one.text.rstrip().endswith("You:"))
        terminal.send("\x03")
        terminal.wait_for("Ctrl+C again, or Ctrl+D")
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
        assert terminal.settings == before
        assert b"\x1b" not in terminal.output


KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


def with_key(seen: Seen) -> Reply:
    """The models, for whoever has the key."""
    is_known = seen.headers.get("authorization") == f"Bearer {KEY}"
    return json_reply({"data": [{"id": "qwen3:8b"}]}) if is_known else error_reply(401, "no key")


@pytest.mark.pty
def test_connect_asks_for_a_key_that_is_never_shown(folder: Path) -> None:
    environment = {"FORGE_HOME": str(folder.parent / "home"), "OPENROUTER_API_KEY": ""}
    with (
        SseServer(answer("Really me."), routes={"GET /models": with_key}) as server,
        Terminal(
            [*PLAIN, str(folder)], environment=environment, folder=folder, is_preloaded=True, size=(100, 60)
        ) as terminal,
    ):
        before = terminal.first_settings
        terminal.wait_for("You:")
        terminal.send(f"/connect {server.base_url}\n")
        terminal.wait_for("it is not shown")
        terminal.send("wrong-0123456789\n")
        terminal.wait_for("The key was refused, and not saved")
        terminal.wait_for(lambda one: one.text.rstrip().endswith("You:"))
        terminal.send(f"/connect {server.base_url}\n")
        terminal.wait_for(lambda one: one.text.rstrip().endswith("empty: none):"))
        terminal.send(f"{KEY}\n")
        terminal.wait_for("model qwen3:8b")
        terminal.wait_for(lambda one: one.text.rstrip().endswith("You:"))
        terminal.send("hello\n")
        terminal.wait_for("Forge: Really me.")
        terminal.wait_for(lambda one: one.text.rstrip().endswith("You:"))
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
        assert terminal.settings == before
        assert KEY.encode() not in terminal.output
    kept = [file for file in (folder.parent / "home").rglob("*") if file.is_file()]
    assert [file.name for file in kept if KEY in file.read_text(errors="replace")] == ["credentials.json"]


@pytest.mark.pty
def test_lines_typed_during_a_turn_wait_and_answer_nothing(folder: Path) -> None:
    environment = {"FORGE_HOME": str(folder.parent / "home"), "OPENROUTER_API_KEY": ""}
    with Terminal(
        [*PLAIN, str(folder)], environment=environment, folder=folder, is_preloaded=True, size=(100, 60)
    ) as terminal:
        terminal.wait_for("You:")
        terminal.send("run `touch made; sleep 600`\nlist the files\n")
        terminal.wait_for("Queued, 1 waiting.")
        terminal.wait_for("Answer (")
        time.sleep(2 * GRACE_S)
        terminal.send("1\n/todo\n")
        terminal.wait_for("Command: /todo")
        terminal.wait_for("Info: ")  # at once, while the command runs
        terminal.wait_for(lambda _: (folder / "made").exists())
        terminal.send("\x03")
        terminal.wait_for("Turn interrupted")
        terminal.wait_for("You: list the files")
        terminal.wait_for("Turn ended")
        terminal.send("\x03")  # at once: there is no turn to interrupt any more
        terminal.wait_for("Ctrl+C again, or Ctrl+D, ends Forge.")
        terminal.send("\x03")
        assert terminal.wait_for_exit() == 0


@pytest.mark.pty
def test_the_plain_command_of_the_app_continues_its_session(folder: Path) -> None:
    environment = {"FORGE_HOME": str(folder.parent / "home"), "OPENROUTER_API_KEY": ""}
    with Terminal(
        [*CHAT, str(folder)], environment=environment, folder=folder, is_preloaded=True
    ) as terminal:
        before = terminal.first_settings
        terminal.wait_for("Enter send")
        terminal.send("read a.py\r")
        terminal.wait_for("1 line")
        terminal.wait_until_quiet()
        terminal.send("/plain\r")
        terminal.wait_for("This session is continued; it has 1 message.")
        terminal.wait_for(lambda one: one.text.rstrip().endswith("You:"))
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
        assert terminal.settings == before and "1049" not in terminal.emulator.modes


@pytest.mark.pty
def test_what_is_sent_is_kept_with_what_the_app_has_kept(folder: Path) -> None:
    home = folder.parent / "home"
    history = PromptHistory(home / "state", Redactor())
    history.add("read b.py", Path("/elsewhere"))
    history.add(f"read {folded('a.py')}", folder)
    environment = {"FORGE_HOME": str(home), "OPENROUTER_API_KEY": "", "TERM": "dumb"}
    with Terminal(
        [*PLAIN, str(folder)], environment=environment, folder=folder, is_preloaded=True
    ) as terminal:
        terminal.wait_for("You:")
        terminal.send("\x10\n")  # Ctrl+P, as Up
        terminal.wait_for(lambda one: "Turn ended" in one.text and one.text.rstrip().endswith("You:"))
        assert "Tool read a.py" in terminal.text
        terminal.send("my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789AB\n")
        terminal.wait_for(
            lambda one: one.text.count("Turn ended") == 2 and one.text.rstrip().endswith("You:")
        )
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
    assert [(one.text, one.folder) for one in history.read()][2:] == [("read a.py", str(folder))]


def test_lines_of_a_pipe_are_not_kept(folder: Path) -> None:
    state = folder.parent / "home/state"
    piped("read a.py\n", folder)
    assert not (state / "history.jsonl").exists()
