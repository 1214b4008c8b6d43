"""Pasting into the running program, and replies of a terminal that arrive while the user types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.sse_server import SseServer, answer, tool_answer
from tests.support.terminal import Terminal

pytestmark = pytest.mark.pty


FORGE = [sys.executable, "-m", "forge_tui.cli"]
START, END = "\x1b[200~", "\x1b[201~"
READY = "Ask about this folder"


def connected(folder: Path, server: SseServer) -> Terminal:
    command = [*FORGE, "chat", "--base-url", server.base_url, "--model", "test/model"]
    environment = {"OPENROUTER_API_KEY": "sk-or-v1-canary"}
    return Terminal(command, folder=folder, environment=environment, is_preloaded=True)


def last_message(server: SseServer) -> object:
    return server.requests[-1].json["messages"][-1]["content"]


def test_a_paste_with_escapes_and_newlines_is_text_and_sends_nothing(tmp_path: Path) -> None:
    with SseServer(answer("Read.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send(f"{START}aaa \x1b[31mred\rsecond line\r\nthird\x1b[0m{END} and more")
        terminal.wait_for("and more")
        terminal.wait_until_quiet(0.3)
        assert server.requests == []
        terminal.send("\r")
        terminal.wait_for("Read.")
        assert last_message(server) == "aaa ␛[31mred\nsecond line\nthird␛[0m and more"


def test_a_paste_before_the_first_screen_is_handled_as_a_paste(tmp_path: Path) -> None:
    with SseServer(answer("Read.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(lambda t: "1049" in t.emulator.modes)
        assert "2004" in terminal.emulator.modes
        terminal.send(f"{START}first line\rsecond line{END}")
        terminal.wait_for("second line")
        terminal.wait_until_quiet(0.3)
        assert server.requests == []
        assert "first line" in terminal.text


@pytest.mark.parametrize("pasted", ["\x1b[1mbold text\x1b[0m", "\x1b[31mred\r", "y\r1\r", "\x1b1\x1b\r"])
def test_a_paste_at_a_prompt_does_not_answer(tmp_path: Path, pasted: str) -> None:
    call = ("c1", "bash", {"command": "touch made"})
    with SseServer(tool_answer(call), answer("Done.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("go\r")
        terminal.wait_for("Yes, once")
        terminal.wait_until_quiet(1.0, timeout_s=1.2)  # a clock ticks beside it
        terminal.send(f"{START}{pasted}{END}")
        terminal.wait_until_quiet(1.0, timeout_s=1.2)  # a clock ticks beside it
        assert "Yes, once" in terminal.text
        assert len(server.requests) == 1
        terminal.send("\x1b")  # the pasted text goes to the composer
        terminal.wait_until_quiet(1.0, timeout_s=1.2)
        terminal.send("1")
        terminal.wait_for("Done.")
        assert (tmp_path / "made").exists()


def test_a_paste_without_an_end_is_shown_and_typing_continues(tmp_path: Path) -> None:
    with SseServer(answer("Read.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for("sandbox: ")  # so the terminal's answers to the start are not part of the paste
        terminal.send(f"{START}half\ra paste")
        terminal.wait_for("a paste")
        terminal.send("!")
        terminal.wait_for("a paste!")
        terminal.send("\r")
        terminal.wait_for("Read.")
        assert last_message(server) == "half\na paste!"


def test_terminal_replies_are_not_typed(tmp_path: Path) -> None:
    answers = [
        "\x1b[?62;22c",
        "\x1b]11;rgb:0000/0000/0000\x07",
        "\x1bP1+r524742=38\x1b\\",
        "\x1b[0n",
        "\x1b[?1u",
    ]
    with SseServer(answer("Read.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        for number, sequence in enumerate(answers):
            terminal.send(f"{sequence[:3]}")
            terminal.send(f"{sequence[3:]}<{number}>")
            terminal.wait_for(f"<{number}>")
        terminal.send("\r")
        terminal.wait_for("Read.")
        assert last_message(server) == "<0><1><2><3><4>"
