"""A message on the command line: it shows in the composer from the first frame on, and is sent by itself."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.chat.first_message import safe_message
from forge_tui.terminal.first_paint.skeleton import Line, Skeleton
from forge_tui.terminal.first_paint.type_ahead import TypedLine, fits
from tests.support.chat_app import ChatApp, make_app, shown, type_text, until
from tests.support.scripted_session import ScriptedSession, answer
from tests.support.terminal import Terminal, python


class Held:
    """An app whose session is built once `release` is called."""

    def __init__(self, config: ForgeConfig, text: str, **options: Any) -> None:
        self._may_build = threading.Event()
        self.app: ChatApp = make_app(
            config,
            [answer("Done."), answer("Next.")],
            make_session=self._build,
            first_message=text,
            **options,
        )

    def _build(self, responder: object, session: ScriptedSession) -> ScriptedSession:
        assert self._may_build.wait(60)
        return session

    def release(self) -> None:
        self._may_build.set()


async def test_a_first_message_shows_at_once_and_is_sent_when_the_session_is_ready(
    config: ForgeConfig,
) -> None:
    held = Held(config, "fix the failing test in @src")
    async with held.app.run_test(size=(100, 30)) as pilot:
        assert held.app.chat.composer.text == "fix the failing test in @src"
        assert "❯ fix the failing test in @src" in shown(held.app)
        assert not held.app.chat.popup.is_open
        held.release()
        await until(pilot, lambda: "Done." in shown(held.app))
        assert held.app.scripted.sent == ["fix the failing test in @src"]
        assert held.app.chat.composer.is_blank
        await pilot.press("up")
        assert held.app.chat.composer.text == "fix the failing test in @src"


async def test_a_first_message_that_was_changed_waits_for_enter(config: ForgeConfig) -> None:
    held = Held(config, "fix it")
    async with held.app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "!")
        held.release()
        await until(pilot, lambda: held.app.session is not None)
        assert held.app.chat.composer.text == "fix it!"
        assert held.app.scripted.sent == []
        await pilot.press("enter")
        await until(pilot, lambda: held.app.scripted.sent == ["fix it!"])


async def test_enter_before_the_session_is_ready_sends_a_first_message_once(config: ForgeConfig) -> None:
    held = Held(config, "fix it")
    async with held.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("enter")
        assert held.app.chat.composer.is_blank
        held.release()
        await until(pilot, lambda: "Done." in shown(held.app))
        assert held.app.scripted.sent == ["fix it"]


async def test_ctrl_c_takes_a_first_message_back(config: ForgeConfig) -> None:
    held = Held(config, "fix it")
    async with held.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+c")
        held.release()
        await until(pilot, lambda: held.app.session is not None)
        await pilot.pause()
        assert held.app.scripted.sent == []
        assert held.app.chat.composer.is_blank


async def test_a_first_message_for_the_user_s_shell_waits_for_enter(config: ForgeConfig) -> None:
    held = Held(config, "!touch made")
    async with held.app.run_test(size=(100, 30)) as pilot:
        held.release()
        await until(pilot, lambda: "Pasted: Enter again" in shown(held.app))
        assert held.app.chat.composer.text == "!touch made"
        assert held.app.scripted.sent == []


async def test_a_first_message_may_be_a_command(config: ForgeConfig) -> None:
    held = Held(config, "/mode plan")
    async with held.app.run_test(size=(100, 30)) as pilot:
        held.release()
        await until(pilot, lambda: held.app.chat.composer.is_blank)
        assert held.app.scripted.sent == []


async def test_a_first_message_waits_for_the_session_that_is_chosen(config: ForgeConfig) -> None:
    held = Held(config, "and that?", picks_session=True)
    async with held.app.run_test(size=(100, 30)) as pilot:
        held.release()
        await until(pilot, lambda: held.app.session is not None)
        await pilot.pause()
        assert (held.app.chat.composer.text, held.app.scripted.sent) == ("and that?", [])
        held.app.chat.session_ready(held.app.scripted)  # type: ignore[arg-type]
        await until(pilot, lambda: held.app.scripted.sent == ["and that?"])


async def test_a_long_first_message_is_folded_and_sent_in_full(config: ForgeConfig) -> None:
    text = "\n".join(f"line {number}" for number in range(40))
    held = Held(config, text)
    async with held.app.run_test(size=(100, 30)) as pilot:
        assert "Pasted text #1 +39 lines" in shown(held.app)
        held.app.take_typed_text(text)  # what the launcher gives back
        held.release()
        await until(pilot, lambda: held.app.scripted.sent == [text])


def test_a_message_from_the_command_line_has_no_control_characters_and_no_marks() -> None:
    assert safe_message(" a\x1b[31m\ufdd0b\r\nc ") == "a\u241b[31m\ufffdb\nc"


@pytest.mark.parametrize(
    ("text", "room", "is_shown"),
    [("fix it", 6, True), ("fix it", 5, False), ("漢字", 4, True), ("漢字", 3, False), ("e\u0301te\u0301", 3, True),
     ("a\nb", 80, False), ("a\tb", 80, False), ("👩\u200d🚀", 80, False)],
)  # fmt: skip
def test_the_launcher_shows_text_that_one_row_shows_as_the_app_does(
    text: str, room: int, is_shown: bool
) -> None:
    assert fits(text, room) is is_shown
    line = TypedLine(room, text)
    line.feed(b"\x7f")
    assert (line.text != text, line.rest) == ((True, b"") if is_shown else (False, b"\x7f"))


def test_the_input_line_begins_with_the_message() -> None:
    row = Line(0, 0, 20, "Ask", "", "", "")
    assert "fix it" in Skeleton((" " * 20,), row).painted("fix it")


@pytest.mark.pty
def test_the_program_answers_a_message_of_its_command_line(tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_text("def greet(name):\n    return f'hello {name}'\n")
    command = python("-m", "forge_tui.cli", "where is the function greet?", "--model", "offline")
    home = {"HOME": str(tmp_path), "FORGE_HOME": str(tmp_path / "forge")}
    with Terminal(command, size=(100, 30), folder=tmp_path, environment=home, is_preloaded=True) as terminal:
        terminal.wait_for("❯ where is the function greet?")
        terminal.wait_for("greet.py:1")
        terminal.wait_for("offline model")
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
