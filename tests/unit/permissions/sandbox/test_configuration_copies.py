"""Which lines of configuration files are left out of the copies that commands see, without a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.permissions.sandbox.configuration_copies import git_files, without_logins


@pytest.mark.parametrize(
    "line",
    [
        "//registry.example.org/:username=ada",
        "registry=https://ada@example.org/",
        "index-url = https://example.org/a1b2c3d4e5f6a7b8c9d0e1f2/simple",
        "extra=AKIAABCDEFGHIJKLMNOP",
        "my-secret = x",
    ],
)
def test_a_line_that_may_hold_a_login_is_left_out(tmp_path: Path, line: str) -> None:
    config = tmp_path / ".npmrc"
    config.write_text(f"save-exact=true\n{line}\ntimeout = 60\n")
    assert without_logins(config) == b"save-exact=true\ntimeout = 60\n"


def test_servers_and_proxies_of_maven_are_left_out(tmp_path: Path) -> None:
    config = tmp_path / "settings.xml"
    config.write_text(
        "<settings>\n<proxies><proxy><username>ada</username></proxy></proxies>\n"
        "<servers><server><username>eve</username></server></servers>\n<offline>true</offline>\n</settings>"
    )
    assert without_logins(config) == b"<settings>\n\n\n<offline>true</offline>\n</settings>"


def test_a_file_of_maven_with_a_login_elsewhere_is_hidden(tmp_path: Path) -> None:
    config = tmp_path / "settings.xml"
    config.write_text("<settings><properties><upload.token>x</upload.token></properties></settings>")
    assert without_logins(config) is None


def git_copy(home: Path, text: str) -> str:
    (home / ".gitconfig").write_text(text)
    ((_, content),) = git_files(home, home / ".config")
    return content.decode()


@pytest.mark.parametrize(
    "settings",
    [
        "[sendemail]\n\tsmtpUser = ada\n",
        "[imap]\n\tuser = ada\n",
        "[oauth]\n\tclientId = ada\n",
        "[credential]\n\tusername = ada\n",
        "[user]\n\tname = https://ada:x@example.org\n",
        '[url "https://ada@example.org/"]\n\tinsteadOf = x\n',
        "# my token: ada\n",
    ],
)
def test_what_may_hold_a_login_is_left_out_of_gits_configuration(tmp_path: Path, settings: str) -> None:
    copy = git_copy(tmp_path, f"{settings}[core]\n\tpager = cat\n")
    assert "ada" not in copy
    assert "pager = cat" in copy


def test_a_user_is_kept_whatever_the_name(tmp_path: Path) -> None:
    text = "[user]\n\temail = 12345678+ada-lovelace-of-london@users.noreply.example.org\n"
    assert git_copy(tmp_path, text) == text


def test_included_files_outside_of_the_home_are_not_copied(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "other").write_text("[user]\n\tname = other\n")
    (home / "work").write_text("[user]\n\tname = work\n")
    (home / ".gitconfig").write_text(f"[include]\n\tpath = {tmp_path}/other\n[include]\n\tpath = work\n")
    assert [path.name for path, _ in git_files(home, home / ".config")] == [".gitconfig", "work"]
