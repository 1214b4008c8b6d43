"""Guards of the guard that other guards or neighbouring cases would hide."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.permissions.guard.catastrophe import catastrophic_reason, required_confirmation
from forge_core.permissions.guard.valuable_paths import kept_at, valuable_at

ROOT, HOME = "/work/proj", "/home/me"


@pytest.mark.parametrize(
    ("target", "is_kept"), [("~/.pg*", True), ("~/.??pass", True), ("~/*pass", False), ("~/?pgpass", False)]
)
def test_a_glob_without_a_dot_meets_no_hidden_name(target: str, is_kept: bool) -> None:
    assert (kept_at(target, ROOT, HOME, is_recursive=False) is not None) == is_kept


@pytest.mark.parametrize("target", ["/u*", "/?sr", "/[eu]*", "/{usr,etc}"])
def test_a_glob_of_the_top_folder_is_the_system(target: str) -> None:
    assert valuable_at(target, ROOT, ROOT, HOME) == f"the system ({target})"


@pytest.mark.parametrize("target", ["/work/proj/u*", "u*", "/srv/data/u*"])
def test_a_glob_below_the_top_folder_is_not_the_system(target: str) -> None:
    assert valuable_at(target, ROOT, ROOT, HOME) is None


def test_a_folder_that_cd_reads_from_its_input_is_unknown() -> None:
    line = "xargs cd < names; rm -rf build"
    confirmation = required_confirmation(line, Path(ROOT), Path(HOME))
    assert confirmation is not None and confirmation.is_grave


def test_braces_that_a_program_expands_itself_are_followed() -> None:
    assert catastrophic_reason("rm -rf '{build,/usr}'", Path(ROOT), Path(HOME)) is not None


@pytest.mark.parametrize(
    "line",
    [
        "python3 <<< \"import shutil; shutil.rmtree('/usr')\"",
        "node <<< \"fs.rmSync('/etc', {recursive: true})\"",
    ],
)
def test_a_deletion_in_text_that_an_interpreter_is_fed_is_found(line: str) -> None:
    assert catastrophic_reason(line, Path(ROOT), Path(HOME)) is not None
