"""The tour of the README, key by key: an edit, an undo, a copied block of code, another model and another theme."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path

import pytest

from tests.support.sse_server import SseServer, answer, json_reply, tool_answer
from tests.support.terminal import Terminal
from tests.wire.test_chat_program import FORGE, KEY

pytestmark = [pytest.mark.pty, pytest.mark.network_server]

README = Path(__file__).resolve().parents[2] / "README.md"
GREETING = 'def greet(name):\n    return f"Hallo, {name}!"\n'
MODELS = {"data": [{"id": "test/model"}, {"id": "other/model"}]}
KEYS = {"Tab": "\t", "Enter": "\r", "Down": "\x1b[B", "Alt+P": "\x1bp", "Ctrl+D": "\x04"}


def tour() -> list[list[str]]:
    """Return the steps in the README: for each what is pressed, texts and names of keys."""
    _, _, table = README.read_text(encoding="utf-8").partition("| press |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    return [re.findall(r"`([^`]+)`", row.split(" | ")[0]) for row in rows]


def press(terminal: Terminal, step: list[str]) -> None:
    for key in step:
        if key == "Tab":
            terminal.wait_for("greeting.py")  # found while the name is typed
        if key == "Down":
            terminal.wait_for("forge-light")
        if key == "other":
            terminal.wait_for("other/model")
        terminal.send(KEYS.get(key, key))


def test_the_tour_of_the_readme(tmp_path: Path) -> None:
    folder = tmp_path / "greeting"
    folder.mkdir()
    file = folder / "greeting.py"
    file.write_text(GREETING)
    edit = {"file_path": "greeting.py", "old_string": "Hallo", "new_string": "Hello"}
    code = "Done. Try it:\n\n```python\nprint(greet('Ada'))\n```\n"
    ask, approve, undo, copy, model, theme, leave = tour()
    with SseServer(
        tool_answer(("c1", "edit", edit)), answer(code), routes={"GET /models": json_reply(MODELS)}
    ) as server:
        command = [*FORGE, "chat", "--base-url", server.base_url, "--model", "test/model"]
        # Over SSH the copy goes through the terminal, where it can be seen.
        environment = {"FORGE_API_KEY": KEY, "SSH_TTY": "/dev/pts/0", "TMUX": "", "STY": ""}
        with Terminal(
            command, size=(100, 30), folder=folder, environment=environment, is_preloaded=True
        ) as terminal:
            terminal.wait_for("Sandbox")
            press(terminal, ask)
            terminal.wait_for("Forge wants to edit")
            time.sleep(1.0)  # the prompt takes no key before that
            press(terminal, approve)
            terminal.wait_for("print(greet('Ada'))")
            assert "Hello" in file.read_text()
            terminal.wait_for("1 edit in 1 file")  # the turn has ended
            terminal.wait_until_quiet(0.5)

            press(terminal, undo)
            terminal.wait_for(lambda _: file.read_text() == GREETING)

            press(terminal, copy)
            terminal.wait_for(lambda terminal: b"\x1b]52;c;" in terminal.output)
            copied = re.findall(rb"\x1b\]52;c;([^\x07\x1b]*)", bytes(terminal.output))
            assert base64.b64decode(copied[-1]).decode().strip() == "print(greet('Ada'))"

            press(terminal, model)
            terminal.wait_for("Model: other/model")

            press(terminal, theme)
            terminal.wait_for(is_light)

            press(terminal, leave)
            assert terminal.wait_for_exit() == 0


def is_light(terminal: Terminal) -> bool:
    """Return whether the background of the conversation is bright."""
    background = str(terminal.emulator.screen.buffer[5][50].bg)
    return re.fullmatch(r"[0-9a-f]{6}", background) is not None and int(background[:2], 16) > 200
