"""What the list of a home folder shows and hides, without a sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.hidden import home_folders
from forge_core.permissions.sandbox.home_view import HomeView, HomeViewer, is_in

LOGINS = """
.cargo/credentials.toml .m2/settings-security.xml .composer/auth.json .config/composer/auth.json
.nuget/NuGet/NuGet.Config .hex/hex.config .ivy2/.credentials .sbt/.credentials .sbt/1.0/credentials.sbt
.local/share/uv/credentials/a .cache/huggingface/token .pub-cache/credentials.json .gem/credentials
.julia/servers/example.org/auth.toml .stack/config.yaml .cabal/config .conda/tokens miniconda3/token
.volta/hooks.json .bun/auth .deno/auth .sdkman/etc/config .dotnet/corefx/cryptography/x509stores/my/a
.platformio/homestate.json .npm-global/.npmrc .yarn/auth .swiftly/config .proto/auth .bashrc .zshrc .netrc
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "work").mkdir(parents=True)
    return home


def view(home: Path, variables: Mapping[str, str] | None = None) -> HomeView:
    return HomeViewer(home / "work").view(
        (home,), {"HOME": str(home), "PATH": "/usr/bin", **(variables or {})}
    )


def create(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n")
    return path


@pytest.mark.parametrize("name", LOGINS.split())
def test_a_login_beside_programs_is_not_shown(home: Path, name: str) -> None:
    found = view(home) if create(home / name) else HomeView()
    assert home in found.covered
    assert not is_in(home / name, found.shown)
    assert home / name not in found.copies


@pytest.mark.parametrize(
    "name", [".cargo/bin/cargo", ".m2/repository/a.jar", "go/pkg/a", ".nvm/nvm.sh", ".inputrc"]
)
def test_programs_and_harmless_configuration_are_shown(home: Path, name: str) -> None:
    create(home / name)
    assert is_in(home / name, view(home).shown)


def test_a_variable_shows_only_a_folder_that_looks_like_the_toolchain(home: Path) -> None:
    create(home / "tools/go/src/a")
    variables = {"GOROOT": str(home / "tools/go")}
    assert not is_in(home / "tools/go", view(home, variables).shown)
    create(home / "tools/go/bin/go")
    assert is_in(home / "tools/go", view(home, variables).shown)


@pytest.mark.parametrize("name", ["", ".config", ".local/share", ".cache"])
def test_a_variable_does_not_show_a_folder_that_many_programs_share(home: Path, name: str) -> None:
    create(home / name / "versions/3.12/bin/python")
    create(home / name / "other/login")
    found = view(home, {"PYENV_ROOT": str(home / name)})
    assert not is_in(home / name / "other/login", found.shown)


def test_a_folder_that_a_variable_moves_out_of_the_home_is_hidden(home: Path) -> None:
    moved = create(home.parent / "settings/gh/hosts.yml").parent.parent
    assert moved not in view(home).covered
    assert moved in view(home, {"XDG_CONFIG_HOME": str(moved)}).covered


def test_the_view_follows_the_variables(home: Path) -> None:
    create(home / "tools/go/bin/go")
    viewer = HomeViewer(home / "work")
    environment = {"HOME": str(home), "PATH": "/usr/bin"}
    assert not is_in(home / "tools/go", viewer.view((home,), environment).shown)
    environment["GOROOT"] = str(home / "tools/go")
    assert is_in(home / "tools/go", viewer.view((home,), environment).shown)


def test_a_link_is_no_cache_that_commands_may_write_to(home: Path) -> None:
    (home / "documents").mkdir()
    (home / ".npm").symlink_to("documents")
    (home / ".cache").mkdir()
    assert view(home).caches == [home / ".cache"]


def test_a_variable_does_not_show_what_a_link_in_the_workspace_leads_to(home: Path) -> None:
    create(home / "private/versions/3.12/bin/python")
    (home / "work/pyenv").symlink_to(home / "private")
    found = view(home, {"PYENV_ROOT": str(home / "work/pyenv")})
    assert not is_in(home / "private/versions/3.12/bin/python", found.shown)


def test_the_usual_folders_of_homes_are_hidden_wherever_the_own_home_is(home: Path) -> None:
    usual = [Path(one) for one in ("/home", "/root")]
    there = [one for one in usual if one.is_dir() and os.access(one, os.R_OK | os.X_OK)]
    assert there and set(there) <= set(view(home).covered)


@pytest.mark.parametrize(("link", "target"), [(".netrc", "logins.txt"), (".other", ".env")])
def test_a_login_that_a_link_keeps_in_the_workspace_is_hidden(home: Path, link: str, target: str) -> None:
    create(home / "work" / target)
    (home / link).symlink_to(home / "work" / target)
    assert home / "work" / target in view(home).masked


def test_a_configuration_that_a_link_keeps_in_the_workspace_is_worked_on(home: Path) -> None:
    create(home / "work/vimrc")
    (home / ".vimrc").symlink_to(home / "work/vimrc")
    assert home / "work/vimrc" not in view(home).masked


def test_a_home_that_is_a_repository_is_not_shown_as_that_of_the_workspace(home: Path) -> None:
    for name in ("HEAD", "config", "objects/a", "refs/a"):
        create(home / ".git" / name)
    found = view(home)
    assert found.repository is None
    assert not is_in(home / ".git/config", found.shown)


def test_the_homes_of_the_command_and_of_forge_are_both_home_folders(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    monkeypatch.setenv("HOME", str(other))
    assert home_folders({"HOME": str(home)})[:2] == (home, other)
