"""`forge chat` as a person meets it: a program on a pty, a provider on loopback, files on disk."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.sse_server import (
    PROCESSING,
    USAGE,
    Gate,
    Pause,
    Reply,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    tool_answer,
)
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.network_server]


FORGE = [sys.executable, "-m", "forge_tui.cli"]
KEY = "sk-or-v1-canary0123456789"
READY = "Ask about this folder"


def chat(folder: Path, *arguments: str, size: tuple[int, int] = (100, 30), **env: str) -> Terminal:
    return Terminal(
        [*FORGE, "chat", *arguments], size=size, folder=folder, environment=env, is_preloaded=True
    )


def connected(folder: Path, server: SseServer, **options: object) -> Terminal:
    flags = ("--base-url", server.base_url, "--model", "test/model")
    return chat(folder, *flags, FORGE_API_KEY=KEY)


def leave(terminal: Terminal) -> None:
    terminal.send("\x04")
    assert terminal.wait_for_exit() == 0


def assert_terminal_given_back(terminal: Terminal) -> None:
    left_on = terminal.emulator.modes - {"7", "25"}
    assert left_on == set(), f"modes left on: {left_on}"
    was_hidden = b"?25l" in terminal.output
    assert not was_hidden or "25" in terminal.emulator.modes, "the cursor stayed hidden"


def started(folder: Path) -> Terminal:
    """The chat, with its imports."""
    return Terminal([*FORGE, "chat"], size=(100, 30), folder=folder)


def test_without_key_and_network_the_chat_uses_the_offline_model(tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_text("def greet(name):\n    return f'hello {name}'\n")
    with started(tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.send("where is the function greet?\r")
        terminal.wait_for("greet.py:1")
        terminal.wait_for("offline model")
        leave(terminal)
        assert_terminal_given_back(terminal)


def test_keys_typed_during_startup_are_kept(tmp_path: Path) -> None:
    with started(tmp_path) as terminal:
        terminal.wait_for(lambda t: "1049" in t.emulator.modes)
        for letter in "abcdefghijklmnopqrstuvwxyz":
            terminal.send(letter)
            time.sleep(0.01)
        terminal.wait_for("abcdefghijklmnopqrstuvwxyz")


def test_an_answer_streams_live_with_provider_tokens_and_cost(tmp_path: Path) -> None:
    gate = Gate()
    usage = {**USAGE, "prompt_tokens": 4321, "completion_tokens": 21, "cost": 0.0421}
    last = {**chunk("", usage=usage), "choices": []}
    steps = [PROCESSING, event(chunk("The first ")), gate, event(chunk("and the **rest**."))]
    steps += [event(chunk("", finish_reason="stop")), event(last), b"data: [DONE]\n\n"]
    with SseServer(Reply(steps)) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("hi\r")
        terminal.wait_for("The first")
        assert "rest" not in terminal.text
        gate.open()
        terminal.wait_for("The first and the rest.")
        terminal.wait_for("$0.04")
        assert "4.3k" in terminal.text
        leave(terminal)


def test_an_edit_is_shown_as_a_diff_approved_and_applied(tmp_path: Path) -> None:
    file = tmp_path / "greet.py"
    file.write_bytes(b"def greet():\r\n    return 'hallo'\r\n")
    edit = {"file_path": "greet.py", "old_string": "'hallo'", "new_string": "'hello'"}
    replies = (tool_answer(("c1", "edit", edit), text="I will mend it."), answer("Mended."))
    with SseServer(*replies) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("mend the greeting\r")
        terminal.wait_for("Forge wants to edit")
        terminal.wait_for("hello")
        assert file.read_bytes() == b"def greet():\r\n    return 'hallo'\r\n"
        time.sleep(1.0)  # the prompt takes no key before that: it may have been meant for the composer
        terminal.send("1")
        terminal.wait_for("Mended.")
        assert file.read_bytes() == b"def greet():\r\n    return 'hello'\r\n"
        assert "+1 −1" in terminal.text
        leave(terminal)


def test_a_denied_command_is_not_run_and_the_model_gets_the_reason(tmp_path: Path) -> None:
    call = tool_answer(("c1", "bash", {"command": "touch made-by-bash", "description": "Make a file"}))
    with SseServer(call, answer("As you wish.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("make a file\r")
        terminal.wait_for("Forge wants to run a command")
        assert "touch made-by-bash" in terminal.text
        time.sleep(1.0)
        terminal.send("5")
        terminal.wait_for("What should it know or do instead?")
        terminal.send("use the write tool\r")
        terminal.wait_for("As you wish.")
        assert "use the write tool" in server.requests[1].json["messages"][-1]["content"]
        assert not (tmp_path / "made-by-bash").exists()
        leave(terminal)


@pytest.mark.parametrize(
    "pieces", [("no, use tox",), ("no, ", "use tox"), ("2 spaces, please",), ("add ", "1")]
)
def test_text_typed_at_a_prompt_is_the_reason_for_a_denial(tmp_path: Path, pieces: tuple[str, ...]) -> None:
    call = tool_answer(("c1", "bash", {"command": "touch made-by-bash"}))
    with SseServer(call, answer("As you wish.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("make a file\r")
        terminal.wait_for("1 once")
        for piece in pieces:
            terminal.wait_until_quiet(0.8, timeout_s=0.9)  # a clock ticks beside it
            terminal.send(piece)
        words = "".join(pieces)
        terminal.wait_for(f"No, because: {words}")
        terminal.wait_until_quiet(0.8, timeout_s=0.9)
        terminal.send("\r")
        terminal.wait_for("As you wish.")
        assert repr(words) in server.requests[1].json["messages"][-1]["content"]
        assert not (tmp_path / "made-by-bash").exists()
        terminal.wait_for(f"│ {words}")
        leave(terminal)


@pytest.mark.parametrize("enter", ["\r", "\x1b[13u", "\x1b[13;1:2u"])
def test_a_message_being_typed_when_a_prompt_opens_approves_nothing(tmp_path: Path, enter: str) -> None:
    gate = Gate()
    call = tool_answer(("c1", "bash", {"command": "touch made-by-bash"}))
    first = Reply([gate, *call.steps])
    with SseServer(first, answer("As you wish.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("make a file\r")
        terminal.wait_for("interrupt")
        terminal.send("and then ")
        terminal.wait_for("and then")
        gate.open()
        terminal.wait_for("1 once")
        terminal.wait_until_quiet(0.8, timeout_s=0.9)
        terminal.send("1")
        terminal.wait_until_quiet(0.8, timeout_s=0.9)
        terminal.wait_for("No, because: and then 1")
        terminal.send("\x1b")
        terminal.wait_until_quiet(0.8, timeout_s=0.9)
        terminal.send(enter)
        terminal.wait_until_quiet(0.8, timeout_s=0.9)
        assert len(server.requests) == 1 and not (tmp_path / "made-by-bash").exists()
        terminal.send("\x1b")
        terminal.wait_until_quiet(0.8, timeout_s=0.9)
        terminal.send("\x1b")
        terminal.wait_for("As you wish.")
        terminal.wait_for("and then 1")
        assert not (tmp_path / "made-by-bash").exists()


def test_escape_keeps_the_partial_answer_and_the_next_message_is_sent(tmp_path: Path) -> None:
    gate = Gate()
    replies = (Reply([event(chunk("Once upon a time")), gate, Stall()]), answer("there was a heron."))
    with SseServer(*replies) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("tell me a story\r")
        terminal.wait_for("Once upon a time")
        terminal.send("\x1b")
        terminal.wait_for("interrupted")
        assert server.requests[0].hung_up.wait(30)
        terminal.send("go on\r")
        terminal.wait_for("there was a heron.")
        texts = [message["content"] for message in server.requests[1].json["messages"][1:]]
        assert texts == ["tell me a story", "Once upon a time", "go on"]
        leave(terminal)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (error_reply(401, "No auth credentials found"), "No auth credentials found"),
        (error_reply(404, "No endpoints found for test/model"), "No endpoints found"),
        (error_reply(402, "Insufficient credits [red]now[/]"), "Insufficient credits [red]now[/]"),
    ],
)
def test_provider_error_messages_are_shown_and_the_session_continues(
    tmp_path: Path, reply: Reply, words: str
) -> None:
    with SseServer(reply, answer("Back again.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("hi\r")
        terminal.wait_for(lambda t: words in t.text and "Enter send" in t.text)
        terminal.send("and now?\r")
        terminal.wait_for("Back again.")
        assert KEY not in terminal.text
        leave(terminal)


def test_an_unknown_command_never_reaches_the_model(tmp_path: Path) -> None:
    with SseServer() as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("/rest \r")
        terminal.wait_for("/reset")
        leave(terminal)
        assert server.requests == []


def test_reset_clears_the_screen_and_the_conversation_memory(tmp_path: Path) -> None:
    with SseServer(answer("A heron."), answer("Fresh.")) as server, connected(tmp_path, server) as terminal:
        terminal.wait_for(READY)
        terminal.send("which bird?\r")
        terminal.wait_for("A heron.")
        terminal.send("/reset\r")
        terminal.wait_for(lambda t: "A heron." not in t.text)
        terminal.send("again\r")
        terminal.wait_for("Fresh.")
        roles = [message["role"] for message in server.requests[1].json["messages"]]
        assert roles == ["system", "user"]
        leave(terminal)


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([signal.SIGTERM], {143}),
        ([signal.SIGHUP], {129}),
        ([signal.SIGHUP, signal.SIGHUP], {129}),  # a closed window, from the kernel and from the shell
        ([signal.SIGTERM, signal.SIGHUP], {143, 129}),  # the end of a login
    ],
)
def test_a_signal_during_an_answer_restores_the_terminal_and_leaves_a_valid_journal(
    tmp_path: Path, numbers: list[signal.Signals], codes: set[int], _own_home: Path
) -> None:
    with (
        SseServer(Reply([event(chunk("Once upon a time")), Stall()])) as server,
        connected(tmp_path, server) as terminal,
    ):
        before = terminal.first_settings
        terminal.wait_for(READY)
        terminal.send("tell me a story\r")
        terminal.wait_for("Once upon a time")
        for number in numbers:
            terminal.signal(number)
        assert terminal.wait_for_exit() in codes
        assert_terminal_given_back(terminal)
        assert terminal.settings == before
    (journal,) = (_own_home / "forge" / "state" / "sessions").glob("*.jsonl")
    kinds = [json.loads(line)["type"] for line in journal.read_text().splitlines()]
    assert kinds.count("llm_start") == kinds.count("llm_end") == 1
    assert kinds.count("agent_end") == 1


def test_keys_work_while_the_terminal_is_blocked_and_the_last_frame_follows(tmp_path: Path) -> None:
    gate = Gate()
    flood = [step for n in range(200) for step in (event(chunk(f"line {n} of many\n\n")), Pause(0.01))]
    with (
        SseServer(Reply([*flood, gate, Stall()])) as server,
        connected(tmp_path, server) as terminal,
    ):
        terminal.wait_for(READY)
        terminal.send("tell me much\r")
        terminal.wait_for("line 1 of many")
        assert gate.reached.wait(60)  # nobody has read for two seconds
        gate.open()
        terminal.send("\x1b")
        assert server.requests[0].hung_up.wait(30)
        terminal.wait_for("line 199 of many")
        terminal.wait_for("interrupted")
        leave(terminal)
        assert_terminal_given_back(terminal)


def test_a_closed_terminal_ends_the_program(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.hang_up()
        assert terminal.wait_for_exit() == 129


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50)])
def test_the_chat_is_usable_at_any_reasonable_size(tmp_path: Path, size: tuple[int, int]) -> None:
    with chat(tmp_path, size=size) as terminal:
        terminal.wait_for(READY[:20])
        terminal.send("hello\r")
        terminal.wait_for(
            lambda t: "OPENROUTER_API_KEY" in t.text and "Enter send" in t.text
        )  # the end of both
        assert max(len(line) for line in terminal.text.splitlines()) <= size[0]
        leave(terminal)


def test_a_path_that_is_not_a_directory_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    for name, words in [("gone", "does not exist"), ("file.txt", "is a file")]:
        with chat(tmp_path, name) as terminal:
            assert terminal.wait_for_exit() == 1
            assert words in terminal.text
            assert_terminal_given_back(terminal)


def test_a_selected_theme_is_saved(tmp_path: Path, _own_home: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.send("/theme forge-light\r")
        terminal.wait_for(lambda t: (_own_home / "forge" / "config" / "config.toml").exists())
        leave(terminal)
    assert 'theme = "forge-light"' in (_own_home / "forge" / "config" / "config.toml").read_text()


def test_the_installed_script_is_the_same_program() -> None:
    script = Path(sys.executable).with_name("forge")
    if not script.exists():
        pytest.skip("the package is not installed beside this Python, so there is no script to run")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("forge ")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_show_the_app_gets_plain_text(tmp_path: Path, term: str) -> None:
    with chat(tmp_path, TERM=term) as terminal:
        terminal.wait_for("You:")
        assert "Forge, plain text." in terminal.text
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
