"""Text piped into the chat: it becomes a chip, and the keys come from the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.pastes.folded_text import with_labels, with_piped
from forge_tui.terminal import piped_text
from forge_tui.terminal.piped_text import PipedTextError
from tests.support.chat_app import make_app, ready, shown, type_text, until
from tests.support.scripted_session import answer
from tests.support.terminal import Terminal

FORGE = f"{sys.executable} -m forge_tui.cli"
CHIP = "[Pasted text #1 +1 line]"


def test_piped_text_stands_below_the_prompt() -> None:
    assert with_labels(with_piped("review this", "a\nb")) == f"review this\n\n{CHIP}"
    assert with_labels(with_piped("", "a\nb")) == f"{CHIP} "
    assert with_piped("hello", "") == "hello"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "it holds null characters"),
        (b"abc\0def", "it holds null characters"),
        (b"caf\xe9", "byte 3 is not UTF-8"),
        (b"x" * (piped_text.MOST_CHARACTERS + 1), "has 999,001 characters"),
    ],
)
def test_what_is_no_text_or_too_long_is_refused_with_what_to_do(data: bytes, words: str) -> None:
    with pytest.raises(PipedTextError, match=words) as caught:
        piped_text._decoded(data)
    assert "@FILE" in str(caught.value)


def test_a_byte_order_mark_is_no_text() -> None:
    assert piped_text._decoded("\ufeffé\n".encode()) == "é\n"


# In the app


async def test_piped_text_waits_for_a_request(config: ForgeConfig) -> None:
    app = make_app(config, [answer("Done.")], first_message=with_piped("", "a\nb"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: f"❯ {CHIP}" in shown(app))
        assert app.scripted.sent == []
        await type_text(pilot, "what is it?")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["a\nb what is it?"])
        assert CHIP in shown(app)


async def test_piped_text_and_a_prompt_are_sent_as_one_message(config: ForgeConfig) -> None:
    app = make_app(config, [answer("Done.")], first_message=with_piped("review this", "!a\n/b"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: app.scripted.sent == ["review this\n\n!a\n/b"])


async def test_piped_text_that_looks_like_a_command_is_a_message(config: ForgeConfig) -> None:
    app = make_app(config, [answer("Done.")], first_message=with_piped("", "!touch made\n"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["!touch made"])


@pytest.mark.parametrize(("prompt", "typed"), [("", "why?"), ("review this", " now")])
async def test_what_was_typed_before_the_app_follows_the_chip(
    config: ForgeConfig, prompt: str, typed: str
) -> None:
    message = with_piped(prompt, "a\nb")
    app = make_app(config, [answer("Done.")], first_message=message)
    app.take_typed_text(with_labels(message) + typed)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.pause()
        assert app.chat.composer.has_chips and app.scripted.sent == []
        await pilot.press("enter")
        await until(pilot, lambda: len(app.scripted.sent) == 1)
        assert app.scripted.sent == [f"{prompt}\n\na\nb{typed}" if prompt else f"a\nb {typed}"]


# In a terminal


def home(folder: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(folder), "FORGE_HOME": str(folder / "forge"), "FORGE_MODEL": "offline", **more}


def journals(folder: Path) -> list[Path]:
    return [path for path in (folder / "forge").rglob("*.jsonl") if path.name != "history.jsonl"]


def wait_for_answer(terminal: Terminal, folder: Path) -> None:
    def is_there(terminal: Terminal) -> bool:
        return any('"agent_end"' in path.read_text() for path in journals(folder))

    terminal.wait_for(is_there)


def sent(folder: Path) -> list[str]:
    """The messages of the session."""
    [journal] = journals(folder)
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    return [record["data"]["text"] for record in records if record["type"] == "user"]


def in_shell(line: str, folder: Path, **more: str) -> Terminal:
    return Terminal(["sh", "-c", line], size=(100, 30), folder=folder, environment=home(folder, **more))


@pytest.mark.pty
def test_keys_come_from_the_terminal_and_the_text_is_a_chip(tmp_path: Path) -> None:
    with in_shell(rf"printf 'one\ntwo\n' | {FORGE}", tmp_path) as terminal:
        terminal.wait_for("❯ [Pasted text #1")
        terminal.wait_for("offline")
        terminal.send("what is this?\r")
        wait_for_answer(terminal, tmp_path)
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
    assert sent(tmp_path) == ["one\ntwo what is this?"]


@pytest.mark.pty
def test_a_prompt_and_the_text_are_sent_at_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    with in_shell(f"{FORGE} 'review this' < notes.txt", tmp_path) as terminal:
        terminal.wait_for("▎ review this")
        wait_for_answer(terminal, tmp_path)
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
    assert sent(tmp_path) == ["review this\n\none\ntwo"]


@pytest.mark.pty
def test_stop_continue_and_the_editor_work_as_with_a_terminal(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ntest -t 0 && echo "from the editor" > "$1"\n')
    editor.chmod(0o755)
    environment = home(tmp_path, EDITOR=str(editor), PS1="$ ")
    with Terminal(
        ["bash", "--norc", "-i"], size=(100, 30), folder=tmp_path, environment=environment
    ) as terminal:
        terminal.wait_for("$")
        terminal.send(f"printf 'one\\ntwo\\n' | {FORGE}\r")
        terminal.wait_for("❯ [Pasted text #1")
        terminal.wait_for("offline")
        before = terminal.settings
        terminal.send("\x1a")
        terminal.wait_for("Stopped")
        terminal.send("fg\r")
        terminal.wait_for("❯ [Pasted text #1")
        assert terminal.settings == before
        terminal.send("\x07")
        terminal.wait_for("❯ from the editor")
        terminal.send("\x03\x03")
        terminal.wait_for(lambda terminal: "1049" not in terminal.emulator.modes)
        terminal.send("exit 7\r")
        assert terminal.wait_for_exit() == 7


@pytest.mark.pty
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"printf 'a' | setsid -w", "Use: forge run"),
        (r"printf 'a\000b' |", "is not text"),
    ],
)
def test_errors_say_what_to_do(tmp_path: Path, line: str, words: str) -> None:
    with in_shell(f"{line} {FORGE}; echo code $?", tmp_path) as terminal:
        terminal.wait_for("code 1")
        terminal.wait_for(words)
        assert "1049" not in terminal.emulator.modes


@pytest.mark.pty
def test_the_plain_chat_sends_the_text_with_the_first_message(tmp_path: Path) -> None:
    with in_shell(rf"printf 'one\ntwo\n' | {FORGE} --plain", tmp_path) as terminal:
        terminal.wait_for(f"{CHIP} from standard input goes with your next message.")
        terminal.wait_for("You:")
        terminal.send("what is this?\r")
        terminal.wait_for("Turn ended")
        terminal.wait_for(lambda terminal: terminal.text.rstrip().endswith("You:"))
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
    assert sent(tmp_path) == ["what is this?\n\none\ntwo"]


@pytest.mark.pty
def test_an_empty_pipe_leaves_the_chat_as_it_is(tmp_path: Path) -> None:
    with in_shell(f": | {FORGE}", tmp_path) as terminal:
        terminal.wait_for("offline")
        terminal.wait_for("❯ Ask")
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0


def test_without_a_terminal_at_the_other_end_nothing_is_read() -> None:
    code = "from forge_tui.terminal.piped_text import is_piped; print(is_piped())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="text",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    assert done.stdout == "False\n"
