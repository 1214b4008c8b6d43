"""The tour of the README: with the keyboard only, from nothing to an edit, an undo, another model and theme, a copy."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path

import pytest

from tests.support.sse_server import SseServer, answer, json_reply, tool_answer
from tests.support.terminal import Terminal
from tests.wire.test_chat_program import FORGE, KEY, leave

pytestmark = [pytest.mark.pty, pytest.mark.network_server]

GREETING = 'def greet(name):\n    return f"Hallo, {name}!"\n'
MODELS = {"data": [{"id": "test/model"}, {"id": "other/model"}]}


def test_the_tour_of_the_readme(tmp_path: Path) -> None:
    folder = tmp_path / "greeting"
    folder.mkdir()
    file = folder / "greeting.py"
    file.write_text(GREETING)
    edit = {"file_path": "greeting.py", "old_string": "Hallo", "new_string": "Hello"}
    replies = (
        tool_answer(("c1", "edit", edit)),
        answer("Done. Try it:\n\n```python\nprint(greet('Ada'))\n```\n"),
        answer("I am another model."),
    )
    with SseServer(*replies, routes={"GET /models": json_reply(MODELS)}) as server:
        command = [*FORGE, "chat", "--base-url", server.base_url, "--model", "test/model"]
        # Over SSH the copy goes through the terminal, where it can be seen.
        environment = {"FORGE_API_KEY": KEY, "SSH_TTY": "/dev/pts/0", "TMUX": "", "STY": ""}
        with Terminal(command, size=(100, 30), folder=folder, environment=environment) as terminal:
            terminal.wait_for("Sandbox")
            terminal.send("replace Hallo by Hello in @greet")
            terminal.wait_for("greeting.py")
            terminal.send("\t\r")
            terminal.wait_for("Forge wants to edit")
            time.sleep(0.6)  # the prompt takes no key before that
            terminal.send("1")
            terminal.wait_for("print(greet('Ada'))")
            assert "Hello" in file.read_text()

            terminal.send("/undo\r")
            terminal.wait_for(lambda _: file.read_text() == GREETING)

            terminal.send("/copy code\r")
            terminal.wait_for(lambda terminal: b"\x1b]52;c;" in terminal.output)
            copied = re.findall(rb"\x1b\]52;c;([^\x07\x1b]*)", bytes(terminal.output))
            assert base64.b64decode(copied[-1]).decode().strip() == "print(greet('Ada'))"

            terminal.send("\x1bp")  # Alt+P
            terminal.wait_for("other/model")
            terminal.send("other\r")
            terminal.wait_for("Model: other/model")
            terminal.send("who are you?\r")
            terminal.wait_for("I am another model.")
            assert [one.json["model"] for one in server.requests if one.body][-1] == "other/model"

            terminal.send("/theme forge-light\r")
            terminal.wait_for(lambda terminal: is_light(terminal))
            leave(terminal)


def is_light(terminal: Terminal) -> bool:
    """Return whether the background of the conversation is bright."""
    background = str(terminal.emulator.screen.buffer[5][50].bg)
    return re.fullmatch(r"[0-9a-f]{6}", background) is not None and int(background[:2], 16) > 200
