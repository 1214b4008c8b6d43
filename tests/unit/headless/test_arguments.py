"""The command line: what it accepts, what it refuses, and how it says so."""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path
from typing import cast

import pytest

from forge_core.config.checks import OneOf
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.load import read_project_settings
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.settings import SETTINGS, Setting
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.mcp.server_files import load_servers
from forge_core.runtime import load_session_config
from forge_tui.arguments import config_flags, parse, read_prompt
from forge_tui.cli import _for_this_run, main


def parsed(*arguments: str) -> argparse.Namespace:
    options = parse(arguments)
    assert isinstance(options, argparse.Namespace)
    return options


@pytest.mark.parametrize("command", ["chat", "run"])
def test_a_setting_that_is_on_or_off_is_an_option_without_a_value(command: str) -> None:
    options = parsed(command, "--safe", "fix it")

    assert options.prompt == "fix it"
    assert config_flags(options)["safe"] is True
    assert config_flags(parsed(command, "fix it"))["safe"] is None


def test_chat_is_the_default_command(tmp_path: Path) -> None:
    assert parsed().command == "chat"
    assert parsed("--model", "offline").command == "chat"
    assert parsed(str(tmp_path)).path == str(tmp_path)


def test_a_mistyped_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["chatt"]) == 1
    assert "There is no command or folder 'chatt'. Did you mean `forge chat`?" in capsys.readouterr().err
    assert parse(["fix", "it"]) == 1
    assert 'a message needs quotes, as in: forge "' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "path", "prompt"),
    [
        (("fix the test",), None, "fix the test"),
        (("fix\nit",), None, "fix\nit"),
        (("chat", "fix the test"), None, "fix the test"),
        (("--model", "offline", "fix the test"), None, "fix the test"),
        (("fix the test", "-c"), None, "fix the test"),
        (("- fix the test",), None, "- fix the test"),
        (("/review the test",), None, "/review the test"),
        ((".", "-p", "hello"), ".", "hello"),
        (("-p", "hello"), None, "hello"),
        (("-p", "hello", "fix the test"), "fix the test", "hello"),
        (("my folder",), "my folder", None),
        (("chat", "nowhere"), "nowhere", None),
        (("chat", "/no/such folder"), "/no/such folder", None),
        (("chat", "~/no such folder"), "~/no such folder", None),
    ],
)
def test_text_with_a_blank_that_names_no_folder_is_a_message(
    arguments: tuple[str, ...],
    path: str | None,
    prompt: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "my folder").mkdir()
    monkeypatch.chdir(tmp_path)
    options = parsed(*arguments)
    assert (options.command, options.path, options.prompt) == ("chat", path, prompt)


def test_md_is_short_for_the_format_markdown() -> None:
    assert parsed("sessions", "export", "x", "--format", "md").format == "markdown"
    assert parsed("sessions", "export", "x", "--format", "html").format == "html"
    assert parse(["sessions", "export", "x", "--format", "mdx"]) == 1


def test_usage_errors_exit_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["run", "--output", "xml", "x"]) == 1
    assert parse(["run", "--permission-mode", "all", "x"]) == 1
    assert parse(["chat", "--nope"]) == 1
    assert "forge" in capsys.readouterr().err


def test_a_usage_error_shows_arguments_without_raw_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert parse(["run", "--no\x1b[8mpe\u202e\u200b", "x"]) == 1
    shown = capsys.readouterr().err
    assert "--no" in shown
    assert not {"\x1b", "\u202e", "\u200b"} & set(shown)


@pytest.mark.parametrize(
    ("arguments", "speed", "until"),
    [((), 1.0, None), (("--speed", "8"), 8.0, None), (("--speed", "0"), None, None),
     (("--speed=max", "--until", "3"), None, 3)],
)  # fmt: skip
def test_a_replay_has_a_speed_and_an_end(
    arguments: tuple[str, ...], speed: float | None, until: int | None
) -> None:
    options = parsed("replay", "a title", *arguments)
    assert (options.id, options.speed, options.until) == ("a title", speed, until)


@pytest.mark.parametrize(
    "arguments",
    [("--speed", "fast"), ("--speed=-1",), ("--speed", "nan"), ("--speed", "inf"), ("--until", "0"),
     ("--until", "two"), ("--until=-1",), ("--until", "\u00b2")],
)  # fmt: skip
def test_a_replay_without_a_usable_speed_or_end_is_a_usage_error(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(["replay", "x", *arguments]) == 1
    shown = capsys.readouterr().err
    assert "is neither a number from 0 on nor 'max'" in shown or "is not a whole number from 1 on" in shown


def test_help_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["--help"]) == 0
    assert parse(["run", "--help"]) == 0
    assert "--output" in capsys.readouterr().out


def configured(folder: Path, *arguments: str) -> ForgeConfig:
    """The settings of a session with these arguments, and without a user's own."""
    flags = config_flags(parsed(*arguments))
    return load_session_config(folder, flags=flags, environ={"FORGE_HOME": str(folder / "home")})


def test_flags_become_settings(tmp_path: Path) -> None:
    config = configured(
        tmp_path, "run", "x", "--permission-mode", "yolo", "--allow", "bash(make)", "--allow", "edit(src/*)"
    )
    assert config.permission_mode is PermissionMode.YOLO
    assert config.allow == ("bash(make)", "edit(src/*)")
    assert config.origins.keys() == {"permission_mode", "allow"}


def test_a_bad_url_flag_is_quoted_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ftp://x"):
        configured(tmp_path, "chat", "--base-url", "ftp://x")


def piped(text: str) -> io.TextIOWrapper:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as writer:
        writer.write(text)
    return io.TextIOWrapper(os.fdopen(read_end, "rb"))


def test_the_prompt_is_read_from_argument_file_or_pipe(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("from a file\n")
    with piped("") as empty:
        assert read_prompt(parsed("run", "hello"), empty) == "hello"
    assert read_prompt(parsed("run", "-f", str(file))) == "from a file"
    with piped("from a pipe\n") as stdin:
        assert read_prompt(parsed("run"), stdin) == "from a pipe"
    with piped("data") as stdin:
        assert read_prompt(parsed("run", "explain"), stdin) == "explain\n\ndata"


def test_a_missing_prompt_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with piped("  \n") as stdin, pytest.raises(ConfigError, match="empty"):
        read_prompt(parsed("run", "-"), stdin)
    with pytest.raises(ConfigError, match=r"gone\.txt"):
        read_prompt(parsed("run", "-f", str(tmp_path / "gone.txt")))


def test_a_new_setting_needs_only_its_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    colour = Setting(
        default="red",
        check=OneOf("red", "blue"),
        summary="a throw-away setting",
        variable="FORGE_COLOUR",
        option="--colour",
        project="always",
    )
    monkeypatch.setitem(cast("dict[str, Setting]", SETTINGS), "colour", colour)
    assert parse(["run", "--help"]) == 0
    assert "--colour {red,blue}" in capsys.readouterr().out
    assert config_flags(parsed("run", "x", "--colour", "blue"))["colour"] == "blue"
    assert parse(["run", "x", "--colour", "green"]) == ExitCode.USAGE
    with pytest.raises(ConfigError, match="FORGE_COLOUR: colour is 'green'; it must be one of red, blue"):
        load_session_config(tmp_path, environ={"FORGE_COLOUR": "green"})
    (tmp_path / ".forge").mkdir()
    (tmp_path / ".forge" / "config.toml").write_text('colour = "green"\n')
    assert "colour is 'green'" in read_notices(tmp_path)


def read_notices(folder: Path) -> str:
    notices: list[str] = []
    read_project_settings(folder, notices, is_trusted=False)
    return " ".join(notices)


@pytest.mark.parametrize("flag", ["--allow", "--deny"])
def test_an_invalid_rule_flag_is_an_error_before_startup(flag: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'bash\(\('"):
        configured(tmp_path, "run", "x", flag, "bash(make)", flag, "bash((")


def test_trust_is_a_one_time_flag_and_sandbox_is_a_setting(tmp_path: Path) -> None:
    arguments = ("run", "x", "--trust", "--sandbox", "strict", "--deny", "bash(rm:*)")
    assert parsed(*arguments).trust
    assert "trust" not in config_flags(parsed(*arguments))
    config = configured(tmp_path, *arguments)
    assert (config.sandbox, config.deny) == ("strict", ("bash(rm:*)",))
    assert not parsed("chat").trust
    assert config_flags(parsed("chat"))["sandbox"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("--print", "say hi"),
        ("--print", "-p", "say hi"),
        ("-p", "say hi", "--print"),
        ("run", "-p", "say hi"),
    ],
)
def test_print_answers_without_a_screen(arguments: tuple[str, ...]) -> None:
    options = parsed(*arguments)
    assert (options.command, options.prompt) == ("run", "say hi")


def test_a_prompt_whose_answer_goes_to_no_terminal_is_printed() -> None:
    options = parse(["-p", "say hi", "--output-format", "json"], is_terminal=False)
    assert isinstance(options, argparse.Namespace)
    assert (options.command, options.prompt, options.output) == ("run", "say hi", "json")
    for arguments in (["chat", "-p", "hi"], ["-p", "hi", "--plain"], ["-c"], ["fix the test"]):
        options = parse(arguments, is_terminal=False)
        assert isinstance(options, argparse.Namespace) and options.command == "chat", arguments


def test_two_prompts_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["run", "one", "-p", "two"]) == 1
    assert "two prompts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("resume",), ("chat", "--resume")),
        (("resume", "abc"), ("chat", "--resume", "abc")),
        (("continue",), ("chat", "--continue")),
        (("login",), ("auth", "login")),
        (("logout",), ("auth", "logout")),
    ],
)
def test_words_that_are_options_or_actions_are_understood(
    arguments: tuple[str, ...], command: tuple[str, ...]
) -> None:
    assert vars(parsed(*arguments)) == vars(parsed(*command))


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["help"]) == 0
    assert capsys.readouterr().out.startswith("usage: forge ")
    assert parse(["help", "run"]) == 0
    assert capsys.readouterr().out.startswith("usage: forge run")


def test_a_folder_named_like_such_a_word_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "resume").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parsed("resume").path == "resume"


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (("--permission-mode", "acceptEdits"), "accept-edits"),
        (("--permission-mode", "bypassPermissions"), "yolo"),
        (("--permission-mode", "default"), "ask"),
        (("--permission-mode", "PLAN"), "plan"),
        (("--dangerously-skip-permissions",), "yolo"),
    ],
)
def test_modes_have_other_names(arguments: tuple[str, ...], mode: str) -> None:
    assert parsed(*arguments).permission_mode == mode


def test_an_unknown_mode_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["--permission-mode", "careful"]) == 1
    assert "invalid choice: 'careful' (choose from 'ask', 'accept-edits'," in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--modle", "Did you mean --model?"),
        ("--verbose", "Did you mean --log-level debug?"),
        ("--allowedTools", "Did you mean --allow?"),
        ("--yolo=1", "Did you mean --permission-mode yolo?"),
        ("--zzzz", "`forge chat --help` and `forge run --help` list the options."),
    ],
)
def test_an_unknown_option_names_the_nearest_one(
    option: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse([option, "x"]) == 1
    err = capsys.readouterr().err
    assert f"There is no option {option.split('=')[0]!r}." in err and hint in err


def test_fork_session_and_v_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed("-c", "--fork-session").fork
    assert parse(["-v"]) == 0
    assert capsys.readouterr().out.startswith("forge ")


def test_files_with_servers_are_named_for_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.json").write_text('{"mcpServers": {"one": {"command": "x"}}}')
    (tmp_path / "work").mkdir()
    config = load_session_config("work")

    for command in ("chat", "run"):
        found = _for_this_run(parsed(command, "--mcp-config", "more.json"), config)
        assert [one.name for one in load_servers(found).servers] == ["one"]
        safe = load_session_config("work", flags={"safe": True})
        safe = _for_this_run(parsed(command, "--mcp-config", "more.json"), safe)
        assert load_servers(safe).servers == ()

    assert main(["run", "--model", "offline", "--mcp-config", "gone.json", "hello"]) == ExitCode.USAGE
    assert f"--mcp-config: there is no file '{tmp_path / 'gone.json'}'" in capsys.readouterr().err
