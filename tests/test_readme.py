"""The README tells the truth: keys, commands and the two command lines are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from forge_core.commands.specs import SPECS
from forge_core.config.settings import SETTINGS
from forge_core.exit_codes import ExitCode
from forge_tui.keymap import Where, help_rows

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("where", list(Where))
def test_every_key_stands_in_it_as_the_key_table_says(where: Where) -> None:
    for key, meaning in help_rows(where):
        assert f"| {key} | {meaning} |" in README.replace("\\\\", "\\")


def test_every_command_and_every_variable_stands_in_it() -> None:
    for spec in SPECS:
        assert f"`/{spec.name}`" in README
    for field in SETTINGS.values():
        assert (
            field.variable is None or f"`{field.variable}`" in README or field.variable == "FORGE_LOG_LEVEL"
        )


def test_every_exit_code_stands_in_it() -> None:
    paragraph = README[README.index("Exit codes") :]
    for code in ExitCode:
        assert re.search(rf"\b{code.value}\b", paragraph)


def test_it_opens_with_two_single_line_commands_that_use_the_pinned_set() -> None:
    run, test = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)[:2]
    assert run.endswith("forge chat")
    assert "'.[dev]'" in test and test.endswith("pytest -n auto")
    assert all(" -q -c constraints.txt" in line for line in (run, test))


def test_its_picture_is_there() -> None:
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file(), path


def test_the_pinned_set_names_every_dependency_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=\[]", line)[0].lower().replace("_", "-") for line in wanted}
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().split()
    }
    assert names <= pinned
    assert all(re.search(r">=|==", line) for line in wanted), "every dependency has a lower bound"


def test_its_rooms_are_those_of_the_code() -> None:
    picture = README.partition("## Architecture in one screen")[2].split("```")[1]
    package = ""
    rooms: dict[str, list[str]] = {}
    for line in picture.splitlines():
        if line.startswith("forge_"):
            package = line.split()[0]
        elif name := re.match(r"   ([a-z]+) ", line):
            rooms.setdefault(package, []).append(name[1])
    assert set(rooms) == {"forge_core", "forge_tui"}
    missing = [
        room for package, names in rooms.items() for room in names if not (ROOT / package / room).is_dir()
    ]
    assert missing == []
