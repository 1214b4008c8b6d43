"""`forge config` by its console script: values, origins, and changes that keep the user's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge_tui.cli import main


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "home" / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_a_value_is_set_with_its_type_and_the_rest_of_the_file_stays(
    user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text('# my theme\ntheme = "forge-dark"  # dark\n\n# rules\nallow = ["read(a)"]\n')
    assert main(["config", "set", "theme", "forge-light"]) == 0
    assert main(["config", "set", "command-processes", "300"]) == 0
    assert main(["config", "set", "allow", "bash(ls:*)", "read(x)"]) == 0
    assert user_file.read_text() == (
        '# my theme\ntheme = "forge-light"  # dark\n\n# rules\nallow = ["bash(ls:*)", "read(x)"]\n'
        "command_processes = 300\n"
    )
    capsys.readouterr()
    assert main(["config", "get", "command_processes"]) == 0
    assert main(["config", "get", "allow"]) == 0
    assert capsys.readouterr().out == "300\nbash(ls:*)\nread(x)\n"


def test_a_setting_is_removed(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user_file.write_text('theme = "forge-light"\nsandbox = "off"\n')
    assert main(["config", "unset", "theme"]) == 0
    assert main(["config", "unset", "theme"]) == 0
    assert user_file.read_text() == 'sandbox = "off"\n'
    assert "does not set theme" in capsys.readouterr().out


def test_the_list_names_the_source_of_each_value(
    user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text('theme = "forge-light"\n')
    monkeypatch.setenv("FORGE_SANDBOX", "off")
    assert main(["config", "list", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["theme"] == {"value": "forge-light", "from": "user config"}
    assert whole["sandbox"] == {"value": "off", "from": "environment"}
    assert whole["allow"] == {"value": [], "from": "default"}
    assert main(["config"]) == 0
    printed = capsys.readouterr().out
    assert "forge-light  (user config)" in printed


def test_the_password_in_a_url_is_never_printed(
    user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text('base_url = "https://ada:pass1234@models.example/v1?key=abcd1234"\n')
    assert main(["config"]) != 0
    assert "pass1234" not in capsys.readouterr().err
    monkeypatch.setenv("FORGE_MODEL", "m")
    for options in ([], ["--json"]):
        assert main(["config", "list", *options]) == 0
        printed = capsys.readouterr().out
        assert "https://models.example/v1" in printed
        assert "pass1234" not in printed
        assert "abcd1234" not in printed


def test_a_value_that_something_stronger_overrides_is_reported(
    user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORGE_SANDBOX", "off")
    assert main(["config", "set", "sandbox", "strict"]) == 0
    assert "has no effect here: the environment sets sandbox" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["get", "theem"], "Did you mean theme?"),
        (["get", "zzz"], "forge config list shows all settings"),
        (["set", "sandbox", "x"], "auto, strict, off"),
        (["set", "theme", "a", "b"], "takes one value"),
        (["set", "theme", "forge-lihgt"], "Did you mean 'forge-light'?"),
        (["set", "theme", "nope"], "The themes are: auto, forge-dark"),
        (["set", "theme_dark", "auto"], "The themes are: forge-dark"),
        (["set", "theme_light", "forge-lihgt"], "Did you mean 'forge-light'?"),
        (["set", "permission_mode", "yolo"], "--permission-mode yolo"),
        (["set", "command_processes", "many"], "command_processes"),
    ],
)
def test_a_wrong_name_or_value_is_refused_and_the_file_stays(
    user_file: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text('theme = "forge-dark"\n')
    assert main(["config", *arguments]) == 1
    assert words in capsys.readouterr().err
    assert user_file.read_text() == 'theme = "forge-dark"\n'


def test_a_theme_of_the_users_own_can_be_set(user_file: Path) -> None:
    (user_file.parent / "themes").mkdir()
    (user_file.parent / "themes" / "x.toml").write_text('name = "mine"\n')
    assert main(["config", "set", "theme", "mine"]) == 0
    assert user_file.read_text() == 'theme = "mine"\n'


def test_auto_and_its_pair_can_be_set(user_file: Path) -> None:
    assert main(["config", "set", "theme", "auto"]) == 0
    assert main(["config", "set", "theme_light", "catppuccin-latte"]) == 0
    assert user_file.read_text() == 'theme = "auto"\ntheme_light = "catppuccin-latte"\n'


def test_a_broken_file_is_not_replaced(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user_file.write_text("theme = \n")
    assert main(["config", "set", "theme", "forge-light"]) == 1
    assert "is not valid TOML" in capsys.readouterr().err
    assert user_file.read_text() == "theme = \n"


def test_the_path_of_the_file_is_printed(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{user_file}\n"
