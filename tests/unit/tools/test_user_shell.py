"""The user's own shell, in every kind of shell that is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.errors import ForgeError
from forge_core.tools.shell import user_shell
from forge_core.tools.shell.user_shell import ShellLineEnd, UserShell

SHELLS = [shell for shell in ("bash", "dash", "zsh") if shutil.which(shell)]


@pytest.fixture(params=SHELLS)
async def shell(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[UserShell]:
    (tmp_path / ".zshrc").touch()
    path = shutil.which(request.param)
    assert path is not None
    made = UserShell(tmp_path, {**os.environ, "SHELL": path, "HOME": str(tmp_path), "MY_TOKEN": "t0ken"})
    yield made
    await made.aclose()


async def run(shell: UserShell, command: str) -> tuple[str, ShellLineEnd]:
    pieces: list[bytes] = []
    end = await asyncio.wait_for(shell.run(command, pieces.append), 30)
    return b"".join(pieces).decode(), end


async def test_folder_variables_and_functions_stay(shell: UserShell, tmp_path: Path) -> None:
    assert (await run(shell, "mkdir sub; cd sub; X=5; f() { echo fun $X; }; false"))[1].exit_code == 1
    output, end = await run(shell, "f; echo $MY_TOKEN; echo err >&2")
    assert output == "fun 5\nt0ken\nerr\n"
    assert end == ShellLineEnd(0, str(tmp_path / "sub")) and shell.folder == end.folder


async def test_a_line_has_no_input_and_keeps_its_quotes(shell: UserShell) -> None:
    output, end = await run(shell, "cat; echo 'it'\"'\"'s !x \\n %d'\necho second # comment")
    assert output.splitlines()[-1] == "second" and output.startswith("it's !x ") and end.exit_code == 0


async def test_a_command_that_a_signal_has_ended_leaves_no_word_about_the_terminal(shell: UserShell) -> None:
    assert (await run(shell, "seq 1 100000 | head -1; echo end"))[0] == "1\nend\n"


async def test_a_syntax_error_ends_the_line_and_not_the_shell(shell: UserShell) -> None:
    await run(shell, "X=1")
    output, end = await run(shell, "echo 'open")
    assert "nmatched" in output or "nterminated" in output or "matching" in output
    assert end.exit_code != 0
    assert (await run(shell, "echo $X"))[0] == "1\n"


@pytest.mark.parametrize("command", ["sleep 60", "while :; do sleep 0.05; done"])
async def test_an_interrupt_ends_the_line_and_keeps_the_state(shell: UserShell, command: str) -> None:
    await run(shell, "X=1")
    asyncio.get_running_loop().call_later(0.2, shell.interrupt)
    assert (await run(shell, command))[1].exit_code == 130
    assert (await run(shell, "echo $X"))[0] == "1\n"


async def test_a_shell_that_has_ended_is_started_again(shell: UserShell, tmp_path: Path) -> None:
    await run(shell, "X=1; cd /")
    _, end = await run(shell, "exit 3")
    assert (end.exit_code, end.has_shell_ended) == (3, True)
    assert await run(shell, "echo [$X-]") != ("", end) and (await run(shell, "pwd"))[0] == "/\n"


async def test_what_ignores_an_interrupt_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_shell, "KILL_AFTER_S", 0.2)
    shell = UserShell(tmp_path, {**os.environ, "SHELL": shutil.which("bash") or "", "HOME": str(tmp_path)})
    asyncio.get_running_loop().call_later(0.2, shell.interrupt)
    _, end = await run(shell, "(trap '' INT; sleep 60)")
    assert end.exit_code == 137 and not end.has_shell_ended
    asyncio.get_running_loop().call_later(0.2, shell.interrupt)
    _, end = await run(shell, "trap '' INT; while :; do :; done")
    assert end.has_shell_ended
    await shell.aclose()


async def test_too_long_a_line_and_a_missing_shell_are_reported(tmp_path: Path) -> None:
    shell = UserShell(tmp_path, {"SHELL": "/bin/sh", "PATH": os.environ["PATH"]})
    with pytest.raises(ForgeError, match="at most"):
        await shell.run("x" * 20_000, lambda data: None)


async def test_start_up_files_are_read_and_print_nothing_into_the_line(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(
        "case $- in *i*) ;; *) return;; esac\necho hello\nPS1='$ '\nalias ll='echo long'\n"
    )
    shell = UserShell(tmp_path, {**os.environ, "SHELL": shutil.which("bash") or "", "HOME": str(tmp_path)})
    assert (await run(shell, "ll"))[0] == "long\n"
    await shell.aclose()
