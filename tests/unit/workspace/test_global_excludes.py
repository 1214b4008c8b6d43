"""The user's own ignore patterns, compared with what git itself says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forge_core.workspace.ignore import IgnoreRules

NAMES = ("a.own", "b.other", "c.txt", "sub/d.own", "kept.own", "e.local")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def repository(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".git/info/exclude").write_text("*.local\n!kept.own\n")
    for name in NAMES:
        (root / name).write_text("x")
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def ignored(root: Path) -> set[str]:
    """What our rules ignore, which must be what git ignores."""
    rules = IgnoreRules(root)
    found = {name for name in NAMES if rules.is_ignored(name, False)}
    check = subprocess.run(
        ["git", "check-ignore", "--stdin"], cwd=root, input="\n".join(NAMES), capture_output=True, text=True
    )
    assert found == {*check.stdout.splitlines()}
    return found


def test_the_file_in_the_usual_place_counts_after_that_of_the_repository(
    home: Path, repository: Path
) -> None:
    write(home / ".config/git/ignore", "*.own\n!*.local\n")
    assert ignored(repository) == {"a.own", "sub/d.own", "e.local"}
    (repository / ".gitignore").write_text("!a.own\n")
    assert ignored(repository) == {"sub/d.own", "e.local"}


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\n\texcludesFile = ~/mine\n",
        '[Core]\n\tpager = less\n\texcludesfile = "~/mine" ; a comment\n',
        "[core] excludesfile = ~/mine # a comment\n",
        '[core "other"]\nexcludesfile = ~/no\n[core]\nexcludesfile = ~/no\nexcludesFile = ~/mi\\\nne\n',
        "[include]\npath = more\n",
    ],
)
def test_the_file_that_the_settings_name_takes_its_place(home: Path, repository: Path, settings: str) -> None:
    write(home / ".config/git/ignore", "*.own\n")
    write(home / "mine", "*.other\n")
    write(home / "more", "[core]\nexcludesfile = mine\nexcludesfile = ~/mine\n")
    write(home / ".gitconfig", settings)
    assert ignored(repository) == {"b.other", "e.local"}


def test_the_settings_of_the_repository_and_the_variables_of_git_count(
    home: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".gitconfig", "[core]\nexcludesfile = ~/mine\n")
    write(home / "mine", "*.other\n")
    write(tmp_path / "xdg/git/ignore", "*.txt\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert ignored(repository) == {"b.other", "e.local"}
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    assert ignored(repository) == {"c.txt", "e.local"}
    with (repository / ".git/config").open("a") as config:
        config.write("[core]\nexcludesfile =\n")
    assert ignored(repository) == {"e.local"}


def test_files_that_include_each_other_are_read_once(home: Path, repository: Path) -> None:
    loop = "[include]\n" + "path = .gitconfig\npath = other\n" * 1000
    write(home / ".gitconfig", loop + "[core]\nexcludesfile = ~/mine\n")
    write(home / "other", loop)
    write(home / "mine", "*.other\n")
    assert IgnoreRules(repository).is_ignored("b.other", False)


def test_nothing_of_the_user_counts_without_a_repository(home: Path, tmp_path: Path) -> None:
    write(home / ".config/git/ignore", "*.own\n")
    assert not IgnoreRules(tmp_path).is_ignored("a.own", False)
